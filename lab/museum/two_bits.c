/* Wrong: a version of two bits has its old value after four writes. */
#include "strategy.h"

#include <stdbool.h>
#include <stddef.h>

static bool is_unchanged(const struct stock_row *seen, const struct stock_row *now) {
    return (seen->version & 3) == (now->version & 3);
}

static enum outcome compare_and_write(struct sale *sale, const struct stock_row *seen) {
    struct stock_row now;
    enum outcome outcome = store_read_for_update(sale, 0, ROW_WAIT, &now);

    if (outcome != OUTCOME_OK)
        return outcome;
    return is_unchanged(seen, &now) ? store_write_stock(sale, seen, GUARD_ANY, NULL)
                                    : OUTCOME_CONFLICT;
}

static enum outcome try_once(struct sale *sale) {
    struct stock_row seen;
    enum outcome outcome = store_read_stock(sale, 0, &seen);

    if (outcome != OUTCOME_OK)
        return outcome;
    if (seen.available <= 0)
        return OUTCOME_SOLD_OUT;
    store_work(sale);
    outcome = store_begin(sale, READ_COMMITTED);
    return outcome == OUTCOME_OK ? store_end(sale, compare_and_write(sale, &seen)) : outcome;
}

static enum outcome sell(struct sale *sale) {
    enum outcome outcome = try_once(sale);

    while (outcome == OUTCOME_CONFLICT) {
        outcome = store_pause(sale);
        if (outcome == OUTCOME_OK)
            outcome = try_once(sale);
    }
    return outcome;
}

const struct strategy strategy_exercise = {
    .name = "exercise",
    .family = "exercise",
    .summary = "optimistic by the last two bits of a version",
    .promise = "each unit once",
    .breaks = "four writes between a read and its write",
    .source = "the museum",
    .takes = TAKES_RETURN,
    .default_shards = 1,
    .sell = sell,
};
