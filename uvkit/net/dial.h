/* A TCP connection to a host. Looks up its name, and tries its addresses in turn until one answers
 * or the time to connect is over. The caller has the clock. */
#ifndef UVKIT_DIAL_H
#define UVKIT_DIAL_H

#include "addresses.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <uv.h>

#define DIAL_HOST_BYTES 256

/* The part that all dials to one host share. */
struct dial_host {
    char name[DIAL_HOST_BYTES];
    int port;
    struct sockaddr_storage literal; /* ss_family 0: `name` must be looked up */
    bool is_kept; /* `literal` is an address of `name`: if it fails, the name is looked up again */
    struct sockaddr_storage answered; /* the last address of the name that answered: tried first */
    bool has_several;                 /* the name has several addresses */
    char failure[160];                /* why the last dial failed, and at which address */
};

struct dial {
    /* Filled in before dial_start(). */
    uv_loop_t *loop;
    struct dial_host *host;
    int64_t since_ms, timeout_ms;
    /* Tells a new `leave_ms`, for the next of several addresses. */
    void (*on_address)(struct dial *dial);
    /* `why` NULL: it is connected. Else the reason of the failure, which lives as long as the host.
     * Never inside dial_start(). */
    void (*on_over)(struct dial *dial, const char *why);
    /* After dial_close(): libuv no longer uses it. May run inside dial_close(). */
    void (*on_gone)(struct dial *dial);
    void *data; /* the caller's, and that of `tcp` */

    uv_tcp_t tcp;
    uv_connect_t connect;
    uv_getaddrinfo_t resolve;
    struct addresses addresses; /* of the name; none when the name is an address */
    int64_t leave_ms;           /* the caller then calls dial_leave() with UV_ETIMEDOUT */
    bool is_resolving, has_tcp; /* libuv still uses the look-up; the socket */
    bool is_closed;
};

/* Does `name` fit, with only characters of names and addresses? */
bool dial_is_host(const char *name);
/* `name` must be such a host. */
void dial_host_init(struct dial_host *host, const char *name, int port);
/* The address of `host` is one of `name`, such a host too. If it refuses, or is silent for 250 ms,
 * the name is looked up. The address that answers then is kept in its place. */
void dial_host_keep(struct dial_host *host, const char *name);

/* 0; or a libuv code, and nothing is under way. dial_close() must follow in both cases. */
int dial_start(struct dial *dial);
/* The current address has failed with a libuv code: try the next one, or end. */
void dial_leave(struct dial *dial, int code);
/* Call it once. */
void dial_close(struct dial *dial);

#endif
