/* The stock is in several rows, each behind its own lease, so as many sales run at once.
 *
 * A sale starts at the shard that store_deal() names. It tries the others before it says sold out
 * (unless borrow=off), so no unit is stranded in a shard. A row that was seen empty without its
 * lock stays empty, because rows only fall: returned units are sold from a list of their own. So an
 * empty shard costs one read and no lock, once the instance has seen it empty. */
#include "read_then_write.h"
#include "strategy.h"

static enum outcome sharded_look(struct sale *sale, int shard) {
    struct stock_row row;
    enum outcome outcome = store_read_stock(sale, shard, &row);

    return outcome == OUTCOME_OK && row.available <= 0 ? OUTCOME_SOLD_OUT : outcome;
}

static enum outcome sharded_sell_from(struct sale *sale, int shard) {
    enum outcome outcome = store_saw_empty(sale, shard) ? sharded_look(sale, shard) : OUTCOME_OK;

    return outcome == OUTCOME_OK ? lock_shard_then_write(sale, LOCK_REDIS, shard, GUARD_ANY)
                                 : outcome;
}

static enum outcome sharded_sell(struct sale *sale) {
    const int shards = sale->options->shards, looked = sale->options->borrows ? shards : 1;
    const int first = store_deal(sale);
    enum outcome outcome = OUTCOME_SOLD_OUT;

    for (int i = 0; i < looked && outcome == OUTCOME_SOLD_OUT; i++)
        outcome = sharded_sell_from(sale, (first + i) % shards);
    return outcome;
}

const struct strategy strategy_sharded = {
    .name = "sharded",
    .family = "spread",
    .summary =
        "several stock rows, a Redis lease each; a sale tries all rows before it says sold out",
    .promise = "like redis, per row; never says sold out while a row has a unit",
    .breaks = "like redis-cohort; with borrow=off, units stay in rows that nobody tries any more",
    .source = "How a distributed lock is made, 5",
    .takes = TAKES_SHARDS | TAKES_BORROW | TAKES_DEAL | TAKES_HANDOVER,
    .is_right = true,
    .survives = SURVIVES(CRASH) | SURVIVES(LOST_REPLY) | SURVIVES(EXPIRY),
    .default_shards = 10,
    .default_handover = 16,
    .sell = sharded_sell,
};
