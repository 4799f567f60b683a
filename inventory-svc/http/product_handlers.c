/* GET /products/{id}: what is left. GET /strategies: the ways to guard the stock. */
#include "inventory.h"

#include <stdio.h>

static void reply_product(struct http_exchange *exchange, struct inventory *inventory,
                          const struct product *product) {
    char message[MESSAGE_BYTES], holder[INSTANCE_BYTES];
    struct stock_count count;
    enum outcome outcome = product_sql_count(inventory->store.pool, product->id, &count, message);

    if (outcome != OUTCOME_OK) {
        reply_not_done(exchange, outcome, message);
        return;
    }
    store_live_holder(&inventory->store, product, holder);
    http_reply_json(exchange, 200,
                    json_pack("{s:s,s:s,s:s,s:I,s:I,s:I,s:s,s:i,s:s?}", "product_id", product->id,
                              "name", product->row.name, "price", product->row.price,
                              "initial_stock", (json_int_t)product->row.initial_stock, "available",
                              (json_int_t)count.available, "returned", (json_int_t)count.returned,
                              "strategy", product->row.strategy, "shards",
                              product->spec.options.shards, "holder",
                              holder[0] != '\0' ? holder : NULL));
}

void on_get_product(struct http_exchange *exchange, void *data) {
    struct inventory *inventory = data;
    char id[UUID_TEXT], message[MESSAGE_BYTES];
    struct product *product;
    enum outcome outcome;

    if (uuid_parse(http_path_param(exchange, "id"), id) != 0) {
        http_reply_error(exchange, 400, "bad_request", "the product id in the path is no UUID");
        return;
    }
    outcome = product_get(inventory->products, id, &product, message);
    if (outcome != OUTCOME_OK) {
        reply_not_done(exchange, outcome == OUTCOME_UNKNOWN ? OUTCOME_BUSY : outcome, message);
        return;
    }
    if (product == NULL) {
        http_reply_error(exchange, 404, "unknown_product", "no product has this id");
        return;
    }
    if (product->spec.strategy == NULL)
        http_reply_error(exchange, 422, "bad_strategy", "%s", product->why);
    else
        reply_product(exchange, inventory, product);
    product_put(product);
}

static json_t *json_of(const struct strategy *strategy) {
    char shards[24];

    (void)snprintf(shards, sizeof shards, "shards=%d", strategy->default_shards);
    return json_pack("{s:s,s:s,s:s,s:[s,s,s,s,s]}", "name", strategy->name, "summary",
                     strategy->summary, "promise", strategy->promise, "options", "work=0ms",
                     "wait=5s", "ttl=10s", shards, "fail=");
}

void on_list_strategies(struct http_exchange *exchange, void *data) {
    json_t *array = json_array();
    int failed = array == NULL;

    (void)data;
    for (const struct strategy *const *at = strategies; *at != NULL && !failed; at++)
        failed = json_array_append_new(array, json_of(*at));
    if (failed) {
        json_decref(array);
        array = NULL;
    }
    http_reply_json(exchange, 200, array != NULL ? json_pack("{s:o}", "strategies", array) : NULL);
}
