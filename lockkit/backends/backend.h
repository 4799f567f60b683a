/* What a backend must do: answer four commands, and tell when a lock may have become free.
 *
 * Backends see nothing of the core, which waits, holds and calls back: they answer one command at a
 * time, later, on the loop, exactly once, within `reply_ms`. Commands of one client take effect in
 * the order they were started, as far as the connection lives. */
#ifndef LOCKKIT_BACKEND_H
#define LOCKKIT_BACKEND_H

#include "lockkit.h"

#include <stdbool.h>

#define OWNER_SIZE      41 /* 40 hex digits */
#define NAME_MAX_BYTES  512
#define LABEL_MAX_BYTES 255

/*            answers
 *   ACQUIRE  OK (fence), also when `owner` holds it already (TTL renewed, same fence);
 *            BUSY (remaining_ms)
 *   RENEW    OK, LOST (not held by `owner`)
 *   RELEASE  OK, LOST (not held by `owner`)
 *   INSPECT  OK (owner NULL when free)
 *   all      UNKNOWN (may have taken effect); UNAVAILABLE, REFUSED, NOMEM (has not) */
enum lk_verb { LK_ACQUIRE, LK_RENEW, LK_RELEASE, LK_INSPECT };

/* One command. The caller owns it and its strings until on_answer, and zeroes it first. */
struct lk_command {
    enum lk_verb verb;
    const char *name, *owner;
    uint32_t ttl_ms, reply_ms;
    uint64_t fence_above; /* of ACQUIRE: a token has been seen; a new one is to be above it */
    void (*on_answer)(struct lk_command *command);
    void *data;     /* the caller's */
    void *internal; /* ops->command_size bytes, aligned for anything, for the backend */

    unsigned round_trips;  /* commands sent to a server for it so far */
    unsigned heard_by;     /* of RELEASE, when OK: the watchers it woke, ours among them */
    uint64_t fence_before; /* of ACQUIRE, when OK: the token of the grant before; 0: not known */
    enum lk_status status;
    struct lk_holder holder; /* see above; its strings live until on_answer returns */
};

struct lk_backend {
    const struct lk_backend_ops *ops;
};

struct lk_backend_config {
    uv_loop_t *loop;
    const char *url;
    const char *label; /* lives as long as the backend */
};

struct lk_watch;
typedef void (*lk_event_cb)(void *data, const char *owner);

struct lk_backend_ops {
    const char *scheme; /* what its URLs begin with */
    unsigned caps;
    size_t command_size;
    enum lk_status (*open)(struct lk_backend **backend, const struct lk_backend_config *config);
    /* With no command under way and no watch left. `cb` runs later, with the backend freed. */
    void (*close)(struct lk_backend *backend, lk_close_cb cb, void *data);
    void (*run)(struct lk_backend *backend, struct lk_command *command);
    /* Call `on_event` whenever `name` may have become free, with the owner that gave it back, or
     * NULL where that is not known. NULL without memory. Both are NULL where only this client can
     * free a lock. */
    struct lk_watch *(*watch)(struct lk_backend *backend, const char *name, lk_event_cb on_event,
                              void *data);
    void (*unwatch)(struct lk_backend *backend, struct lk_watch *watch);
};

/* Each has its row in the table of client.c. */
extern const struct lk_backend_ops backend_local, backend_redis;

#endif
