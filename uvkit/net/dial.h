/* A TCP connection to a host: its name is looked up, and its addresses are tried in turn, until one
 * answers or connecting has taken too long. The caller has the clock. */
#ifndef UVKIT_DIAL_H
#define UVKIT_DIAL_H

#include "addresses.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <uv.h>

#define DIAL_HOST_BYTES 256

/* What all dials to one host share. */
struct dial_host {
    char name[DIAL_HOST_BYTES];
    int port;
    struct sockaddr_storage literal;  /* ss_family 0: `name` has to be looked up */
    struct sockaddr_storage answered; /* the last of the name's addresses that did: tried first */
    bool has_several;                 /* the name has several addresses */
    char failure[160];                /* why the last dial failed, and where */
};

struct dial {
    /* Filled in before dial_start(). */
    uv_loop_t *loop;
    struct dial_host *host;
    int64_t since_ms, timeout_ms;
    /* Another `leave_ms`, that of one of several addresses. */
    void (*on_address)(struct dial *dial);
    /* NULL: it is connected. Else it has failed, and why, for as long as the host. Never inside
     * dial_start(). */
    void (*on_over)(struct dial *dial, const char *why);
    /* After dial_close(): libuv has let go of it. May come inside that. */
    void (*on_gone)(struct dial *dial);
    void *data; /* the caller's, and that of `tcp` */

    uv_tcp_t tcp;
    uv_connect_t connect;
    uv_getaddrinfo_t resolve;
    struct addresses addresses; /* of the name; none when it is an address */
    int64_t leave_ms;           /* then comes dial_leave(), with UV_ETIMEDOUT */
    bool is_resolving, has_tcp; /* libuv still knows the one, the other */
    bool is_closed;
};

/* Letters, digits and what else stands in names and addresses; it fits. */
bool dial_is_host(const char *name);
/* `name` is such a host. */
void dial_host_init(struct dial_host *host, const char *name, int port);

/* 0, or a libuv code and nothing is under way; dial_close() is to follow all the same. */
int dial_start(struct dial *dial);
/* The address that is tried has failed, with a libuv code: the next one is tried, or it is over. */
void dial_leave(struct dial *dial, int code);
/* Once. */
void dial_close(struct dial *dial);

#endif
