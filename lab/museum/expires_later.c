/* SET NX without a TTL. The key gets its TTL only at the end of the sale. */
#include "key_lock.h"
#include "read_then_write.h"
#include "strategy.h"

#include <stddef.h>

static enum outcome sell(struct sale *sale) {
    enum outcome outcome = key_lock_win(sale, "held", 0);

    if (outcome != OUTCOME_OK)
        return outcome;
    outcome = read_then_write(sale, 0, GUARD_ANY, NULL);
    (void)store_kv_expire(sale, KEY_LOCK, 1);
    return outcome;
}

const struct strategy strategy_exercise = {
    .name = "exercise",
    .family = "exercise",
    .summary = "SET NX for ever, and 1 ms more when it is done",
    .promise = "nothing: a planted bug",
    .breaks = "a crash of the holder: the sales stop",
    .source = "the museum",
    .default_shards = 1,
    .sell = sell,
};
