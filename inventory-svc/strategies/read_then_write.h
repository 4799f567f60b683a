/* The critical section that every guarded strategy guards: read the stock, work, write what was
 * read minus one. */
#ifndef STRATEGIES_READ_THEN_WRITE_H
#define STRATEGIES_READ_THEN_WRITE_H

#include "store.h"

/* `under` is the lock that guards it, or NULL. */
enum outcome read_then_write(struct sale *sale, int shard, const struct store_lock *under);

#endif
