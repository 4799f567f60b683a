/* The connection of a backend to one Redis server.
 *
 * It logs two facts about the server: it refuses a command on a lock, or it may evict a lock or its
 * fencing counter. */
#ifndef LOCKKIT_REDIS_LINK_H
#define LOCKKIT_REDIS_LINK_H

#include "answer.h"
#include "redis.h"

struct redis_link {
    struct redis *redis;
    struct log_limit refusals;
    struct redis_call info;
    bool is_asked;         /* INFO is under way */
    bool is_told;          /* the log says that it may evict */
    void (*on_up)(void *); /* for the backend, or NULL */
    void *data;
};

/* `on_up` may be NULL. It runs on the loop whenever commands can be sent (again). On LK_INVALID,
 * LK_UNSUPPORTED or LK_NOMEM there is nothing to undo. The link must live until link->redis has
 * closed. */
__attribute__((warn_unused_result)) enum lk_status redis_link_open(struct redis_link *link,
                                                                   uv_loop_t *loop, const char *url,
                                                                   void (*on_up)(void *),
                                                                   void *data);

/* The status of a lock command after this call. LK_OK: read its reply. */
enum lk_status redis_link_status(const struct redis_call *call);

/* Log the server's words: it refused a lock command. */
void redis_link_tell_refused(struct redis_link *link, const char *why);

#endif
