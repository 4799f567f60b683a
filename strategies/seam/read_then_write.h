/* Read, work, write: most strategies guard these three steps. */
#ifndef STRATEGIES_READ_THEN_WRITE_H
#define STRATEGIES_READ_THEN_WRITE_H

#include "store.h"

/* Sell from one row if the guard holds, under a lock or NULL: SOLD, SOLD_OUT, or an outcome of
 * store_write_stock(). */
enum outcome read_then_write(struct sale *sale, int shard, enum guard guard,
                             const struct store_lock *under);

/* The same under a lock of this kind, from the read to the write. Also the outcomes of
 * store_lock(). */
enum outcome lock_shard_then_write(struct sale *sale, enum lock_kind kind, int shard,
                                   enum guard guard);

/* The same for the first row. With options->is_fenced the row refuses a token that is not the
 * newest. */
enum outcome lock_then_write(struct sale *sale, enum lock_kind kind);

/* The same, but it first looks for a unit under the shared lock, beside other sales that look.
 * Before the write it gives back its share and reads again: two sales that kept their shares would
 * wait for each other. */
enum outcome look_then_write(struct sale *sale, enum lock_kind kind);

/* The same in a transaction that keeps the row from others, from the read to the commit. Outcomes
 * of store_read_for_update() and store_end(). */
enum outcome lock_row_then_write(struct sale *sale, int shard, enum row_wait wait);

#endif
