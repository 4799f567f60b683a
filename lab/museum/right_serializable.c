/* Right. SERIALIZABLE, and a new transaction after each conflict. */
#include "read_then_write.h"
#include "strategy.h"

#include <stddef.h>

static enum outcome try_once(struct sale *sale) {
    enum outcome outcome = store_begin(sale, SERIALIZABLE);

    return outcome == OUTCOME_OK ? store_end(sale, read_then_write(sale, 0, GUARD_ANY, NULL))
                                 : outcome;
}

static enum outcome sell(struct sale *sale) {
    enum outcome outcome = try_once(sale);

    while (outcome == OUTCOME_CONFLICT || outcome == OUTCOME_BUSY) {
        outcome = store_pause(sale);
        if (outcome == OUTCOME_OK)
            outcome = try_once(sale);
        else
            return outcome;
    }
    return outcome;
}

const struct strategy strategy_exercise = {
    .name = "exercise",
    .family = "exercise",
    .summary = "SERIALIZABLE with retries",
    .promise = "each unit once",
    .breaks = "nothing within its chapters",
    .source = "the museum",
    .takes = TAKES_RETURN,
    .default_shards = 1,
    .sell = sell,
};
