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

/* One kind of lock: what store_lock() and store_unlock() do, in a fiber, with live->lock. */
struct lock_ops {
    /* Win the lock of this row of stock until live->lock_deadline_ms: OK, and live->lock.grant is
     * set; or BUSY or FAILED with a message, or CONFLICT, and it is left as it is. `attempts` are
     * set in all cases, where the kind counts them; they start at 0. */
    enum outcome (*acquire)(struct live_sale *live, int shard, unsigned *attempts);
    /* Is it ours for long enough to write? OK, or BUSY with a message. NULL: as long as we live. */
    enum outcome (*check)(struct live_sale *live);
    void (*release)(struct live_sale *live);
    /* The holder is gone, and its write may still take effect: nobody else gets it for hold_ms, nor
     * before what frees it has done so. */
    void (*abandon)(struct live_sale *live, int64_t hold_ms);
    /* The token that grew with this grant. NULL: there is none. */
    int64_t (*fence)(const struct store_lock *lock);
    /* The row has this token: later grants get higher ones. NULL: they do anyway. */
    void (*saw_fence)(const struct store_lock *lock, int64_t fence);
};
extern const struct lock_ops lease_lock_ops;                 /* lease_lock.c */
extern const struct lock_ops mkdir_lock_ops, flock_lock_ops; /* machine_lock.c */
extern const struct lock_ops raw_advisory_lock_ops;          /* advisory_lock.c */
/* process_kinds.c */
extern const struct lock_ops process_lock_ops, stamped_lock_ops, spin_lock_ops;

/* What tells this moment from any after the product's stamped lock was taken; 0: it is taken. */
uint64_t live_stamp(const struct live_sale *live, int shard);
/* For `abandon` without a server: release(store, grant) in a fiber of its own, in hold_ms. */
void live_hold_on(struct store *store, void *grant, int64_t hold_ms,
                  void (*release)(struct store *store, void *grant));

/* lock_live.c */
enum outcome live_lock(struct sale *sale, struct lock_call *call);
/* Is the lock ours for long enough to write? OK, or BUSY with a message. */
enum outcome live_check_lock(struct live_sale *live);
void live_unlock(struct sale *sale, struct store_lock *lock, enum outcome outcome);
/* The token that a write under this lock carries, 0 for none. `lock` may be NULL. */
int64_t live_fence(const struct store_lock *lock);
/* The row that the lock which is held guards has this token. */
void live_saw_fence(const struct live_sale *live, int64_t fence);
/* For the metrics: how long it was waited for until it was won or given up, and held. */
void live_note_wait(enum lock_kind kind, int64_t wait_ns);
void live_note_hold(enum lock_kind kind, int64_t hold_ns);

/* stock_live.c */
enum outcome live_read_stock(struct sale *sale, int shard, struct stock_row *row);
bool live_saw_empty(struct sale *sale, int shard);
enum outcome live_check_write(struct sale *sale, enum guard guard, const struct store_lock *under);
enum outcome live_write_stock(struct sale *sale, const struct stock_row *seen, enum guard guard,
                              const struct store_lock *under);
/* The connection that it holds for a write; in a transaction it keeps it. */
void live_give_back_conn(struct live_sale *live);
enum outcome live_take_stock(struct sale *sale, int shard);
enum outcome live_take_returned(struct sale *sale);
enum outcome live_find_sale(struct sale *sale, bool *is_found);
enum outcome live_hand_out(struct sale *sale, const char *data_set, int after,
                           struct stock_row *row);
enum outcome live_write_pending(struct sale *sale, const struct stock_row *seen, bool is_awaited);
/* What was written is sold: says so of the sale and its cost. SOLD. */
enum outcome live_note_sold(struct live_sale *live);

/* batch_live.c */
enum outcome live_take_in_batch(struct sale *sale, int shard);

/* transaction_live.c */
enum outcome live_begin(struct sale *sale, enum isolation isolation);
enum outcome live_read_for_update(struct sale *sale, int shard, enum row_wait wait,
                                  struct stock_row *row);
enum outcome live_commit(struct sale *sale);
void live_rollback(struct sale *sale);

/* The start of each way to sell: what will be written; and its end. */
struct reservation *live_begin_sold(struct live_sale *live, int shard);
enum outcome live_end_sold(struct live_sale *live, enum outcome outcome, int64_t due_ms);

/* events_live.c: nothing without --lab. A failpoint is told before it acts, as one that crashes
 * cannot; one that could not be told acts all the same. */
void live_tell_firing(const struct live_sale *live, enum fail_point point, enum fail_action action,
                      int64_t ms);
/* `result` is "yes", "no" or "unknown"; it has just arrived. */
void live_note_command(struct live_sale *live, const struct kv_call *call, const char *key,
                       const char *result, int64_t begun_ns);
/* No more attempts follow. */
void live_note_refusals(struct live_sale *live);

/* kv_live.c */
enum outcome live_kv(struct sale *sale, struct kv_call *call);
/* No more attempts at a lock made of a raw key, if it made any. */
void live_key_given_up(struct live_sale *live);

#endif
