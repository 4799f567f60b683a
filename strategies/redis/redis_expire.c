/* The second rung: a second command gives the key a TTL. A holder that dies between the two
 * commands keeps the lock for ever, as before. (The article sends EXPIRE also after a failed SETNX,
 * so waiters prolong the lock of a dead holder. This code does not.) */
#include "key_lock.h"
#include "read_then_write.h"
#include "strategy.h"

static enum outcome redis_expire_sell(struct sale *sale) {
    enum outcome outcome = key_lock_win(sale, "held", 0);

    if (outcome == OUTCOME_OK)
        outcome = store_kv_expire(sale, KEY_LOCK, sale->options->ttl_ms);
    if (outcome != OUTCOME_OK)
        return outcome;
    outcome = read_then_write(sale, 0, GUARD_ANY, NULL);
    (void)store_kv_delete(sale, KEY_LOCK);
    return outcome;
}

const struct strategy strategy_redis_expire = {
    .name = "redis-expire",
    .family = "Redis",
    .summary = "SETNX, then EXPIRE: two commands, one after the other",
    .promise = "like redis-setnx, and the lock of a holder that dies later ends after its TTL",
    .breaks =
        "a death, a lost reply or a failover between the two commands; work longer than the TTL, "
        "like redis-ttl",
    .source = "How a distributed lock is made, 3.1 and 3.2",
    .is_right = true,
    .default_shards = 1,
    .sell = redis_expire_sell,
};
