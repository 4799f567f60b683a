/* The live store's stock and ledger.
 *
 * A write that is not answered: absent from the ledger it may still land, because the statement may
 * still be running; so the lock is kept from the next sale for as long as that: until its deadline,
 * after which the server begins it no more, and LAND_MS. The server knows the deadline by its own
 * clock, which the sale read with the stock.
 *
 * A write under a lease: first take a connection and prepare the statement on it, both of which may
 * mean waiting, and only then ask whether the lease is still ours; so nothing lies between that
 * answer and the sending. It is not begun when the sale's own time would end before the server's
 * definite answer. */
#include "store_live_internal.h"

#include "clock.h"
#include "pending.h"
#include "reservation_sql.h"
#include "segment_sql.h"
#include "stock_sql.h"
#include "text_copy.h"

#include <assert.h>
#include <stdio.h>

#define LOOK_UP_MS       1000 /* with the lock held: others wait for it, and then for its TTL */
#define NONE_RETURNED_MS 100

static uint64_t row_bit(int shard) {
    return (uint64_t)1 << (unsigned)shard % 64;
}

bool live_saw_empty(struct sale *sale, int shard) {
    return sale->options->shards > 1 && (live_of(sale)->product->seen_empty & row_bit(shard)) != 0;
}

static void note_empty(struct product *product, const struct stock_row *row) {
    if (row->available <= 0)
        product->seen_empty |= row_bit(row->shard);
    else
        product->seen_empty &= ~row_bit(row->shard);
}

enum outcome live_read_stock(struct sale *sale, int shard, struct stock_row *row) {
    struct live_sale *live = live_of(sale);
    const struct stock_read read = {.on = live->conn,
                                    .product_id = live->product->id,
                                    .shard = shard,
                                    .returns_to_count = sale->options->returns_to_count,
                                    .deadline_ms = live_due_ms(live)};
    enum outcome outcome;
    int64_t server_us;

    live->cost.postgres++;
    outcome = stock_sql_read(live->store->pool, &read, row, &server_us, sale->message);
    if (outcome != OUTCOME_OK)
        return outcome;
    live->server_ahead_us = server_us - clock_now_ms() * 1000; /* as of before: or more */
    live_saw_fence(live, row->fence);
    note_empty(live->product, row);
    return OUTCOME_OK;
}

/* What an unanswered write said of itself is kept: it says more. */
enum outcome live_find_sale(struct sale *sale, bool *is_found) {
    struct live_sale *live = live_of(sale);
    const bool is_unknown = live->lands_until_ms != 0;
    int64_t due_ms = clock_now_ms() + (is_unknown ? LOOK_UP_MS : STATEMENT_MS);
    char ignored[MESSAGE_BYTES];
    struct reservation found;

    live->cost.postgres++;
    return reservation_sql_find(live->store->pool, live->order_id,
                                earlier(due_ms, live->deadline_ms + LAST_LOOK_MS), is_found, &found,
                                is_unknown ? ignored : sale->message);
}

struct reservation *live_begin_sold(struct live_sale *live, int shard) {
    struct reservation *sold = &live->sold;

    *sold = (struct reservation){.shard = shard};
    text_copy(sold->order_id, sizeof sold->order_id, live->order_id);
    text_copy(sold->product_id, sizeof sold->product_id, live->product->id);
    text_copy(sold->instance, sizeof sold->instance, live->store->instance);
    text_copy(sold->price, sizeof sold->price, live->product->row.price);
    return sold;
}

enum outcome live_note_sold(struct live_sale *live) {
    const struct reservation *sold = &live->sold;

    live->cost.commit_ns = clock_now_ns() - live->write_begun_ns;
    live->cost.shard = live->sale.shard = sold->shard;
    live->sale.unit = sold->unit;
    live->sale.remaining = sold->remaining;
    live->sale.fence = sold->fence;
    return OUTCOME_SOLD;
}

/* In a transaction nothing is sold yet. */
enum outcome live_end_sold(struct live_sale *live, enum outcome outcome, int64_t due_ms) {
    if (live->is_transaction)
        return outcome == OUTCOME_UNKNOWN ? OUTCOME_BUSY : outcome;
    if (outcome == OUTCOME_UNKNOWN)
        live->lands_until_ms = due_ms + LAND_MS;
    return outcome == OUTCOME_SOLD ? live_note_sold(live) : outcome;
}

void live_give_back_conn(struct live_sale *live) {
    if (live->conn == NULL || live->is_transaction)
        return;
    pg_give_back(live->conn);
    live->conn = NULL;
}

static enum outcome prepare_fenced_write(struct live_sale *live, enum guard guard) {
    int64_t ready_ms = earlier(live_due_ms(live), live->deadline_ms - SERVER_MS);

    if (!live->is_transaction)
        live->conn = pg_hold(live->store->pool, ready_ms);
    if (live->conn != NULL)
        return stock_sql_prepare_write(live->store->pool, live->conn, guard, ready_ms,
                                       live->sale.message);
    (void)snprintf(live->sale.message, MESSAGE_BYTES, "no connection to the database in time");
    return OUTCOME_BUSY;
}

enum outcome live_check_write(struct sale *sale, enum guard guard, const struct store_lock *under) {
    struct live_sale *live = live_of(sale);
    enum outcome outcome = OUTCOME_OK;

    live->write_begun_ns = clock_now_ns();
    if (live_fence(under) != 0)
        outcome = prepare_fenced_write(live, guard);
    if (outcome == OUTCOME_OK && under != NULL)
        outcome = live_check_lock(live);
    if (outcome != OUTCOME_OK)
        live_give_back_conn(live);
    return outcome;
}

enum outcome live_write_stock(struct sale *sale, const struct stock_row *seen, enum guard guard,
                              const struct store_lock *under) {
    struct live_sale *live = live_of(sale);
    struct reservation *sold = live_begin_sold(live, seen->shard);
    int64_t due_ms = live_due_ms(live);
    const struct stock_write write = {.on = live->conn,
                                      .guard = guard,
                                      .seen = seen,
                                      .not_after_us = due_ms * 1000 + live->server_ahead_us,
                                      .deadline_ms = due_ms};
    enum outcome outcome;

    sold->unit = seen->unit;
    sold->remaining = seen->available - 1;
    sold->fence = live_fence(under);
    live->cost.postgres++;
    outcome = stock_sql_write(live->store->pool, &write, sold, sale->message);
    live_give_back_conn(live);
    return live_end_sold(live, outcome, due_ms);
}

enum outcome live_take_stock(struct sale *sale, int shard) {
    struct live_sale *live = live_of(sale);
    struct reservation *sold = live_begin_sold(live, shard);
    int64_t due_ms = live_due_ms(live);

    assert(!live->is_transaction);
    live->write_begun_ns = clock_now_ns();
    live->cost.postgres++;
    return live_end_sold(live, stock_sql_take(live->store->pool, sold, due_ms, sale->message),
                         due_ms);
}

/* When there is none, this instance does not look again for 100 ms, because after the sell-out
 * every request comes here: so long at most is a unit refused here that came back through another
 * instance. */
enum outcome live_take_returned(struct sale *sale) {
    struct live_sale *live = live_of(sale);
    struct product *product = live->product;
    int64_t begun_ms = clock_now_ms(), due_ms = live_due_ms(live);
    struct reservation *sold;
    enum outcome outcome;

    if (begun_ms < product->none_returned_until_ms)
        return OUTCOME_SOLD_OUT;
    sold = live_begin_sold(live, 0);
    live->write_begun_ns = clock_now_ns();
    live->cost.postgres++;
    outcome = stock_sql_take_returned(live->store->pool, sold, due_ms, sale->message);
    if (outcome == OUTCOME_SOLD_OUT)
        product->none_returned_until_ms = begun_ms + NONE_RETURNED_MS;
    return live_end_sold(live, outcome, due_ms);
}

/* The product is announced first: a unit of it that Redis sells must not escape those who look for
 * what a killed instance left behind. */
enum outcome live_hand_out(struct sale *sale, const char *data_set, int after,
                           struct stock_row *row) {
    struct live_sale *live = live_of(sale);
    enum outcome outcome =
        pending_announce(live->store->pending, live->product->id, live_due_ms(live), sale->message);

    live->cost.redis++;
    if (outcome != OUTCOME_OK)
        return outcome;
    live->cost.postgres++;
    return segment_sql_hand_out(live->store->pool, live->product->id, data_set, after, row,
                                live_due_ms(live), sale->message);
}

enum outcome live_write_pending(struct sale *sale, const struct stock_row *seen, bool is_awaited) {
    struct live_sale *live = live_of(sale);
    struct reservation *sold = live_begin_sold(live, seen->shard);
    struct pending_sale pending = {.product_id = sold->product_id,
                                   .order_id = sold->order_id,
                                   .shard = seen->shard,
                                   .unit = seen->first_unit + seen->available - 1};
    enum outcome outcome = OUTCOME_SOLD;

    sold->unit = pending.unit;
    sold->remaining = seen->available - 1;
    if (is_awaited) {
        live->cost.postgres++;
        outcome = pending_write(live->store->pending, &pending, live_due_ms(live), sale->message);
    } else {
        pending_add(live->store->pending, &pending);
    }
    return live_end_sold(live, outcome, clock_now_ms());
}

enum outcome store_live_count(struct store *store, const struct product *product,
                              struct stock_left *left, char message[MESSAGE_BYTES]) {
    struct stock_count count;
    struct pending_count redis = {0, 0};
    enum outcome outcome = product_sql_count(store->pool, product->id, &count, message);

    if (outcome == OUTCOME_OK && product->spec.strategy->prepare != NULL)
        outcome = pending_count(store->pending, product->id, &redis, message);
    if (outcome == OUTCOME_OK)
        *left = (struct stock_left){.available = count.available - count.loaded + redis.unsold,
                                    .returned = count.returned,
                                    .in_redis = redis.unsold,
                                    .pending = redis.pending};
    return outcome;
}
