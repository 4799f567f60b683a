/* Read, work, write: what most strategies guard. */
#ifndef STRATEGIES_READ_THEN_WRITE_H
#define STRATEGIES_READ_THEN_WRITE_H

#include "store.h"

/* Sell from one row if the guard holds, under a lock or NULL: SOLD, SOLD_OUT, or as
 * store_write_stock() says. */
enum outcome read_then_write(struct sale *sale, int shard, enum guard guard,
                             const struct store_lock *under);

/* The same under a lock of this kind, from the read to the write. BUSY, too, and what store_lock()
 * says. */
enum outcome lock_shard_then_write(struct sale *sale, enum lock_kind kind, int shard,
                                   enum guard guard);

/* The same of the first row; with options->is_fenced it refuses a token that is not the newest. */
enum outcome lock_then_write(struct sale *sale, enum lock_kind kind);

/* The same, but whether any is left is looked at first, beside others who look. Who shares the lock
 * and wants to write gives back first, and looks again: two that kept what they share would wait
 * for each other. */
enum outcome look_then_write(struct sale *sale, enum lock_kind kind);

/* The same in a transaction that keeps the row from others, from the read to the commit. As
 * store_read_for_update() and store_end() say. */
enum outcome lock_row_then_write(struct sale *sale, int shard, enum row_wait wait);

#endif
