/* The first rung: the sale that sets the key holds the lock, and deletes the key when done. A dead
 * holder never deletes it, and nobody sells any more. */
#include "key_lock.h"
#include "read_then_write.h"
#include "strategy.h"

static enum outcome redis_setnx_sell(struct sale *sale) {
    enum outcome outcome = key_lock_win(sale, "held", 0);

    if (outcome != OUTCOME_OK)
        return outcome;
    outcome = read_then_write(sale, 0, GUARD_ANY, NULL);
    (void)store_kv_delete(sale, KEY_LOCK);
    return outcome;
}

const struct strategy strategy_redis_setnx = {
    .name = "redis-setnx",
    .family = "Redis",
    .summary = "a key in Redis: SETNX acquires, DEL releases; no TTL",
    .promise = "one holder across all instances, as long as every holder lives to release",
    .breaks =
        "a dead holder, or a lost reply or DEL: nobody deletes the key, and nothing is sold any "
        "more",
    .source = "How a distributed lock is made, 3 and 3.1",
    .is_right = true,
    .survives = SURVIVES(PAUSE) | SURVIVES(EXPIRY),
    .default_shards = 1,
    .sell = redis_setnx_sell,
};
