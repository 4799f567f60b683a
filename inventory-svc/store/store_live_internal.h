/* The parts of the live store, each the operations of one kind, and what they share. */
#ifndef INVENTORY_STORE_LIVE_INTERNAL_H
#define INVENTORY_STORE_LIVE_INTERNAL_H

#include "store_live.h"

#define LAST_LOOK_MS 500 /* at the ledger, beyond a sale's deadline */

static inline struct live_sale *live_of(struct sale *sale) {
    return (struct live_sale *)(void *)sale;
}

static inline int64_t earlier(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* When the next statement of this sale must have ended. */
int64_t live_due_ms(const struct live_sale *live);

/* lock_live.c */
enum outcome live_lock(struct sale *sale, enum lock_kind kind, int shard, struct store_lock **out);
enum outcome live_check_lock(struct sale *sale, const struct store_lock *lock);
void live_unlock(struct sale *sale, struct store_lock *lock, enum outcome outcome);
/* The token that a write under this lock carries, 0 for none. `lock` may be NULL. */
int64_t live_fence(const struct store_lock *lock);

/* table_lock_live.c: poll until it is won, or until the sale's deadline for locks: OK, BUSY,
 * FAILED, and how often; and give it back. */
enum outcome live_table_poll(struct live_sale *live, int shard, unsigned *attempts);
void live_table_give_back(struct live_sale *live);

/* stock_live.c */
enum outcome live_read_stock(struct sale *sale, int shard, struct stock_row *row);
enum outcome live_begin_write(struct sale *sale, enum guard guard, const struct store_lock *under);
enum outcome live_write_stock(struct sale *sale, const struct stock_row *seen, enum guard guard,
                              const struct store_lock *under);
void live_end_write(struct sale *sale);
enum outcome live_take_stock(struct sale *sale, int shard);
enum outcome live_take_returned(struct sale *sale);
enum outcome live_find_sale(struct sale *sale, bool *is_found);
/* What was written is sold: says so of the sale and its cost. SOLD. */
enum outcome live_note_sold(struct live_sale *live);

/* transaction_live.c */
enum outcome live_begin(struct sale *sale, enum isolation isolation);
enum outcome live_read_for_update(struct sale *sale, int shard, enum row_wait wait,
                                  struct stock_row *row);
enum outcome live_commit(struct sale *sale);
void live_rollback(struct sale *sale);

/* kv_live.c */
enum outcome live_kv(struct sale *sale, struct kv_call *call);

#endif
