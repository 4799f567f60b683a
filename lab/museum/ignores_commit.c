/* SERIALIZABLE, but it does not look at the answer of COMMIT. */
#include "read_then_write.h"
#include "strategy.h"

#include <stddef.h>

static enum outcome sell(struct sale *sale) {
    enum outcome outcome = store_begin(sale, SERIALIZABLE);

    if (outcome != OUTCOME_OK)
        return outcome;
    outcome = read_then_write(sale, 0, GUARD_ANY, NULL);
    (void)store_end(sale, outcome);
    return outcome;
}

const struct strategy strategy_exercise = {
    .name = "exercise",
    .family = "exercise",
    .summary = "SERIALIZABLE; SOLD before the commit has answered",
    .promise = "nothing: a planted bug",
    .breaks = "a commit that is refused, or has no answer",
    .source = "the museum",
    .default_shards = 1,
    .sell = sell,
};
