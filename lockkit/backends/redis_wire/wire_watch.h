/* Which names are waited for: a subscription to the channel of each. */
#ifndef LOCKKIT_WIRE_WATCH_H
#define LOCKKIT_WIRE_WATCH_H

#include "backend.h"
#include "redis.h"

struct wire_watches {
    struct redis *redis;
    const struct lk_backend_config *config; /* is told LK_PUSH_FREE */
    void *by_name;
    TAILQ_HEAD(, wire_watch) by_time; /* the first is forgotten first */
};

void wire_watches_init(struct wire_watches *watches, struct redis *redis,
                       const struct lk_backend_config *config);
/* Before `redis` is closed. */
void wire_watches_close(struct wire_watches *watches);

/* Someone waits for `name` and asks again within `patience_ms`: until then, and a while longer,
 * what comes on `channel` is told. Without memory for it there is only the poll. */
void wire_watch(struct wire_watches *watches, const char *name, const char *channel,
                uint32_t patience_ms);

#endif
