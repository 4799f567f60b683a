/* Counts the units of a product that are left, in the database and in Redis. */
#include "stock_sql.h"
#include "store_live_internal.h"

static enum outcome stock_count_in_redis(const struct store *store, const struct product *product,
                                         struct stock_left *left, struct why *why) {
    enum outcome outcome = OUTCOME_OK;

    for (int i = 0; i < store_live_parts(store, product) && outcome == OUTCOME_OK; i++) {
        char tag[TAG_BYTES];
        const struct segment_keys keys = store_live_part(store, product, i, tag, why);
        int64_t unsold, pending;

        outcome = segment_redis_count(&keys, &unsold, &pending);
        left->in_redis += unsold;
        left->pending += pending;
    }
    return outcome;
}

enum outcome store_live_count(struct store *store, const struct product *product,
                              struct stock_left *left, struct why *why) {
    struct stock_count count;
    enum outcome outcome = product_sql_count(store->pool, product->id, &count, why);

    *left = (struct stock_left){.available = 0};
    if (outcome == OUTCOME_OK && product->spec.strategy->prepare != NULL)
        outcome = stock_count_in_redis(store, product, left, why);
    if (outcome == OUTCOME_OK) {
        left->available = count.available - count.loaded + left->in_redis;
        left->returned = count.returned;
    }
    return outcome;
}
