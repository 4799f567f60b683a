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

/* stock_live.c */
enum outcome live_read_stock(struct sale *sale, int shard, struct stock_row *row);
enum outcome live_begin_write(struct sale *sale, enum guard guard, const struct store_lock *under);
enum outcome live_write_stock(struct sale *sale, const struct stock_row *seen, enum guard guard,
                              const struct store_lock *under);
void live_end_write(struct sale *sale);
enum outcome live_take_stock(struct sale *sale, int shard);
enum outcome live_take_returned(struct sale *sale);
enum outcome live_find_sale(struct sale *sale, bool *is_found);

/* The start of each way to sell: what will be written; and its end. */
struct reservation *live_begin_sold(struct live_sale *live, int shard);
enum outcome live_end_sold(struct live_sale *live, enum outcome outcome, int64_t due_ms);

/* segment_live.c */
enum outcome live_hand_out(struct sale *sale, const char *data_set, int after,
                           struct stock_row *row);
enum outcome live_write_pending(struct sale *sale, const struct stock_row *seen, bool is_awaited);

/* kv_live.c */
enum outcome live_kv(struct sale *sale, struct kv_call *call);

#endif
