/* Right. Sets a TTL, and makes it longer once the key is won. */
#include "key_lock.h"
#include "read_then_write.h"
#include "strategy.h"

#include <stddef.h>

#define LATE_MS 8000

static enum outcome sell(struct sale *sale) {
    enum outcome outcome = key_lock_win(sale, "held", LATE_MS);

    if (outcome != OUTCOME_OK)
        return outcome;
    outcome = store_kv_expire(sale, KEY_LOCK, sale->options->work_ms + LATE_MS);
    if (outcome == OUTCOME_OK)
        outcome = read_then_write(sale, 0, GUARD_ANY, NULL);
    (void)store_kv_delete(sale, KEY_LOCK);
    return outcome;
}

const struct strategy strategy_exercise = {
    .name = "exercise",
    .family = "exercise",
    .summary = "SET NX PX, PEXPIRE, DEL",
    .promise = "each unit once",
    .breaks = "nothing within its chapters",
    .source = "the museum",
    .default_shards = 1,
    .sell = sell,
};
