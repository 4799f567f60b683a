/* The stock is loaded into Redis before the sale, a row at a time. One script takes a unit for each
 * sale that waits. Batches bring the sold units to Postgres. Redis must write each command to disk
 * before it answers (appendfsync always).
 *
 * Happy path
 * - Loading: `.prepare`, or the sale that takes half of the last loaded row, loads the next row.
 *   Postgres hands it to the data set, then a script adds it.
 * - Selling: a script takes the last units of the row, one for each order, and in the same step
 *   notes the orders. That is the sale, and 201 leaves.
 * - Writing: an instance writes the ledger rows and lowers the row of stock, in one statement for
 *   many sales. Then it removes the notes. Under ack=ledger, or with a key of the customer's, 201
 *   waits for this.
 * - A repeat is told its first unit, which the ledger has by then.
 * - Redis forgets an order once the ledger has it, and one with a key once all is sold and written.
 *
 * Failures
 * - Loading dies between its steps: Postgres gave the row to the data set, which did not get it.
 *   The data set asks for the same row again.
 * - Two sales load at once: the script adds a row only once, because the data set knows its last.
 * - The script's answer is lost: the sale asks again and gets the same unit. If another instance has
 *   brought that unit since, it gets a second one, which comes back when the ledger has it.
 * - The instance dies after the script: another one finds the note and writes it.
 * - Redis is killed: it comes back with all its data.
 * - A write has no answer, or two instances write it: Postgres takes a unit once and says what
 *   became of it.
 * - Redis loses all its data: a new data set begins, and gets only rows that were never handed out,
 *   because nobody knows how much was sold of the others. Their unsold units stay unsold, visibly.
 *   Pending sales are lost: promised under ack=redis, unknown under ack=ledger.
 * - A master of a Redis Cluster dies, and a replica that lacks its last sales takes over: it sells
 *   those units again, as below. With replicas= a sale that no replica confirmed waits for the ledger.
 * - Redis loses only its last second: it sells those units again. The ledger accepts one order for
 *   each. A sale that waits for the ledger takes another unit then. */
#include "strategy.h"

static enum outcome prewarm_load(struct sale *sale, const struct data_set *set) {
    struct stock_row row = {.available = 0};
    enum outcome outcome = store_hand_out(sale, set, &row);

    return outcome == OUTCOME_OK || outcome == OUTCOME_SOLD_OUT ? store_load_row(sale, set, &row)
                                                                : outcome;
}

static enum outcome load_next(struct sale *sale) {
    struct data_set set;
    enum outcome outcome = store_open_data_set(sale, &set);

    return outcome == OUTCOME_OK ? prewarm_load(sale, &set) : outcome;
}

static enum outcome prewarm_prepare(struct sale *sale) {
    struct data_set set;
    enum outcome outcome = store_open_data_set(sale, &set);

    return outcome == OUTCOME_OK && set.last < 0 ? prewarm_load(sale, &set) : outcome;
}

/* OK, and then `taken`; SOLD_OUT; or the outcome of a store that fails. */
static enum outcome prewarm_take(struct sale *sale, struct loaded_unit *taken) {
    for (;;) {
        enum outcome outcome = store_take_loaded(sale, taken);

        if (outcome != OUTCOME_OK || taken->seen.available != 0)
            return outcome;
        outcome = load_next(sale);
        if (outcome != OUTCOME_OK)
            return outcome;
    }
}

/* A customer can send one key for two products at once, and Redis sells to it for each. Only the
 * ledger decides which product gets the order. An id without a key is new: no other sale has it. */
static bool waits_for_ledger(const struct sale *sale, const struct loaded_unit *taken) {
    return taken->is_again || taken->is_unconfirmed || sale->may_be_repeat ||
           sale->options->acknowledges_late;
}

/* Try until it is known whether a unit was taken, but no longer than the sale may wait. */
static enum outcome take_surely(struct sale *sale, struct loaded_unit *taken) {
    enum outcome outcome = prewarm_take(sale, taken);

    if (outcome != OUTCOME_UNKNOWN)
        return outcome;
    sale->may_be_repeat = true; /* an instance may have brought its unit: ask the ledger */
    while (outcome == OUTCOME_UNKNOWN || outcome == OUTCOME_BUSY) {
        if (store_pause(sale) != OUTCOME_OK)
            return OUTCOME_UNKNOWN;
        outcome = prewarm_take(sale, taken);
    }
    return outcome;
}

/* Take a unit and write it. */
static enum outcome sell_once(struct sale *sale, struct loaded_unit *taken) {
    enum outcome outcome = take_surely(sale, taken);

    if (outcome != OUTCOME_OK)
        return outcome;
    do
        outcome = store_write_pending(sale, &taken->seen, waits_for_ledger(sale, taken));
    while (outcome == OUTCOME_UNKNOWN && store_pause(sale) == OUTCOME_OK);
    if (taken->is_half_sold)
        (void)load_next(sale);
    return outcome;
}

/* CONFLICT for a new order: Redis forgot an earlier sale of this unit, so take the next one. Until
 * Redis has forgotten the first note, a repeat gets its unit again. */
static enum outcome prewarm_sell(struct sale *sale) {
    struct loaded_unit taken = {.is_again = true};
    enum outcome outcome;
    bool is_new = false;

    store_work(sale);
    do {
        outcome = sell_once(sale, &taken);
        is_new = is_new || !taken.is_again;
    } while (outcome == OUTCOME_CONFLICT && is_new &&
             (!taken.is_again || store_pause(sale) == OUTCOME_OK));
    return outcome == OUTCOME_SOLD && taken.is_again ? OUTCOME_REPEATED : outcome;
}

const struct strategy strategy_prewarm = {
    .name = "prewarm",
    .family = "spread",
    .summary =
        "stock rows are loaded into Redis before the sale; one script sells, the ledger follows",
    .promise = "no unit is sold twice or lost, under any kill, even Redis's if it syncs each write",
    .breaks =
        "Redis loses data: FLUSHALL, or its last second (with ack=redis, promises without a sale)",
    .source = "How a distributed lock is made, 5",
    .takes = TAKES_SHARDS | TAKES_ACK | TAKES_REPLICAS,
    .is_right = true,
    .survives = SURVIVES(PAUSE) | SURVIVES(CRASH) | SURVIVES(LOST_REPLY) | SURVIVES(EXPIRY),
    .default_shards = 10,
    .sell = prewarm_sell,
    .prepare = prewarm_prepare,
};
