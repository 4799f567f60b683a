/* The servers of the model, and what an instance keeps: the seam's operations on them (store.h),
 * and what becomes of them beside the sales. */
#ifndef LAB_SERVERS_H
#define LAB_SERVERS_H

#include "world.h"

/* ---- database.c: rows, the ledger, transactions */

enum outcome model_read_stock(struct sale *sale, int shard, struct stock_row *row);
bool model_saw_empty(struct sale *sale, int shard);
enum outcome model_read_for_update(struct sale *sale, int shard, enum row_wait wait,
                                   struct stock_row *row);
enum outcome model_write_stock(struct sale *sale, const struct stock_row *seen, enum guard guard,
                               const struct store_lock *under);
enum outcome model_take_stock(struct sale *sale, int shard);
enum outcome model_find_sale(struct sale *sale, bool *is_found);
enum outcome model_begin_transaction(struct sale *sale, enum isolation isolation);
enum outcome model_commit(struct sale *sale);
void model_rollback(struct sale *sale);

/* The row as it is committed. */
struct stock_row model_row(const struct model_world *world, int shard);
/* There is no such row. */
bool model_has_no_row(struct model_sale *sale, int shard);
#define SERVER_MS 2000 /* that a statement may wait for a row */
/* Wait while another's transaction has the row, but not for ever: OK; BUSY, CONFLICT (a
 * deadlock). */
enum outcome model_wait_for_row(struct model_sale *sale, int shard, int64_t most_ms);
bool model_is_held_by_other(const struct model_world *world, int index, int shard);
/* The row is written now: who has an older snapshot cannot write it any more. */
void model_note_written(struct model_world *world, int shard);
/* Write the ledger, for sure. */
void model_write_ledger(struct model_world *world, int index, int shard,
                        const struct model_txn *written);
/* That, and set the row; and the sale says so. SOLD. */
enum outcome model_sell_unit(struct model_sale *sale, int shard, const struct model_txn *written);
/* What is on its way arrives. */
void model_land_write(struct model_sale *sale, const struct model_flight *flight);
/* The server ends the order's transaction, if there is one, as when its instance died; or those
 * that were idle for too long. */
void model_abort(struct model_world *world, int index);
void model_abort_idle(struct model_world *world);

/* ---- batches.c: statements that sell to several, and units that come back */

enum outcome model_take_in_batch(struct sale *sale, int shard);
enum outcome model_take_returned(struct sale *sale);

void model_land_batch(struct model_sale *sale, int shard, uint32_t orders);
/* The order waits for a statement that is not sent yet. */
bool model_is_in_line(const struct model_order *order);
/* Add it to those for sale again. False: there is no room. */
bool model_put_back(struct model_world *world, struct model_unit unit);
bool model_may_return(const struct model_world *world, int index);
void model_return(struct model_world *world, int index);
/* The units that came back and wait to be sold again; of them `in_count`, if not NULL, are in the
 * count of their row, by row. */
size_t model_returned(const struct model_world *world, struct model_unit units[2 * MODEL_UNITS],
                      int in_count[MODEL_SHARDS]);

/* ---- redis.c: keys, and the stock that is loaded beside them */

enum outcome model_kv(struct sale *sale, struct kv_call *call);
enum outcome model_open_data_set(struct sale *sale, struct data_set *set);
enum outcome model_hand_out(struct sale *sale, const struct data_set *set, struct stock_row *row);
enum outcome model_load_row(struct sale *sale, const struct data_set *set,
                            const struct stock_row *row);
enum outcome model_take_loaded(struct sale *sale, struct loaded_unit *taken);
enum outcome model_write_pending(struct sale *sale, const struct stock_row *seen, bool is_awaited);

int64_t model_next_key_ms(const struct model_world *world); /* that expires; INT64_MAX: none */
void model_expire_keys(struct model_world *world);
/* The last `writes` of them are undone. */
void model_lag_keys(struct model_world *world, int writes);
/* When there is something that the instance can bring to the ledger: 0, now; INT64_MAX: never. */
int64_t model_brings_at(const struct model_world *world, int instance);
void model_bring(struct model_world *world, int instance);
/* What it had in mind is gone with it. */
void model_drop_queue(struct model_world *world, int instance);

/* ---- locks.c */

enum outcome model_lock(struct sale *sale, struct lock_call *call);
enum outcome model_check_write(struct sale *sale, enum guard guard, const struct store_lock *under);
void model_unlock(struct sale *sale, struct store_lock *lock, enum outcome outcome);

/* May order `index` have the lock of order->lock now? Where it does not wait yet, it would be at
 * the end of the line. */
bool model_is_open(const struct model_world *world, int index);
/* Who is before it in the line. */
uint8_t model_line_before(const struct model_world *world, int index);
void model_leave_line(struct model_world *world, int index);
/* The order's grant of order->lock; NULL: it is not its own any more. */
struct model_grant *model_find_grant(struct model_world *world, int index);
void model_free_grant(struct model_world *world, struct model_grant *grant);
/* The end of a lease that is won or renewed now, by its holder's count. */
int64_t model_lease_ends_ms(const struct model_world *world);
/* Of those that end by themselves, the first; INT64_MAX: none. */
int64_t model_next_grant_ms(const struct model_world *world);
void model_expire_grants(struct model_world *world);

#endif
