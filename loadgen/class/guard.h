/* Who may ask the class's page for what: pure, of the headers of a request. */
#ifndef LOADGEN_GUARD_H
#define LOADGEN_GUARD_H

#include <stdbool.h>

#define GUARD_TOKEN 33 /* 128 random bits in hexadecimal, and the NUL */

/* Whether the Host of a request (or NULL) is localhost, a loopback address, or the address `listen`
 * itself; with any port. */
bool guard_host(const char *host, const char *listen);
/* Whether the Origin (or NULL) is http:// and that very Host. */
bool guard_origin(const char *origin, const char *host);
/* Whether what was given (or NULL) is the token; takes as long whatever was given. */
bool guard_token(const char *given, const char *token);
/* 0, or -1 when the system gives no random bytes. */
__attribute__((warn_unused_result)) int guard_make_token(char token[GUARD_TOKEN]);

#endif
