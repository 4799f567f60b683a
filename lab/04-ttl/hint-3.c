/* Chapter 4, first step: a TTL that is long enough for two seconds of work. It is too long for the
 * customers behind a dead holder. */
#include "key_lock.h"
#include "read_then_write.h"
#include "strategy.h"

#include <stddef.h>

#define TTL_MS 16000

static enum outcome sell(struct sale *sale) {
    /* To do: a dead holder keeps all others out for 16 s. And some work takes longer. */
    enum outcome outcome = key_lock_win(sale, "held", TTL_MS);

    if (outcome != OUTCOME_OK)
        return outcome;
    outcome = read_then_write(sale, 0, GUARD_ANY, NULL);
    (void)store_kv_delete(sale, KEY_LOCK);
    return outcome;
}

const struct strategy strategy_exercise = {
    .name = "exercise",
    .family = "lab",
    .summary = "SET NX PX 16000, DEL",
    .promise = "see the chapter",
    .breaks = "see the chapter",
    .source = "your own hand",
    .default_shards = 1,
    .sell = sell,
};
