/* The fifth rung: one script compares and deletes, so nobody frees another holder's key. But a sale
 * that works longer than the TTL still works beside the next holder. */
#include "key_lock.h"
#include "read_then_write.h"
#include "strategy.h"

static enum outcome redis_owner_sell(struct sale *sale) {
    char token[TOKEN_TEXT];
    enum outcome outcome;

    store_random_token(sale, token);
    outcome = key_lock_win(sale, token, sale->options->ttl_ms);
    if (outcome != OUTCOME_OK)
        return outcome;
    outcome = read_then_write(sale, 0, GUARD_ANY, NULL);
    (void)store_kv_delete_if_equal(sale, KEY_LOCK, token);
    return outcome;
}

const struct strategy strategy_redis_owner = {
    .name = "redis-owner",
    .family = "Redis",
    .summary = "SET NX PX with a random owner token; one script compares and deletes; no renewal",
    .promise = "like redis-ttl, and nobody releases another holder's lock",
    .breaks =
        "work longer than the TTL: two holders at once; a write that lands after the release; lost "
        "keys, like redis",
    .source = "How a distributed lock is made, 3.3; An overview of locks, the script that unlocks",
    .is_right = true,
    .survives = SURVIVES(CRASH),
    .default_shards = 1,
    .sell = redis_owner_sell,
};
