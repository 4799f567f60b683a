/* A lock that is one key in Redis: what the rungs below `redis` have in common. */
#ifndef STRATEGIES_KEY_LOCK_H
#define STRATEGIES_KEY_LOCK_H

#include "store.h"

#define KEY_LOCK "lock"

/* Set the key to `owner`, for `ttl_ms` (0: for ever), as soon as nobody has it: OK; BUSY when that
 * was not within options->wait_ms, or Redis failed; FAILED. */
enum outcome key_lock_win(struct sale *sale, const char *owner, int64_t ttl_ms);

#endif
