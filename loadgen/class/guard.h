/* Decides by the headers of a request whether the class's page serves it. Pure functions. */
#ifndef LOADGEN_GUARD_H
#define LOADGEN_GUARD_H

#include <stdbool.h>

#define GUARD_TOKEN 33 /* 128 random bits in hexadecimal, and the NUL */

struct guard {
    const char *listen; /* the address of the server */
    char token[GUARD_TOKEN];
};

/* Headers of a request; NULL: missing. */
struct guard_headers {
    const char *host, *origin, *token;
};

struct guard_refusal {
    int status;
    const char *code, *message;
};

/* Makes the token. Returns 0, or -1 if the system gives no random bytes. `listen` must live on. */
__attribute__((warn_unused_result)) int guard_init(struct guard *guard, const char *listen);
/* Returns NULL if the request is allowed: its Host is localhost, a loopback address, or the
 * server's own address, with any port. A request that changes anything also needs that Host as its
 * Origin, and the guard's token. */
const struct guard_refusal *guard_look(const struct guard *guard, const struct guard_headers *asked,
                                       bool is_change);

#endif
