/* The fourth rung: the key names its holder, and the sale checks it before the DEL. Between the two
 * commands the key may expire and another sale may win it. Then the DEL removes that sale's key. */
#include "key_lock.h"
#include "read_then_write.h"
#include "strategy.h"

#include <string.h>

static void redis_get_del_give_back(struct sale *sale, const char *token) {
    char holder[KV_TEXT];

    if (store_kv_get(sale, KEY_LOCK, holder) == OUTCOME_OK && strcmp(holder, token) == 0)
        (void)store_kv_delete(sale, KEY_LOCK);
}

static enum outcome redis_get_del_sell(struct sale *sale) {
    char token[TOKEN_TEXT];
    enum outcome outcome;

    store_random_token(sale, token);
    outcome = key_lock_win(sale, token, sale->options->ttl_ms);
    if (outcome != OUTCOME_OK)
        return outcome;
    outcome = read_then_write(sale, 0, GUARD_ANY, NULL);
    redis_get_del_give_back(sale, token);
    return outcome;
}

const struct strategy strategy_redis_get_del = {
    .name = "redis-get-del",
    .family = "Redis",
    .summary = "SET NX PX with a random owner token; GET, then DEL if the token is ours",
    .promise = "like redis-ttl, and a late holder nearly always leaves another holder's key alone",
    .breaks = "like redis-ttl; and a pause between GET and DEL deletes another holder's key",
    .source = "How a distributed lock is made, 3.4",
    .is_right = true,
    .survives = SURVIVES(CRASH),
    .default_shards = 1,
    .sell = redis_get_del_sell,
};
