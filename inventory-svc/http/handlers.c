/* Each endpoint: read the request, do it, answer. */
#include "handlers.h"

#include "log.h"
#include "selling.h"
#include "settings.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIMIT       500
#define LIMIT_MAX   1000
#define OLDER_MS    10000
#define TIME_MAX_MS INT64_C(100000000000000) /* the year 5138 */
#define NO_DEFAULT  -1

/* What each outcome is in HTTP. */
static const struct {
    int status;
    const char *code; /* of the error; NULL when there is a unit */
} answers[] = {
    [OUTCOME_SOLD] = {201, NULL},
    [OUTCOME_REPEATED] = {200, NULL},
    [OUTCOME_UNKNOWN_PRODUCT] = {404, "unknown_product"},
    [OUTCOME_SOLD_OUT] = {409, "sold_out"},
    [OUTCOME_BAD_STRATEGY] = {422, "bad_strategy"},
    [OUTCOME_KEY_REUSED] = {422, "key_reused"},
    [OUTCOME_FAILED] = {500, "failed"},
    [OUTCOME_BUSY] = {503, "busy"},
    [OUTCOME_CONFLICT] = {503, "busy"},
    [OUTCOME_UNKNOWN] = {504, "unknown"},
};

/* An id in the path, in lower case: 0, or -1 after a 400. */
static int read_id(struct http_exchange *exchange, const char *param, const char *what,
                   char id[UUID_TEXT]) {
    int result = uuid_parse(http_path_param(exchange, param), id);

    if (result != 0)
        http_reply_error(exchange, 400, "bad_request", "the %s id in the path is no UUID", what);
    return result;
}

/* A number in the query, or its default; -1 after a 400. */
static int read_number(struct http_exchange *exchange, const char *name, int64_t default_value,
                       int64_t least, int64_t most, int64_t *value) {
    const char *text = http_query_param(exchange, name);

    *value = default_value;
    if (text == NULL ? default_value != NO_DEFAULT
                     : settings_parse_int(text, value) == 0 && *value >= least && *value <= most)
        return 0;
    http_reply_error(exchange, 400, "bad_request", "%s must be %" PRId64 "..%" PRId64, name, least,
                     most);
    return -1;
}

/* Reply that nothing was done, and why: with Retry-After when it is worth another attempt. */
static void refuse(struct http_exchange *exchange, enum outcome outcome, const char *message) {
    if (answers[outcome].code == NULL)
        outcome = OUTCOME_BUSY; /* a row that others wrote meanwhile: nothing was done */
    if (answers[outcome].status == 503)
        http_reply_header(exchange, "Retry-After", "1");
    http_reply_error(exchange, answers[outcome].status, answers[outcome].code, "%s", message);
}

/* NULL when a part of it could not be made. */
static json_t *whole(json_t *json, int failed) {
    if (failed == 0)
        return json;
    json_decref(json);
    return NULL;
}

/* With `shard` and `fence` when it is full. NULL without memory. */
static json_t *reservation_json(const struct reservation *reservation, bool is_full) {
    json_t *json = json_object();
    int failed = 0;

    failed |= json_object_set_new(json, "order_id", json_string(reservation->order_id));
    failed |= json_object_set_new(json, "product_id", json_string(reservation->product_id));
    failed |= json_object_set_new(json, "unit", json_integer(reservation->unit));
    if (is_full)
        failed |= json_object_set_new(json, "shard", json_integer(reservation->shard));
    failed |= json_object_set_new(json, "remaining", json_integer(reservation->remaining));
    failed |= json_object_set_new(json, "price", json_string(reservation->price));
    failed |= json_object_set_new(json, "instance", json_string(reservation->instance));
    if (is_full)
        failed |= json_object_set_new(json, "fence", json_integer(reservation->fence));
    return whole(json, failed);
}

static void log_sale(const char *request, const struct selling *selling) {
    int status = answers[selling->outcome].status;
    char why[400];

    assert(selling->outcome != OUTCOME_OK);
    if (answers[selling->outcome].code == NULL)
        log_debug("sold", "request=%s order=%s product=%s unit=%" PRId64, request,
                  selling->order_id, selling->product_id, selling->sold.unit);
    else
        log_write(status == 500 || status == 504 ? LOG_WARN : LOG_DEBUG, "not sold",
                  "request=%s order=%s product=%s status=%d code=%s why=%s", request,
                  selling->order_id, selling->product_id, status, answers[selling->outcome].code,
                  log_quote(why, sizeof why, selling->message));
}

/* Sell, log how that ended, and add what it cost to the reply that is to be sent. False when a
 * failpoint wanted none: the connection is cut. */
static bool sell(struct http_exchange *exchange, struct selling *selling, struct store *store) {
    selling_run(selling, store);
    log_sale(http_request_id(exchange), selling);
    if (selling->is_reply_dropped)
        http_reply_drop(exchange);
    else if (selling->timing[0] != '\0')
        http_reply_header(exchange, "Server-Timing", selling->timing);
    return !selling->is_reply_dropped;
}

static void reply_sold(struct http_exchange *exchange, const struct selling *selling) {
    json_t *body = reservation_json(&selling->sold, true);

    if (body != NULL)
        http_reply_json(exchange, answers[selling->outcome].status, body);
    else /* and not 500, which says that nothing was sold */
        http_reply_error(exchange, 504, "unknown", "sold, but out of memory for the reply");
}

/* The ids of the request in lower case: 0, or -1 after a 400 or 415. */
static int read_sale(struct http_exchange *exchange, char product_id[UUID_TEXT],
                     char order_id[UUID_TEXT]) {
    json_t *body;
    int result;

    if (read_id(exchange, "id", "product", product_id) != 0)
        return -1;
    body = http_body_json(exchange);
    if (body == NULL)
        return -1;
    result = uuid_parse(json_string_value(json_object_get(body, "order_id")), order_id);
    if (result != 0)
        http_reply_error(exchange, 400, "bad_request", "\"order_id\" must be a UUID in a string");
    json_decref(body);
    return result;
}

/* Sell one unit to one order. */
static void on_reserve(struct http_exchange *exchange, void *data) {
    char product_id[UUID_TEXT], order_id[UUID_TEXT];
    struct selling selling = {.product_id = product_id,
                              .order_id = order_id,
                              .may_be_repeat = http_header(exchange, "Idempotency-Key") != NULL};

    if (read_sale(exchange, product_id, order_id) != 0 || !sell(exchange, &selling, data))
        return;
    if (selling.outcome == OUTCOME_SOLD || selling.outcome == OUTCOME_REPEATED)
        reply_sold(exchange, &selling);
    else
        refuse(exchange, selling.outcome, selling.message);
}

/* The words of the article that the project started from, so that its readers can follow along. */
static void reply_article(struct http_exchange *exchange, int status, int port) {
    const bool is_sold = status == 200 || status == 201;
    char text[96];

    if (status == 409)
        (void)snprintf(text, sizeof text, "库存不足，请联系卖家....");
    else if (status == 503)
        (void)snprintf(text, sizeof text, "服务器繁忙...请稍后重试！！！");
    else
        (void)snprintf(text, sizeof text, "端口：%d,库存扣减%s！！！", port,
                       is_sold ? "成功" : "失败");
    if (status == 503)
        http_reply_header(exchange, "Retry-After", "1");
    http_reply(exchange, is_sold ? 200 : status, "text/plain; charset=utf-8", text, strlen(text));
}

static void on_minus_inventory(struct http_exchange *exchange, void *data) {
    struct store *store = data;
    char product_id[UUID_TEXT], order_id[UUID_TEXT];
    struct selling selling = {.product_id = product_id, .order_id = order_id};

    uuid_v7(order_id);
    if (uuid_parse(http_query_param(exchange, "inventoryId"), product_id) != 0)
        reply_article(exchange, 400, store->port);
    else if (sell(exchange, &selling, store))
        reply_article(exchange, answers[selling.outcome].status, store->port);
}

/* Give a unit back. */
static void on_cancel(struct http_exchange *exchange, void *data) {
    struct store *store = data;
    char order_id[UUID_TEXT], product_id[UUID_TEXT], message[MESSAGE_BYTES];
    int64_t younger_than_ms;
    enum outcome outcome;
    bool was_there;

    if (read_id(exchange, "order_id", "order", order_id) != 0 ||
        read_number(exchange, "younger_than_ms", TIME_MAX_MS, 0, TIME_MAX_MS, &younger_than_ms) !=
            0)
        return;
    outcome = reservation_sql_cancel(store->pool, order_id, younger_than_ms, &was_there, product_id,
                                     message);
    if (outcome != OUTCOME_OK) {
        refuse(exchange, outcome, message);
    } else if (!was_there) {
        http_reply_error(exchange, 404, "unknown_reservation",
                         "no reservation has this order id, or it is too old to be cancelled");
    } else {
        product_note_returned(store->products, product_id);
        http_reply(exchange, 204, NULL, "", 0);
    }
}

/* A cursor is "<microseconds>.<order id>"; the first one is made of since_ms. */
static int read_place(struct http_exchange *exchange, struct reservation_place *place) {
    const char *after = http_query_param(exchange, "after");
    int64_t since_ms;
    char *end;

    if (after == NULL || after[0] == '\0') {
        if (read_number(exchange, "since_ms", NO_DEFAULT, 0, TIME_MAX_MS, &since_ms) != 0)
            return -1;
        place->reserved_us = since_ms * 1000;
        strcpy(place->order_id, "00000000-0000-0000-0000-000000000000");
        return 0;
    }
    place->reserved_us = strtoll(after, &end, 10);
    if (end != after && *end == '.' && uuid_parse(end + 1, place->order_id) == 0 &&
        place->reserved_us >= 0 && place->reserved_us <= TIME_MAX_MS * 1000)
        return 0;
    http_reply_error(exchange, 400, "bad_request", "after must be the `next` of an earlier reply");
    return -1;
}

/* NULL without memory. */
static json_t *page_json(const struct reservation *list, size_t count,
                         const struct reservation_place *next) {
    json_t *array = json_array();
    char cursor[UUID_TEXT + 24];
    int failed = 0;

    for (size_t i = 0; i < count && failed == 0; i++)
        failed = json_array_append_new(array, reservation_json(&list[i], false));
    (void)snprintf(cursor, sizeof cursor, "%" PRId64 ".%s", next->reserved_us, next->order_id);
    return json_pack("{s:o,s:s}", "reservations", whole(array, failed), "next", cursor);
}

/* The ledger, oldest first, for whoever settles reservations with orders. */
static void on_list_reservations(struct http_exchange *exchange, void *data) {
    struct store *store = data;
    struct reservation_place place;
    int64_t older_than_ms, limit;
    struct reservation *list;
    char message[MESSAGE_BYTES] = "out of memory";
    enum outcome outcome = OUTCOME_FAILED;
    size_t count;

    if (read_place(exchange, &place) != 0 ||
        read_number(exchange, "older_than_ms", OLDER_MS, 0, TIME_MAX_MS, &older_than_ms) != 0 ||
        read_number(exchange, "limit", LIMIT, 1, LIMIT_MAX, &limit) != 0)
        return;
    list = calloc((size_t)limit, sizeof *list);
    if (list != NULL)
        outcome = reservation_sql_list(store->pool, &place, older_than_ms, (size_t)limit, list,
                                       &count, message);
    if (outcome == OUTCOME_OK)
        http_reply_json(exchange, 200, page_json(list, count, &place));
    else
        refuse(exchange, outcome, message);
    free(list);
}

static json_t *product_json(const struct product *product, const struct stock_count *count,
                            const char *holder) {
    json_t *json = json_object();
    int failed = 0;

    failed |= json_object_set_new(json, "product_id", json_string(product->id));
    failed |= json_object_set_new(json, "name", json_string(product->row.name));
    failed |= json_object_set_new(json, "price", json_string(product->row.price));
    failed |= json_object_set_new(json, "initial_stock", json_integer(product->row.initial_stock));
    failed |= json_object_set_new(json, "available", json_integer(count->available));
    failed |= json_object_set_new(json, "returned", json_integer(count->returned));
    failed |= json_object_set_new(json, "strategy", json_string(product->row.strategy));
    failed |= json_object_set_new(json, "shards", json_integer(product->spec.options.shards));
    failed |=
        json_object_set_new(json, "holder", holder[0] != '\0' ? json_string(holder) : json_null());
    return whole(json, failed);
}

static void on_get_product(struct http_exchange *exchange, void *data) {
    struct store *store = data;
    char id[UUID_TEXT], message[MESSAGE_BYTES], holder[INSTANCE_BYTES];
    struct product *product;
    struct stock_count count;
    enum outcome outcome;

    if (read_id(exchange, "id", "product", id) != 0)
        return;
    outcome = product_get(store->products, id, &product, message);
    if (outcome == OUTCOME_OK)
        outcome = product_sql_count(store->pool, id, &count, message);
    if (outcome == OUTCOME_OK) {
        store_live_holder(store, product, holder);
        http_reply_json(exchange, 200, product_json(product, &count, holder));
    } else {
        refuse(exchange, outcome, message);
    }
    if (product != NULL)
        product_put(product);
}

static json_t *strategy_json(const struct strategy *strategy) {
    char shards[24];

    (void)snprintf(shards, sizeof shards, "shards=%d", strategy->default_shards);
    return json_pack("{s:s,s:s,s:s,s:[s,s,s,s,s]}", "name", strategy->name, "summary",
                     strategy->summary, "promise", strategy->promise, "options", "work=0ms",
                     "wait=5s", "ttl=10s", shards, "fail=");
}

/* The ways to guard the stock. */
static void on_list_strategies(struct http_exchange *exchange, void *data) {
    json_t *array = json_array();
    int failed = 0;

    (void)data;
    for (const struct strategy *const *at = strategies; *at != NULL; at++)
        failed |= json_array_append_new(array, strategy_json(*at));
    http_reply_json(exchange, 200, json_pack("{s:o}", "strategies", whole(array, failed)));
}

const struct http_route inventory_routes[] = {
    {"POST", "/products/{id}/reservations", on_reserve},
    {"GET", "/products/{id}", on_get_product},
    {"GET", "/strategies", on_list_strategies},
    {"GET", "/reservations", on_list_reservations},
    {"DELETE", "/reservations/{order_id}", on_cancel},
    {"GET", "/inventory/minusInventory", on_minus_inventory},
    {"POST", "/inventory/minusInventory", on_minus_inventory},
    {.method = NULL}};
