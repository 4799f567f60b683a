/* The scripts by what they do. */
#include "redis_scripts.h"

extern const struct redis_script redis_acquire, redis_renew, redis_renew_shared, redis_release,
    redis_inspect, redis_break;

const struct redis_script *const redis_scripts[] = {
    [REDIS_ACQUIRE] = &redis_acquire,           [REDIS_RENEW] = &redis_renew,
    [REDIS_RENEW_SHARED] = &redis_renew_shared, [REDIS_RELEASE] = &redis_release,
    [REDIS_INSPECT] = &redis_inspect,           [REDIS_BREAK] = &redis_break,
};
