/* The live store's stock that Redis sells: segments of it, and the way of its sales to the ledger.
 */
#include "store_live_internal.h"

#include "clock.h"
#include "pending.h"
#include "segment_sql.h"

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
