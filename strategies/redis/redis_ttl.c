/* The third rung: SET NX PX sets the key and its TTL in one command. But the DEL does not check the
 * holder. The article's A, B, C: A works longer than the TTL, so B gets in. A ends and deletes B's
 * key, so C gets in, too. */
#include "key_lock.h"
#include "read_then_write.h"
#include "strategy.h"

static enum outcome redis_ttl_sell(struct sale *sale) {
    enum outcome outcome = key_lock_win(sale, "held", sale->options->ttl_ms);

    if (outcome != OUTCOME_OK)
        return outcome;
    outcome = read_then_write(sale, 0, GUARD_ANY, NULL);
    (void)store_kv_delete(sale, KEY_LOCK);
    return outcome;
}

const struct strategy strategy_redis_ttl = {
    .name = "redis-ttl",
    .family = "Redis",
    .summary =
        "SET NX PX acquires with a TTL in one command; DEL releases, even another holder's key",
    .promise = "one holder, as long as each finishes within the TTL",
    .breaks =
        "work longer than the TTL: B gets in, then A deletes B's key, and C gets in; a write that "
        "lands after its DEL; lost keys, like redis",
    .source = "How a distributed lock is made, 3.2 and 3.3",
    .is_right = true,
    .survives = SURVIVES(CRASH),
    .default_shards = 1,
    .sell = redis_ttl_sell,
};
