/* The addresses of the host of a connection string, tried in turn until one takes a connection.
 *
 * libpq would look the name up on the loop's thread, and would wait for a silent address until the
 * deadline. So a thread of libuv looks up, and each attempt gives libpq one address (hostaddr)
 * beside the name, which TLS and ~/.pgpass need. Several hosts, a socket's folder, an address and a
 * service are libpq's own work: then there is nothing to look up. */
#ifndef UVKIT_PG_HOST_H
#define UVKIT_PG_HOST_H

#include "addresses.h"

#include <libpq-fe.h>
#include <uv.h>

/* Shared by the connections with one string. */
struct pg_host {
    uv_loop_t *loop;
    char *name;                       /* NULL: libpq's own work */
    struct sockaddr_storage answered; /* the last address that let one in: tried first */
    unsigned lookups;                 /* under way: they must end before this may go */
    void (*on_forgotten)(void *data); /* a lookup has ended that pg_dial_end() had left */
    void *data;
};

/* One connection that is being made. */
struct pg_dial {
    struct pg_host *host;
    struct pg_lookup *lookup; /* NULL when none is under way */
    struct addresses addresses;
    int64_t until_ms;
    bool is_reached; /* an address took the connection: no other one is tried */
    /* Try the current address. Or there is none, and `why` says why. */
    void (*on_found)(struct pg_dial *dial, const char *why);
    void *data;
};

/* `conninfo` is pg_conninfo_make()'s. 0 or UV_ENOMEM. */
__attribute__((warn_unused_result)) int pg_host_init(struct pg_host *host, uv_loop_t *loop,
                                                     const char *conninfo,
                                                     void (*on_forgotten)(void *data), void *data);
void pg_host_free(struct pg_host *host);

/* 0: on_found() follows, later; or `lookup` is NULL, and nothing is to be looked up. Or an error of
 * libuv. */
__attribute__((warn_unused_result)) int pg_dial_begin(struct pg_dial *dial, int64_t now_ms,
                                                      int64_t timeout_ms);
/* For hostaddr: the address to try. "": libpq finds it. */
void pg_dial_address(const struct pg_dial *dial, char text[ADDRESS_TEXT]);
/* The moment to leave the current address. */
int64_t pg_dial_due_ms(const struct pg_dial *dial, int64_t now_ms);
/* `pg` has made a step. True: it has just reached its address, which has all the time now. */
bool pg_dial_reaches(struct pg_dial *dial, const PGconn *pg);
/* The current address has failed, or stayed silent. True: try the next one. */
bool pg_dial_next(struct pg_dial *dial, bool is_silent, int64_t now_ms);
/* The server has let us in. */
void pg_dial_succeed(struct pg_dial *dial);
/* No on_found() follows. Also of one that has ended or never begun. */
void pg_dial_end(struct pg_dial *dial);

#endif
