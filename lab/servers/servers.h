/* The servers of the model, and the memory of an instance: the seam's operations on them (store.h),
 * and the events that no sale makes. */
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

/* The unit that the row sells next, if its count is this. */
int64_t model_unit_at(const struct model_world *world, int shard, int64_t available);
/* The committed row. */
struct stock_row model_row(const struct model_world *world, int shard);
/* True if there is no such row. Then the sale's message says so. */
bool model_has_no_row(struct model_sale *sale, int shard);
#define SERVER_MS 2000 /* a statement waits so long for a row */
/* Wait while another transaction holds the row, for `most_ms` at most. OK, BUSY, or CONFLICT (a
 * deadlock). */
enum outcome model_wait_for_row(struct model_sale *sale, int shard, int64_t most_ms);
bool model_is_held_by_other(const struct model_world *world, int index, int shard);
/* The row is written now. A transaction with an older snapshot can no longer write it. */
void model_note_written(struct model_world *world, int shard);
/* Add a committed row to the ledger. */
void model_write_ledger(struct model_world *world, int index, int shard,
                        const struct model_write *written);
/* Set the committed row of stock, add the row of the ledger, and fill the sale's answer, unless it is
 * the second unit of a cart. SOLD. */
enum outcome model_sell_unit(struct model_sale *sale, int shard, const struct model_write *written);
/* A write that is on its way arrives. */
void model_land_write(struct model_sale *sale, const struct model_flight *flight);
/* The server ends the order's transaction, if there is one, for example because its instance died;
 * or it ends all transactions that were idle for too long. */
void model_abort(struct model_world *world, int index);
void model_abort_idle(struct model_world *world);

/* ---- batches.c: statements that sell to several orders, and units that come back */

enum outcome model_take_in_batch(struct sale *sale, int shard);
enum outcome model_take_returned(struct sale *sale);

void model_land_batch(struct model_sale *sale, int shard, uint32_t orders);
/* True if the order waits for a statement that is not sent yet. */
bool model_is_in_line(const struct model_order *order);
/* Put the unit up for sale again. False: there is no room. */
bool model_put_back(struct model_world *world, struct model_unit unit);
bool model_may_return(const struct model_world *world, int index);
void model_return(struct model_world *world, int index);
/* A customer at another shop may buy a unit of the row: only where it matters, and once there, just
 * before a write. */
bool model_may_buy(const struct model_world *world, int shard);
void model_buy(struct model_world *world, int shard);
/* List the units that came back and wait for a sale. `in_count`, if not NULL, gets for each row the
 * number of them that the row's count contains. */
size_t model_returned(const struct model_world *world, struct model_unit units[2 * MODEL_UNITS],
                      int in_count[MODEL_SHARDS]);

/* ---- redis.c: keys, and the stock that is loaded into the same server */

enum outcome model_kv(struct sale *sale, struct kv_call *call);
enum outcome model_open_data_set(struct sale *sale, struct data_set *set);
enum outcome model_hand_out(struct sale *sale, const struct data_set *set, struct stock_row *row);
enum outcome model_load_row(struct sale *sale, const struct data_set *set,
                            const struct stock_row *row);
enum outcome model_take_loaded(struct sale *sale, struct loaded_unit *taken);
enum outcome model_write_pending(struct sale *sale, const struct stock_row *seen, bool is_awaited);

/* The moment at which the first key expires; INT64_MAX: none does. */
int64_t model_next_key_ms(const struct model_world *world);
void model_expire_keys(struct model_world *world);
/* The replica of a part's master takes over. Undo the last `writes` changes at this master. */
void model_lag_keys(struct model_world *world, int part, int writes);
/* The server fails, with its keys, and does not answer any more. */
void model_stop_server(struct model_world *world, int server);
/* The moment at which the instance can bring a sale to the ledger. 0: now. MODEL_NEVER: never. */
int64_t model_brings_at(const struct model_world *world, int instance);
void model_bring(struct model_world *world, int instance);
/* The instance died, and with it the sales that it had still to bring. */
void model_drop_queue(struct model_world *world, int instance);

/* ---- locks.c */

enum outcome model_lock(struct sale *sale, struct lock_call *call);
enum outcome model_check_write(struct sale *sale, enum guard guard, const struct store_lock *under);
void model_unlock(struct sale *sale, struct store_lock *lock, enum outcome outcome);

/* True if order `index` may take the lock of order->lock now. An order that does not wait yet would
 * be at the end of the line. */
bool model_is_open(const struct model_world *world, int index);
/* The orders before it in the line: bits. */
uint8_t model_line_before(const struct model_world *world, int index);
void model_leave_line(struct model_world *world, int index);
/* The order's grant of order->lock. NULL: it no longer holds the lock. */
struct model_grant *model_find_grant(struct model_world *world, int index);
void model_free_grant(struct model_world *world, struct model_grant *grant);
/* The end of a lease that is won or renewed now, by its holder's count. */
int64_t model_lease_ends_ms(const struct model_world *world);
/* The moment at which the first grant expires; INT64_MAX: none does. */
int64_t model_next_grant_ms(const struct model_world *world);
void model_expire_grants(struct model_world *world);

#endif
