/* GET /products/{id}: what is left. GET /strategies: the ways to guard the stock. */
#include "handlers.h"

#include "answer.h"
#include "strategies.h"

#include <stdio.h>

static json_t *product_json(const struct product *product, const struct stock_left *left,
                            const char *holder) {
    json_t *json = json_object();
    int failed = 0;

    failed |= json_object_set_new(json, "product_id", json_string(product->id));
    failed |= json_object_set_new(json, "name", json_string(product->row.name));
    failed |= json_object_set_new(json, "price", json_string(product->row.price));
    failed |= json_object_set_new(json, "initial_stock", json_integer(product->row.initial_stock));
    failed |= json_object_set_new(json, "available", json_integer(left->available));
    failed |= json_object_set_new(json, "returned", json_integer(left->returned));
    failed |= json_object_set_new(json, "in_redis", json_integer(left->in_redis));
    failed |= json_object_set_new(json, "pending", json_integer(left->pending));
    failed |= json_object_set_new(json, "strategy", json_string(product->row.strategy));
    failed |= json_object_set_new(json, "shards", json_integer(product->spec.options.shards));
    failed |=
        json_object_set_new(json, "holder", holder[0] != '\0' ? json_string(holder) : json_null());
    if (failed == 0)
        return json;
    json_decref(json);
    return NULL;
}

static void reply_product(struct http_exchange *exchange, struct store *store,
                          struct product *product) {
    char message[MESSAGE_BYTES], holder[INSTANCE_BYTES];
    struct stock_left left;
    enum outcome outcome;

    selling_prepare(store, product);
    outcome = store_live_count(store, product, &left, message);
    if (outcome != OUTCOME_OK) {
        answer_refusal(exchange, outcome, message);
        return;
    }
    lock_holder(&store->locks, product, holder);
    http_reply_json(exchange, 200, product_json(product, &left, holder));
}

void on_get_product(struct http_exchange *exchange, void *data) {
    struct store *store = data;
    char id[UUID_TEXT], message[MESSAGE_BYTES];
    struct product *product;
    enum outcome outcome;

    if (uuid_parse(http_path_param(exchange, "id"), id) != 0) {
        http_reply_error(exchange, 400, "bad_request", "the product id in the path is no UUID");
        return;
    }
    outcome = product_get(store->products, id, &product, message);
    if (outcome != OUTCOME_OK) {
        answer_refusal(exchange, outcome, message);
        return;
    }
    reply_product(exchange, store, product);
    product_put(product);
}

/* The options that it takes, with the values that they have unless a spec says otherwise. */
static json_t *options_of(const struct strategy *strategy) {
    char options[SPEC_OPTIONS_MAX][SPEC_OPTION_TEXT];
    json_t *array = json_array();
    size_t count = spec_options(strategy, options);

    for (size_t i = 0; i < count; i++)
        if (json_array_append_new(array, json_string(options[i])) != 0) {
            json_decref(array);
            return NULL;
        }
    return array;
}

static json_t *json_of(const struct strategy *strategy) {
    return json_pack("{s:s,s:s,s:s,s:s,s:s,s:s,s:o}", "name", strategy->name, "family",
                     strategy->family, "summary", strategy->summary, "promise", strategy->promise,
                     "breaks", strategy->breaks, "source", strategy->source, "options",
                     options_of(strategy));
}

void on_list_strategies(struct http_exchange *exchange, void *data) {
    json_t *array = json_array();
    int failed = 0;

    (void)data;
    for (const struct strategy *const *at = strategies; *at != NULL; at++)
        failed |= json_array_append_new(array, json_of(*at));
    if (strategies_exercise != NULL)
        failed |= json_array_append_new(array, json_of(strategies_exercise));
    if (failed == 0) {
        http_reply_json(exchange, 200, json_pack("{s:o}", "strategies", array));
    } else {
        json_decref(array);
        http_reply_json(exchange, 200, NULL);
    }
}
