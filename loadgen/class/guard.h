/* Who may ask the class's page for what: pure, of the headers of a request. */
#ifndef LOADGEN_GUARD_H
#define LOADGEN_GUARD_H

#include <stdbool.h>

#define GUARD_TOKEN 33 /* 128 random bits in hexadecimal, and the NUL */

struct guard {
    const char *listen; /* the address of the server */
    char token[GUARD_TOKEN];
};

/* Of a request, or NULL. */
struct guard_headers {
    const char *host, *origin, *token;
};

struct guard_refusal {
    int status;
    const char *code, *message;
};

/* Makes the token. 0, or -1 when the system gives no random bytes. */
__attribute__((warn_unused_result)) int guard_init(struct guard *guard, const char *listen);
/* NULL: welcome. The Host is localhost, a loopback address, or the server's own, with any port. A
 * request that changes anything also has that Host as its Origin, and the guard's token. */
const struct guard_refusal *guard_look(const struct guard *guard, const struct guard_headers *asked,
                                       bool is_change);

#endif
