/* Optimistic, but after a conflict it reads again and writes without the guard. */
#include "read_then_write.h"
#include "strategy.h"

#include <stddef.h>

static enum outcome sell(struct sale *sale) {
    enum outcome outcome = read_then_write(sale, 0, GUARD_VERSION, NULL);

    return outcome == OUTCOME_CONFLICT ? read_then_write(sale, 0, GUARD_ANY, NULL) : outcome;
}

const struct strategy strategy_exercise = {
    .name = "exercise",
    .family = "exercise",
    .summary = "compares the version once; after a conflict it writes without the guard",
    .promise = "nothing: a planted bug",
    .breaks = "two conflicts in a row",
    .source = "the museum",
    .default_shards = 1,
    .sell = sell,
};
