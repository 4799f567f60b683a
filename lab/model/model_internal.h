/* What the parts of the model share. */
#ifndef LAB_MODEL_INTERNAL_H
#define LAB_MODEL_INTERNAL_H

#include "model.h"

static inline struct model_sale *model_of(struct sale *sale) {
    return (struct model_sale *)(void *)sale;
}

static inline struct model_order *order_of(struct model_sale *sale) {
    return &sale->world->state.orders[sale->index];
}

/* model.c: before an effect. The order waits for `waits` until `due_ms`. */
void model_turn(struct model_sale *sale); /* of a step that looks */
void model_step(struct model_sale *sale, enum order_step step);
void model_wait(struct model_sale *sale, enum order_wait waits, int64_t due_ms);
/* An effect that others can see has happened. */
void model_changed(struct model_world *world);
/* What the operation answers becomes part of the order's past. */
enum outcome model_answer(struct model_sale *sale, enum outcome outcome, const void *more,
                          size_t size);
enum outcome model_answer_row(struct model_sale *sale, const struct stock_row *row); /* OK */
/* Tell a step, if anybody listens. */
__attribute__((format(printf, 2, 3))) void model_say(struct model_sale *sale, const char *format,
                                                     ...);
/* Time passes to then, and what stood idle for too long ends. */
void model_let_pass(struct model_world *world, int64_t now_ms);
/* A moment, to be hashed: worlds that differ in nothing but their clocks go on alike, and what is
 * over is over. `ms` 0 and MODEL_NEVER are none. */
static inline int64_t model_from_now(const struct model_world *world, int64_t ms) {
    const int64_t now_ms = world->state.now_ms;

    return ms == 0 || ms == MODEL_NEVER ? ms : ms <= now_ms ? 1 : ms - now_ms + 1;
}
uint64_t model_mix(uint64_t hash, const void *bytes, size_t size);

/* model_stock.c */
enum outcome model_read_stock(struct sale *sale, int shard, struct stock_row *row);
enum outcome model_write_stock(struct sale *sale, const struct stock_row *seen, enum guard guard,
                               const struct store_lock *under);
enum outcome model_take_stock(struct sale *sale, int shard);
#define SERVER_MS 2000 /* that a statement may wait for a row */
/* What is on its way arrives. */
void model_land_write(struct model_sale *sale, const struct model_flight *flight);
/* The row as it is committed. */
struct stock_row model_row(const struct model_world *world, int shard);
/* Write the ledger, for sure. */
void model_write_ledger(struct model_world *world, int index, int shard,
                        const struct model_txn *written);
/* That, and set the row; and the sale says so. SOLD. */
enum outcome model_sell_unit(struct model_sale *sale, int shard, const struct model_txn *written);
/* There is no such row. */
bool model_has_no_row(struct model_sale *sale, int shard);
enum outcome model_find_sale(struct sale *sale, bool *is_found);
bool model_saw_empty(struct sale *sale, int shard);
enum outcome model_take_in_batch(struct sale *sale, int shard);
/* The order waits for a statement that is not sent yet. */
bool model_is_in_line(const struct model_order *order);
uint64_t model_hash_batches(const struct model_world *world, uint64_t hash);
enum outcome model_take_returned(struct sale *sale);
/* Add it to those for sale again. False: there is no room. */
bool model_put_back(struct model_world *world, struct model_unit unit);
/* The unit that the row sells while it has so many. */
int64_t model_unit_at(const struct model_world *world, int shard, int64_t available);
bool model_may_return(const struct model_world *world, int index);
void model_return(struct model_world *world, int index);
uint64_t model_hash_units(const struct model_world *world, uint64_t hash);

/* model_locks.c */
enum outcome model_lock(struct sale *sale, struct lock_call *call);
enum outcome model_check_write(struct sale *sale, enum guard guard, const struct store_lock *under);
void model_unlock(struct sale *sale, struct store_lock *lock, enum outcome outcome);

/* model_faults.c */
size_t model_add_faults(const struct model_world *world, struct model_move *moves, size_t count,
                        bool have_ended);
void model_make_fault(struct model_world *world, struct model_move move);
/* All that ends by itself has ended. */
void model_end_faults(struct model_world *world);
/* An order was killed and nothing of it is to come. */
void model_bury(struct model_world *world, int index);

/* What was sent and not answered. */
/* It was a write; now it is on its way. UNKNOWN. */
enum outcome model_lose_write(struct model_sale *sale, struct model_flight flight);
/* After model_step(STEP_SELLS): what it asks for never arrives. Then it is UNKNOWN, which is
 * answered here, and has no effect. */
bool model_is_dropped(struct model_sale *sale);
/* Of a step that took effect: UNKNOWN when its reply is lost. */
enum outcome model_may_lose(const struct model_sale *sale, enum outcome outcome);
/* As model_make(). */
bool model_land(struct model_world *world, int index);
/* Those that would be too late. */
void model_end_flights(struct model_world *world);
#define LANDS_MS                                                                                   \
    7000 /* of a statement and its commit, from its sending: as the live store has it */

/* What those who grant locks know. */
enum lock_end {
    ENDS_WITH_PROCESS, /* no TTL; a crash frees it */
    ENDS_WITH_LEASE,   /* renewed as long as its holder runs, and a TTL after that */
    ENDS_AT_TTL,       /* not renewed */
    ENDS_WITH_NOTHING, /* but being given back */
};
enum lock_line {
    LINE_NONE,       /* luck decides */
    LINE_AT_PROCESS, /* who waits at one instance stands in line there */
    LINE_AT_LOCK,    /* one line for all */
};
enum lock_place { PLACE_PROCESS, PLACE_MACHINE, PLACE_SERVER };
struct lock_traits {
    enum lock_place place;
    enum lock_line line;
    enum lock_end end;
    bool has_fence;
    bool is_at_redis;      /* whose replica may be promoted */
    bool is_free_on_crash; /* at once, though it is a lease: its connection ends */
};
extern const struct lock_traits model_locks[];
/* May order `index` have the lock of order->lock now? Where it does not wait yet, it would be at
 * the end of the line. */
bool model_is_open(const struct model_world *world, int index);
/* Who is before it in the line. */
uint8_t model_line_before(const struct model_world *world, int index);
void model_leave_line(struct model_world *world, int index);
/* The order's grant of order->lock; NULL: it is not its own any more. */
struct model_grant *model_find_grant(struct model_world *world, int index);
void model_free_grant(struct model_world *world, struct model_grant *grant);
/* Of the locks and keys that end by themselves, the first; INT64_MAX: none. */
int64_t model_next_expiry_ms(const struct model_world *world);
void model_expire_grants(struct model_world *world);
uint64_t model_hash_locks(const struct model_world *world, uint64_t hash);

/* model_redis.c */
enum outcome model_kv(struct sale *sale, struct kv_call *call);
int64_t model_next_key_ms(const struct model_world *world); /* that expires; INT64_MAX: none */
void model_expire_keys(struct model_world *world);
/* The last `writes` of them are undone. */
void model_lag_keys(struct model_world *world, int writes);
uint64_t model_hash_keys(const struct model_world *world, uint64_t hash);
enum outcome model_open_data_set(struct sale *sale, struct data_set *set);
enum outcome model_hand_out(struct sale *sale, const struct data_set *set, struct stock_row *row);
enum outcome model_load_row(struct sale *sale, const struct data_set *set,
                            const struct stock_row *row);
enum outcome model_take_loaded(struct sale *sale, struct loaded_unit *taken);
enum outcome model_write_pending(struct sale *sale, const struct stock_row *seen, bool is_awaited);
/* There is something that the instance can bring to the ledger; `may_wait`: or later. */
bool model_may_bring(const struct model_world *world, int instance, bool may_wait);
void model_bring(struct model_world *world, int instance);
/* What it had in mind is gone with it. */
void model_drop_queue(struct model_world *world, int instance);

/* model_transaction.c */
static inline struct model_txn *txn_of(struct model_sale *sale) {
    return &sale->world->state.txns[sale->index];
}
static inline bool is_open(const struct model_txn *txn) {
    return txn->state == TXN_READ_COMMITTED || txn->state == TXN_SERIALIZABLE;
}
static inline bool is_serial(const struct model_txn *txn) {
    return txn->state == TXN_SERIALIZABLE && txn->has_snapshot != 0;
}
static inline bool is_in_transaction(struct model_sale *sale) {
    return txn_of(sale)->state != TXN_NONE && txn_of(sale)->state != TXN_COMMITTED;
}
enum outcome model_begin_transaction(struct sale *sale, enum isolation isolation);
enum outcome model_read_for_update(struct sale *sale, int shard, enum row_wait wait,
                                   struct stock_row *row);
enum outcome model_commit(struct sale *sale);
void model_rollback(struct sale *sale);
/* The server ends the order's transaction, if there is one, as when its instance died. */
void model_abort(struct model_world *world, int index);
void model_abort_idle(struct model_world *world);
uint64_t model_hash_transactions(const struct model_world *world, uint64_t hash);

/* A step begins, in a transaction or not: OK; or what it answers. */
enum outcome model_begin_step(struct model_sale *sale);
/* A step ended so that a transaction, if it is in one, can only be ended. Returns `outcome`. */
enum outcome model_fail(struct model_sale *sale, enum outcome outcome);
/* The row as this sale sees it now. */
struct stock_row model_see(struct model_sale *sale, int shard);
bool model_is_held_by_other(const struct model_world *world, int index, int shard);
/* Wait while another's transaction has the row, `most_ms`: OK; BUSY, CONFLICT (a deadlock). */
enum outcome model_wait_for_row(struct model_sale *sale, int shard, int64_t most_ms);
/* The row is written now: who has an older snapshot cannot write it any more. */
void model_note_written(struct model_world *world, int shard);
bool model_is_overtaken(struct model_sale *sale, int shard);

/* This sale has read a row, or will write it now. Is that possible? */
bool model_note_read(struct model_sale *sale, int shard);
bool model_note_write(struct model_sale *sale, int shard);

#endif
