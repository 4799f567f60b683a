/* Chapter 4, an answer: the TTL is the work plus the time in which a write can still land. It is
 * only a guess. Chapter 6 renews the lock, and chapter 7 makes the guess unnecessary. */
#include "key_lock.h"
#include "read_then_write.h"
#include "strategy.h"

#include <stddef.h>

/* A write can land up to 7 s after it was sent, even if its sender is dead. */
#define LATE_MS 8000

static enum outcome sell(struct sale *sale) {
    enum outcome outcome = key_lock_win(sale, "held", sale->options->work_ms + LATE_MS);

    if (outcome != OUTCOME_OK)
        return outcome;
    outcome = read_then_write(sale, 0, GUARD_ANY, NULL);
    (void)store_kv_delete(sale, KEY_LOCK);
    return outcome;
}

const struct strategy strategy_exercise = {
    .name = "exercise",
    .family = "lab",
    .summary = "SET NX PX a little more than the work, DEL",
    .promise = "see the chapter",
    .breaks = "see the chapter",
    .source = "your own hand",
    .default_shards = 1,
    .sell = sell,
};
