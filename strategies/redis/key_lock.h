/* A lock that is one key in Redis. All rungs below `redis` use it. */
#ifndef STRATEGIES_KEY_LOCK_H
#define STRATEGIES_KEY_LOCK_H

#include "store.h"

#define KEY_LOCK "lock"

/* Set the key to `owner` for `ttl_ms` (0: for ever) as soon as it is free. OK; BUSY after
 * options->wait_ms, or when Redis failed; FAILED. */
enum outcome key_lock_win(struct sale *sale, const char *owner, int64_t ttl_ms);

#endif
