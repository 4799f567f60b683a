/* Right. Locks the same row twice: a look without a wait cannot change it between. */
#include "strategy.h"

#include <stddef.h>

static enum outcome work_twice_locked(struct sale *sale) {
    struct stock_row first, second;
    enum outcome outcome = store_read_for_update(sale, 0, ROW_WAIT, &first);

    if (outcome != OUTCOME_OK)
        return outcome;
    if (first.available <= 0)
        return OUTCOME_SOLD_OUT;
    store_work(sale);
    outcome = store_read_for_update(sale, 0, ROW_WAIT, &second);
    return outcome == OUTCOME_OK ? store_write_stock(sale, &second, GUARD_VERSION, NULL) : outcome;
}

static enum outcome sell(struct sale *sale) {
    enum outcome outcome = store_begin(sale, READ_COMMITTED);

    return outcome == OUTCOME_OK ? store_end(sale, work_twice_locked(sale)) : outcome;
}

const struct strategy strategy_exercise = {
    .name = "exercise",
    .family = "exercise",
    .summary = "FOR UPDATE, twice",
    .promise = "each unit once",
    .breaks = "nothing within its chapters",
    .source = "the museum",
    .takes = TAKES_RETURN,
    .default_shards = 1,
    .sell = sell,
};
