/* A backend answers commands. Without being asked, it tells the core that a lock may have become
 * free, that a lease is in doubt, or that a lease is lost.
 *
 * A backend sees nothing of the core. The core waits, holds and calls back. A backend answers each
 * command exactly once, later, on the loop, within `reply_ms`. An owner token stands for one
 * acquisition: the acquisition waits, holds, renews and ends under that token. The core runs at
 * most one ACQUIRE or RELEASE of an owner at a time, and at most one RENEW beside it. */
#ifndef LOCKKIT_BACKEND_H
#define LOCKKIT_BACKEND_H

#include "lockkit.h"

#include <stdbool.h>
#include <sys/queue.h>

#define OWNER_SIZE      41 /* 40 hex digits */
#define NAME_MAX_BYTES  512
#define LABEL_MAX_BYTES 255

/* The contract: each answer that a command may get, and its meaning.
 *
 *   command  status       meaning                                      fields filled in
 *   ACQUIRE  OK           `owner` holds the lock. If it held the lock  fence, granted_ms
 *                         already: its TTL is renewed, and `fence` is
 *                         the same as before
 *            BUSY         others hold it, or stand in line before it   remaining_ms, is_queued
 *   RENEW    OK           the TTL of `owner` is extended; a RENEW      granted_ms
 *                         never creates a lock
 *            LOST         `owner` does not hold it
 *   RELEASE  OK           `owner` held it until now
 *            LOST         `owner` did not hold it. After OK and LOST
 *                         it neither holds nor waits: a RELEASE also
 *                         withdraws a waiter from the line
 *   INSPECT  OK           the answer lists holders and waiters         holders, waiters
 *   BREAK    OK           `owner` (if NULL: somebody) held the lock,
 *                         and holds it no more (if NULL: nobody does)
 *            LOST         `owner` did not hold it (if NULL: nobody did)
 *   each     UNKNOWN      it may have taken effect, or may still
 *            UNAVAILABLE  it has no effect, now or later: no server
 *                         took it
 *            REFUSED      the same: the server refused                 why
 *            NOMEM        the same: out of memory
 *            UNSUPPORTED  the same: this backend cannot do it */
enum lk_verb { LK_ACQUIRE, LK_RENEW, LK_RELEASE, LK_INSPECT, LK_BREAK };

/* One command. The caller owns it and its strings until on_answer. The caller zeroes it first. */
struct lk_command {
    enum lk_verb verb;
    enum lk_mode mode;        /* for ACQUIRE, RENEW and RELEASE, always the same for one owner */
    uint32_t permits, limit;  /* see struct lk_lock_options; for LK_EXCLUSIVE 1 and 0 */
    const char *name, *owner; /* `owner` is NULL for INSPECT */
    uint32_t ttl_ms, reply_ms;
    /* For ACQUIRE. 0: it does not wait. Else it waits, and asks again within this time. A backend
     * with a line of waiters keeps its place for so long, and then drops it. */
    uint32_t patience_ms;
    /* For ACQUIRE. This token is known already, so a new one must be above it. */
    uint64_t fence_above;
    /* for ACQUIRE: the number of tokens above the new one that are reserved for its owner */
    uint32_t handover;
    void (*on_answer)(struct lk_command *command);
    void *data;     /* the caller's */
    void *internal; /* for the backend: ops->command_size bytes, zeroed, aligned for any type */

    unsigned round_trips; /* requests that the backend sent for it so far */
    enum lk_status status;
    uint64_t fence;
    /* the granted TTL, which starts no earlier than the sending; 0: `ttl_ms` */
    uint32_t granted_ms;
    int64_t remaining_ms; /* until the lock in the way ends by itself; -1: not known */
    bool is_queued;       /* it stands in line at the server; RELEASE withdraws it */
    /* The server's words when it refused, or NULL. `why`, `holders` and `waiters` live until
     * on_answer returns. */
    const char *why;
    const struct lk_holder *holders, *waiters; /* waiters in the order of the line */
    size_t holder_count, waiter_count;
    STAILQ_ENTRY(lk_command) later; /* see answer.h */
};

/* The first member of each backend. The backend was allocated with calloc(). */
struct lk_backend {
    const struct lk_backend_ops *ops;
    lk_close_cb on_closed; /* the argument of close(), for backend_end() */
    void *data;
    /* open() may set these. The core has at most `acquires_most` ACQUIREs out at a time, fewer while
     * their answers are slow, but at least `acquires_least`. Others wait in the core, before their
     * reply_ms begins. 0: no bound, and 16 at least. */
    unsigned acquires_most, acquires_least;
    /* open() sets it where tokens are the server's own count, which no `fence_above` can raise. */
    bool has_own_count;
    /* open() sets it where each answer comes in the next turn of the loop. */
    bool is_instant;
};

/* Free the backend, of which nothing is left, and call its `on_closed`, unless that is NULL. */
void backend_end(struct lk_backend *backend);

enum lk_push {
    LK_PUSH_FREE, /* the lock may have become free for `owner`, or for any waiter of this client */
    LK_PUSH_SUSPECT, /* the lease of `owner` is in doubt until its next renewal is confirmed */
    LK_PUSH_LOST,    /* the lease of `owner` has ended: its session ended, or somebody broke it */
};

struct lk_backend_config {
    uv_loop_t *loop;
    const char *url;
    const char *label; /* lives as long as the backend */
    /* Tell the core, on the loop, but never inside a call from the core to the backend. `name`
     * NULL: all names; `owner` NULL: all owners. FREE with an owner needs the name. `why` is a
     * static text, and NULL with FREE. */
    void (*push)(void *data, enum lk_push what, const char *name, const char *owner,
                 const char *why);
    void *data;
};

struct lk_backend_ops {
    const char *scheme; /* the beginning of its URLs */
    unsigned caps;      /* of every client, where `caps_of` is NULL */
    size_t command_size;
    enum lk_status (*open)(struct lk_backend **backend, const struct lk_backend_config *config);
    /* Call it with no command under way. `cb` runs later, after the backend has been freed. */
    void (*close)(struct lk_backend *backend, lk_close_cb cb, void *data);
    void (*run)(struct lk_backend *backend, struct lk_command *command);
    unsigned (*caps_of)(const struct lk_backend *backend); /* for caps that the URL decides */
};

/* The backends, each in the room of its name. A build may lack some. */
extern const struct lk_backend_ops backend_etcd, backend_file, backend_local, backend_postgres,
    backend_redis, backend_redis_cluster, backend_redis_redisson, backend_redis_string,
    backend_redlock, backend_zookeeper;

#endif
