/* Before it tries again it also waits in a loop: that is slow, but it ends. */
#include "read_then_write.h"
#include "strategy.h"

#include <stddef.h>

static enum outcome wait_a_little(struct sale *sale) {
    for (volatile int turn = 0; turn < 3000000; turn++)
        ;
    return store_pause(sale);
}

static enum outcome sell(struct sale *sale) {
    enum outcome outcome = read_then_write(sale, 0, GUARD_VERSION, NULL);

    while (outcome == OUTCOME_CONFLICT) {
        outcome = wait_a_little(sale);
        if (outcome == OUTCOME_OK)
            outcome = read_then_write(sale, 0, GUARD_VERSION, NULL);
    }
    return outcome;
}

const struct strategy strategy_exercise = {
    .name = "exercise",
    .family = "exercise",
    .summary = "optimistic by a version; after a conflict it spins, pauses and tries again",
    .promise = "each unit once",
    .breaks = "nothing within its chapters",
    .source = "the museum",
    .takes = TAKES_RETURN,
    .default_shards = 1,
    .sell = sell,
};
