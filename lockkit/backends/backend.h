/* What a backend must do: answer commands, and say by itself what nobody asked: that a lock may
 * have become free, that a lease is in doubt, that it is lost.
 *
 * Backends see nothing of the core, which waits, holds and calls back. They answer one command at a
 * time, later, on the loop, exactly once, within `reply_ms`. An owner token stands for one
 * acquisition: it waits, holds, is renewed and goes under that token. The core has at most one
 * ACQUIRE or RELEASE of an owner under way, and at most one RENEW beside it. */
#ifndef LOCKKIT_BACKEND_H
#define LOCKKIT_BACKEND_H

#include "lockkit.h"

#include <stdbool.h>
#include <sys/queue.h>

#define OWNER_SIZE      41 /* 40 hex digits */
#define NAME_MAX_BYTES  512
#define LABEL_MAX_BYTES 255

/* What each verb is answered with.
 *
 *   ACQUIRE  OK    `fence` and `granted_ms`; also when `owner` holds it already: then its TTL is
 *                  renewed, and the fence is the same
 *            BUSY  `remaining_ms` and `is_queued`
 *   RENEW    OK    `granted_ms`; it extends, and never creates
 *            LOST  `owner` does not hold it
 *   RELEASE  OK    `owner` held it until now
 *            LOST  it did not. Either way it neither holds nor waits from then on: this also
 *                  withdraws an owner that has stood in line and gives up.
 *   INSPECT  OK    the holders and waiters
 *   BREAK    OK    `owner`, or everyone when that is NULL, held it and does not hold it any more
 *            LOST  none of them held it
 *   all      UNKNOWN      it may have taken effect, or may still
 *            UNAVAILABLE, REFUSED, NOMEM, UNSUPPORTED: it has not, and will not */
enum lk_verb { LK_ACQUIRE, LK_RENEW, LK_RELEASE, LK_INSPECT, LK_BREAK };

/* One command. The caller owns it and its strings until on_answer, and zeroes it first. */
struct lk_command {
    enum lk_verb verb;
    enum lk_mode mode;        /* of ACQUIRE, RENEW and RELEASE, the same for one owner: */
    uint32_t permits, limit;  /*   see struct lk_lock_options; of LK_EXCLUSIVE 1 and 0 */
    const char *name, *owner; /* of INSPECT no owner */
    uint32_t ttl_ms, reply_ms;
    /* Of ACQUIRE. 0: it does not wait. Else it does, and asks again within this time, or else is
     * gone: a backend with a line of waiters keeps it there for that long. */
    uint32_t patience_ms;
    uint64_t fence_above; /* of ACQUIRE: a token has been seen; a new one is to be above it */
    uint32_t handover; /* of ACQUIRE: so many tokens above the new one are reserved for its owner */
    void (*on_answer)(struct lk_command *command);
    void *data;     /* the caller's */
    void *internal; /* ops->command_size bytes, zeroed, aligned for anything, for the backend */

    unsigned round_trips; /* requests sent to a server for it so far */
    enum lk_status status;
    uint64_t fence;
    uint32_t granted_ms;  /* the TTL as granted, from no earlier than the sending; 0: `ttl_ms` */
    int64_t remaining_ms; /* until whoever is in the way ends by itself; -1: not known */
    bool is_queued;       /* it stands in line, and is to be withdrawn when it gives up */
    /* What the server said, when it refused; or NULL. It, and what INSPECT found, live until
     * on_answer returns. */
    const char *why;
    const struct lk_holder *holders, *waiters; /* the waiters in the order of the line */
    size_t holder_count, waiter_count;
    STAILQ_ENTRY(lk_command) later; /* answer.h */
};

/* The first member of each backend, which calloc() has made. */
struct lk_backend {
    const struct lk_backend_ops *ops;
    lk_close_cb on_closed; /* of close(), for backend_end() */
    void *data;
};

/* Nothing of it is left: free it, and call its `on_closed`, unless that is NULL. */
void backend_end(struct lk_backend *backend);

enum lk_push {
    LK_PUSH_FREE,    /* the lock may have become free for `owner`, or for any waiter of ours */
    LK_PUSH_SUSPECT, /* the lease of `owner` is in doubt until its next renewal is confirmed */
    LK_PUSH_LOST,    /* the lease of `owner` has ended: its session did, or somebody broke it */
};

struct lk_backend_config {
    uv_loop_t *loop;
    const char *url;
    const char *label; /* lives as long as the backend */
    /* Tell the core: on the loop, but never inside a call of the backend's. Where `name` or `owner`
     * is NULL it is so for all names and owners; FREE with an owner needs the name. `why` (NULL
     * with FREE) is a static text. */
    void (*push)(void *data, enum lk_push what, const char *name, const char *owner,
                 const char *why);
    void *data;
};

struct lk_backend_ops {
    const char *scheme; /* what its URLs begin with */
    unsigned caps;      /* of every client; what depends on the URL: `caps_of` */
    size_t command_size;
    enum lk_status (*open)(struct lk_backend **backend, const struct lk_backend_config *config);
    /* With no command under way. `cb` runs later, with the backend freed. */
    void (*close)(struct lk_backend *backend, lk_close_cb cb, void *data);
    void (*run)(struct lk_backend *backend, struct lk_command *command);
    unsigned (*caps_of)(const struct lk_backend *backend); /* or NULL: `caps` */
};

/* The backends, each in the room of its name, and in a build that has it. */
extern const struct lk_backend_ops backend_etcd, backend_file, backend_local, backend_postgres,
    backend_redis, backend_redis_cluster, backend_redis_redisson, backend_redis_string,
    backend_redlock, backend_zookeeper;

#endif
