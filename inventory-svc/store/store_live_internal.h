/* Shared by the files of the live store: the operations on locks (lock_live.c), and on stock that
 * Redis sells (loaded_live.c). */
#ifndef INVENTORY_STORE_LIVE_INTERNAL_H
#define INVENTORY_STORE_LIVE_INTERNAL_H

#include "segment_redis.h"
#include "store_live.h"

static inline struct live_sale *live_of(struct sale *sale) {
    return (struct live_sale *)(void *)sale;
}

/* When the next statement of the sale must have ended. */
int64_t live_due_ms(const struct live_sale *live);
/* The ledger row of this sale, without its unit. */
struct reservation *live_begin_sold(struct live_sale *live, int shard);
/* Note how a write ended that lands until `due_ms`, if at all. In a transaction nothing is sold yet.
 */
enum outcome live_end_sold(struct live_sale *live, enum outcome outcome, int64_t due_ms);

/* The keys of a part of a product's stock. `tag` and `why` must live as long. */
struct segment_keys store_live_part(const struct store *store, const struct product *product,
                                    int part, char tag[TAG_BYTES], struct why *why);
enum outcome live_open_data_set(struct sale *sale, struct data_set *set);
enum outcome live_hand_out(struct sale *sale, const struct data_set *set, struct stock_row *row);
enum outcome live_load_row(struct sale *sale, const struct data_set *set,
                           const struct stock_row *row);
enum outcome live_take_loaded(struct sale *sale, struct loaded_unit *taken);
enum outcome live_write_pending(struct sale *sale, const struct stock_row *seen, bool is_awaited);

enum outcome live_lock(struct sale *sale, struct lock_call *call);
void live_unlock(struct sale *sale, struct store_lock *lock, enum outcome outcome);
void live_trace(struct sale *sale, const char *text);

enum outcome live_kv(struct sale *sale, struct kv_call *call);
/* No more attempts at a lock made of a raw key will follow, if there were any. */
void live_give_up(struct live_sale *live);

/* Does nothing without --lab. Tells a failpoint before it acts, because a crash cannot tell
 * afterwards. The failpoint acts even if it could not be told. */
void live_tell_firing(const struct live_sale *live, enum fail_point point, enum fail_action action,
                      int64_t ms);

#endif
