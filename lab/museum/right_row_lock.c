/* Right. The row's own lock, from the read to the commit, and no other attempt. */
#include "read_then_write.h"
#include "strategy.h"

static enum outcome sell(struct sale *sale) {
    return lock_row_then_write(sale, 0, ROW_WAIT);
}

const struct strategy strategy_exercise = {
    .name = "exercise",
    .family = "exercise",
    .summary = "FOR UPDATE",
    .promise = "each unit once",
    .breaks = "nothing within its chapters",
    .source = "the museum",
    .takes = TAKES_RETURN,
    .default_shards = 1,
    .sell = sell,
};
