/* Counts the units of a product that are left, in the database and in Redis. */
#include "segment_redis.h"
#include "stock_sql.h"
#include "store_live.h"

enum outcome store_live_count(struct store *store, const struct product *product,
                              struct stock_left *left, struct why *why) {
    struct stock_count count;
    const struct segment_keys keys = {.redis = store->kv, .product_id = product->id, .why = why};
    int64_t unsold = 0, pending = 0;
    enum outcome outcome = product_sql_count(store->pool, product->id, &count, why);

    if (outcome == OUTCOME_OK && product->spec.strategy->prepare != NULL)
        outcome = segment_redis_count(&keys, &unsold, &pending);
    if (outcome == OUTCOME_OK)
        *left = (struct stock_left){.available = count.available - count.loaded + unsold,
                                    .returned = count.returned,
                                    .in_redis = unsold,
                                    .pending = pending};
    return outcome;
}
