/* Whether the server may drop a lock, or its fencing counter, to make room: said in the log when it
 * may. */
#ifndef LOCKKIT_REDIS_EVICTION_H
#define LOCKKIT_REDIS_EVICTION_H

#include "redis.h"

#include <stdbool.h>

struct redis_eviction {
    struct redis_call call;
    bool is_asked, is_told;
};

/* Ask, and say it unless it was said before. `eviction` must live until `redis` is closed. */
void redis_eviction_check(struct redis_eviction *eviction, struct redis *redis);

#endif
