/* The HTTP interface of inventory-svc: the status of each outcome, and a handler for each path. */
#include "handlers.h"

#include "buffer.h"
#include "fiber.h"
#include "json_flat.h"
#include "json_line.h"
#include "log.h"
#include "number.h"
#include "pending.h"
#include "reservation_sql.h"
#include "selling.h"
#include "strategies.h"
#include "utf8.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Replies */

#define ANSWER_BYTES 1024 /* of a whole reservation as JSON, escapes included */

static const struct {
    int status;
    const char *code; /* of the error; NULL when a unit was sold */
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

static void answer_log(const char *request, const struct selling *selling) {
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
                  log_quote(why, sizeof why, selling->why.text));
}

/* Sell, log the outcome, and add the cost to the reply. False when a failpoint wants no reply: the
 * connection is cut. */
static bool answer_sell(struct http_exchange *exchange, struct selling *selling,
                        struct store *store) {
    selling_run(selling, store);
    answer_log(http_request_id(exchange), selling);
    if (selling->is_reply_dropped)
        http_reply_drop(exchange);
    else if (selling->timing[0] != '\0')
        http_reply_header(exchange, "Server-Timing", selling->timing);
    return !selling->is_reply_dropped;
}

/* Nothing was done: reply with the reason, and with Retry-After when another attempt may succeed.
 */
static void answer_refusal(struct http_exchange *exchange, enum outcome outcome,
                           const char *message) {
    if (answers[outcome].code == NULL)
        outcome = OUTCOME_BUSY; /* others wrote the row meanwhile: nothing was done */
    if (answers[outcome].status == 503)
        http_reply_header(exchange, "Retry-After", "1");
    http_reply_error(exchange, answers[outcome].status, answers[outcome].code, "%s", message);
}

/* The members that every reservation has. */
static void answer_write(struct json_line *line, const struct reservation *reservation) {
    json_line_text(line, "order_id", reservation->order_id);
    json_line_text(line, "product_id", reservation->product_id);
    json_line_integer(line, "unit", reservation->unit);
    json_line_integer(line, "remaining", reservation->remaining);
    json_line_text(line, "price", reservation->price);
    json_line_text(line, "instance", reservation->instance);
}

static void answer_write_whole(struct json_line *line, const struct reservation *reservation) {
    answer_write(line, reservation);
    json_line_integer(line, "shard", reservation->shard);
    json_line_integer(line, "fence", reservation->fence);
}

/* ---- The secret that inventory-svc shares with order-svc. Taking units back and reading all of
 * the ledger need it. */

/* Compares in a time that does not reveal how much of a guess was right. */
static bool secret_is_same(const char *given, const char *secret) {
    size_t length = strlen(secret), given_length = strlen(given);
    volatile unsigned char differs = given_length != length;

    assert(length > 0); /* without a secret the caller refuses */
    for (size_t i = 0; i < given_length; i++)
        differs |= (unsigned char)(given[i] ^ secret[i % length]);
    return differs == 0;
}

/* True when the request has `Authorization: Bearer <secret>`. False after a 401. Or after a 403
 * that gives the reason when this instance has no secret ("") and so trusts nobody. */
static bool secret_is_given(struct http_exchange *exchange, const char *secret) {
    static const char scheme[] = "Bearer ";
    const char *given = http_header(exchange, "Authorization");

    if (secret[0] == '\0') {
        http_reply_error(exchange, 403, "no_secret",
                         "this needs a secret, and the instance has none: start it with "
                         "INVENTORY_SVC_SECRET, and order-svc with the same in "
                         "ORDER_SVC_INVENTORY_SECRET");
        return false;
    }
    if (given != NULL && strncmp(given, scheme, strlen(scheme)) == 0 &&
        secret_is_same(given + strlen(scheme), secret))
        return true;
    http_reply_header(exchange, "WWW-Authenticate", "Bearer");
    http_reply_error(exchange, 401, "unauthorized",
                     "this needs Authorization: Bearer and the secret of INVENTORY_SVC_SECRET");
    return false;
}

/* ---- POST /products/{id}/reservations: sell one unit to one order. */

static void reply_sold(struct http_exchange *exchange, const struct selling *selling) {
    char bytes[ANSWER_BYTES];
    struct json_line line = json_line_begin(bytes, sizeof bytes);
    size_t length;

    answer_write_whole(&line, &selling->sold);
    length = json_line_end(&line);
    assert(length > 0);
    http_reply(exchange, answers[selling->outcome].status, "application/json", bytes, length);
}

/* Read the ids of the request, in lower case. False when a 400 or 415 has been sent. */
static bool handlers_read_request(struct http_exchange *exchange, char product_id[UUID_TEXT],
                                  char order_id[UUID_TEXT]) {
    if (uuid_parse(http_path_param(exchange, "id"), product_id) == 0)
        return http_body_uuid(exchange, "order_id", order_id,
                              "\"order_id\" must be a UUID in a string");
    http_reply_error(exchange, 400, "bad_request", "the product id in the path is not a UUID");
    return false;
}

static void on_reserve(struct http_exchange *exchange, void *data) {
    char product_id[UUID_TEXT], order_id[UUID_TEXT];
    struct selling selling = {.product_id = product_id,
                              .order_id = order_id,
                              .may_be_repeat = http_header(exchange, "Idempotency-Key") != NULL};

    if (!handlers_read_request(exchange, product_id, order_id) ||
        !answer_sell(exchange, &selling, data))
        return;
    if (selling.outcome == OUTCOME_SOLD || selling.outcome == OUTCOME_REPEATED)
        reply_sold(exchange, &selling);
    else
        answer_refusal(exchange, selling.outcome, selling.why.text);
}

/* ---- GET|POST /inventory/minusInventory?inventoryId=: the path and the words of the article from
 * which the project started, so that its readers can follow along. */

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
    else if (answer_sell(exchange, &selling, store))
        reply_article(exchange, answers[selling.outcome].status, store->port);
}

/* ---- POST /reservations: sell a unit to each of many orders. Each order has its own fiber and is
 * sold alone. The reply has a line of JSON for each order (NDJSON), written when its sale has
 * ended, so no sale waits for another. An order has no line if a failpoint drops its reply. */

#define ORDERS_MAX 256
#define LINE_BYTES 2048

struct member {
    struct group *group;
    char product_id[UUID_TEXT], order_id[UUID_TEXT];
    bool may_be_repeat;
};

struct group {
    struct http_exchange *exchange;
    struct store *store;
    struct member *members;
    size_t left; /* sales that have not ended */
    struct fiber_event is_over;
};

/* A line that does not fit is left out, and then its order is unknown. */
static void reply_line(struct http_exchange *exchange, const struct selling *selling) {
    const char *code = answers[selling->outcome].code;
    char bytes[LINE_BYTES], message[UTF8_ROOM(sizeof selling->why.text)];
    struct json_line line = json_line_begin(bytes, sizeof bytes - 1);
    size_t length;

    if (code == NULL) {
        answer_write_whole(&line, &selling->sold);
    } else {
        (void)utf8_clean(message, selling->why.text);
        json_line_text(&line, "order_id", selling->order_id);
        json_line_text(&line, "error", code);
        json_line_text(&line, "message", message);
    }
    json_line_integer(&line, "status", answers[selling->outcome].status);
    json_line_text(&line, "timing", selling->timing);
    length = json_line_end(&line);
    if (length == 0)
        return;
    bytes[length] = '\n';
    http_reply_chunk(exchange, bytes, length + 1);
}

static void handlers_end_member(struct group *group) {
    assert(group->left > 0);
    if (--group->left == 0)
        fiber_event_set(&group->is_over);
}

static void sell_one(void *arg) {
    const struct member *member = arg;
    struct group *group = member->group;
    struct selling selling = {.product_id = member->product_id,
                              .order_id = member->order_id,
                              .may_be_repeat = member->may_be_repeat};

    selling_run(&selling, group->store);
    answer_log(http_request_id(group->exchange), &selling);
    if (!selling.is_reply_dropped)
        reply_line(group->exchange, &selling);
    handlers_end_member(group);
}

static void refuse_one(const struct member *member) {
    struct selling selling = {.product_id = member->product_id,
                              .order_id = member->order_id,
                              .outcome = OUTCOME_BUSY,
                              .why = {"out of memory"}};

    reply_line(member->group->exchange, &selling);
    handlers_end_member(member->group);
}

static bool handlers_take_ids(struct group *group, const char *product_id, const char *order_id,
                              bool may_be_repeat) {
    struct member *member = &group->members[group->left];

    assert(group->left < ORDERS_MAX);
    member->group = group;
    member->may_be_repeat = may_be_repeat;
    group->left++;
    return uuid_parse(product_id, member->product_id) == 0 &&
           uuid_parse(order_id, member->order_id) == 0;
}

/* Read the orders as order-svc writes them, without a tree. False: they look different, right or
 * wrong. */
static bool read_plain(struct group *group, const char *at, const char *end) {
    static const char begin[] = "{\"orders\":[", last[] = "]}";
    const size_t begin_length = sizeof begin - 1, last_length = sizeof last - 1;
    struct json_flat order;

    if ((size_t)(end - at) < begin_length || memcmp(at, begin, begin_length) != 0)
        return false;
    at += begin_length - 1;
    do {
        at = json_flat_read_next(&order, at + 1, end);
        if (at == NULL || group->left == ORDERS_MAX ||
            !handlers_take_ids(group, json_flat_text(&order, "product_id"),
                               json_flat_text(&order, "order_id"),
                               json_flat_is_true(&order, "is_repeat")))
            return false;
    } while (at < end && *at == ',');
    return (size_t)(end - at) == last_length && memcmp(at, last, last_length) == 0;
}

/* A bad entry is a bug of the client: then none is sold. False: the reply has been sent. */
static bool read_orders(struct group *group, const json_t *orders) {
    size_t count = json_array_size(orders), i;
    const json_t *order;

    if (count == 0 || count > ORDERS_MAX) {
        http_reply_error(group->exchange, count == 0 ? 400 : 413,
                         count == 0 ? "bad_request" : "too_large",
                         "\"orders\" must be an array of 1 to %d orders", ORDERS_MAX);
        return false;
    }
    json_array_foreach (orders, i, order) {
        if (handlers_take_ids(group, json_string_value(json_object_get(order, "product_id")),
                              json_string_value(json_object_get(order, "order_id")),
                              json_is_true(json_object_get(order, "is_repeat"))))
            continue;
        http_reply_error(group->exchange, 400, "bad_request",
                         "order %zu of %zu: \"order_id\" and \"product_id\" must be UUIDs in "
                         "strings; nothing was sold",
                         i + 1, count);
        return false;
    }
    return true;
}

static bool read_members(struct group *group) {
    size_t length;
    const char *bytes = http_body(group->exchange, &length);
    json_t *body;
    bool are_read;

    if (http_body_is_json(group->exchange) && read_plain(group, bytes, bytes + length))
        return true;
    group->left = 0;
    body = http_body_json(group->exchange);
    are_read = body != NULL && read_orders(group, json_object_get(body, "orders"));
    json_decref(body);
    return are_read;
}

/* Sell to all at once, so that they wait together. */
static void sell_all(struct group *group) {
    assert(group->left > 0); /* else nobody sets is_over */
    for (size_t i = 0, count = group->left; i < count; i++)
        if (fiber_start(sell_one, &group->members[i]) != 0)
            refuse_one(&group->members[i]);
    fiber_event_wait(&group->is_over);
}

static void on_reserve_many(struct http_exchange *exchange, void *data) {
    struct group group = {.exchange = exchange,
                          .store = data,
                          .members = malloc(ORDERS_MAX * sizeof *group.members),
                          .is_over = FIBER_EVENT_INIT};

    if (group.members == NULL)
        answer_refusal(exchange, OUTCOME_BUSY, "out of memory");
    else if (read_members(&group) && http_reply_chunked(exchange, 200, "application/x-ndjson"))
        sell_all(&group);
    free(group.members);
}

/* ---- DELETE /reservations/{order_id}: give a unit back. POST /reservations/confirmations: these
 * can never be cancelled again. GET /reservations: the orders in the ledger, oldest first, for
 * order-svc, which settles reservations with orders. */

#define LIMIT          500
#define LIMIT_MAX      1000
#define OLDER_MS       10000
#define TIME_MAX_MS    INT64_C(100000000000000) /* the year 5138 */
#define OVERLAP_MAX_MS 86400000
#define NO_DEFAULT     -1

/* Read a number of the query, or its default; -1 after a 400. */
static int handlers_read_number(struct http_exchange *exchange, const char *name,
                                int64_t default_value, int64_t least, int64_t most,
                                int64_t *value) {
    const char *text = http_query_param(exchange, name);

    *value = default_value;
    if (text == NULL ? default_value != NO_DEFAULT
                     : number_read_int(text, value) == 0 && *value >= least && *value <= most)
        return 0;
    http_reply_error(exchange, 400, "bad_request", "%s must be %" PRId64 "..%" PRId64, name, least,
                     most);
    return -1;
}

/* The ledger may not have a sale of Redis yet. */
static enum outcome handlers_cancel(struct store *store, const char *order_id, bool *was_there,
                                    char product_id[UUID_TEXT], struct why *why) {
    enum outcome outcome =
        reservation_sql_cancel(store->pool, order_id, was_there, product_id, why);

    if (outcome != OUTCOME_OK || *was_there)
        return outcome;
    outcome = pending_bring(store->pending, order_id, why);
    return outcome == OUTCOME_OK
               ? reservation_sql_cancel(store->pool, order_id, was_there, product_id, why)
               : outcome;
}

static void on_cancel(struct http_exchange *exchange, void *data) {
    struct store *store = data;
    char order_id[UUID_TEXT], product_id[UUID_TEXT];
    struct why why;
    enum outcome outcome;
    bool was_there;

    if (!secret_is_given(exchange, store->secret))
        return;
    if (uuid_parse(http_path_param(exchange, "order_id"), order_id) != 0) {
        http_reply_error(exchange, 400, "bad_request", "the order id in the path is not a UUID");
        return;
    }
    outcome = handlers_cancel(store, order_id, &was_there, product_id, &why);
    if (outcome != OUTCOME_OK) {
        answer_refusal(exchange, outcome, why.text);
    } else if (!was_there) {
        http_reply_error(exchange, 404, "unknown_reservation",
                         "no reservation has this order id, or it was confirmed");
    } else {
        product_note_returned(store->products, product_id);
        http_reply(exchange, 204, NULL, "", 0);
    }
}

/* A cursor is "<microseconds>.<transaction>.<order id>". Older versions made it without the
 * transaction. The first one is made of since_ms. */
static int read_place(struct http_exchange *exchange, struct reservation_place *place) {
    const char *after = http_query_param(exchange, "after");
    int64_t since_ms;
    char *end;

    place->seen_xid = 0;
    if (after == NULL || after[0] == '\0') {
        if (handlers_read_number(exchange, "since_ms", NO_DEFAULT, 0, TIME_MAX_MS, &since_ms) != 0)
            return -1;
        place->reserved_us = since_ms * 1000;
        strcpy(place->order_id, "00000000-0000-0000-0000-000000000000");
        return 0;
    }
    place->reserved_us = strtoll(after, &end, 10);
    if (end != after && *end == '.' && uuid_parse(end + 1, place->order_id) != 0)
        place->seen_xid = strtoll(end + 1, &end, 10);
    if (end != after && *end == '.' && uuid_parse(end + 1, place->order_id) == 0 &&
        place->seen_xid >= 0 && place->reserved_us >= 0 && place->reserved_us <= TIME_MAX_MS * 1000)
        return 0;
    http_reply_error(exchange, 400, "bad_request", "after must be the `next` of an earlier reply");
    return -1;
}

/* False without memory. */
static bool write_reservations(struct buffer *text, const struct reservation *list, size_t count) {
    char bytes[ANSWER_BYTES];
    bool is_well = buffer_append_text(text, "{\"reservations\":[");

    for (size_t i = 0; i < count && is_well; i++) {
        struct json_line line = json_line_begin(bytes, sizeof bytes);
        size_t length;

        answer_write(&line, &list[i]);
        length = json_line_end(&line);
        assert(length > 0);
        is_well = (i == 0 || buffer_append(text, ",", 1)) && buffer_append(text, bytes, length);
    }
    return is_well && buffer_append_text(text, "]}");
}

static void handlers_reply_text(struct http_exchange *exchange, const struct buffer *text,
                                bool is_whole) {
    if (is_whole)
        http_reply(exchange, 200, "application/json", text->bytes, text->length);
    else
        http_reply_json(exchange, 500, NULL);
}

static void on_list_reservations(struct http_exchange *exchange, void *data) {
    struct store *store = data;
    struct reservation_place place;
    int64_t overlap_ms, older_than_ms, limit;
    struct buffer text = {0};
    struct why why = {"out of memory"};
    char end[UUID_TEXT + 60];
    enum outcome outcome = OUTCOME_FAILED;

    if (!secret_is_given(exchange, store->secret))
        return;
    if (read_place(exchange, &place) != 0 ||
        handlers_read_number(exchange, "overlap_ms", 0, 0, OVERLAP_MAX_MS, &overlap_ms) != 0 ||
        handlers_read_number(exchange, "older_than_ms", OLDER_MS, 0, TIME_MAX_MS, &older_than_ms) !=
            0 ||
        handlers_read_number(exchange, "limit", LIMIT, 1, LIMIT_MAX, &limit) != 0)
        return;
    if (buffer_append_text(&text, "{\"order_ids\":"))
        outcome = reservation_sql_list(store->pool, &place, overlap_ms, older_than_ms,
                                       (size_t)limit, &text, &why);
    (void)snprintf(end, sizeof end, ",\"next\":\"%" PRId64 ".%" PRId64 ".%s\"}", place.reserved_us,
                   place.seen_xid, place.order_id);
    if (outcome == OUTCOME_OK)
        handlers_reply_text(exchange, &text, buffer_append_text(&text, end));
    else
        answer_refusal(exchange, outcome, why.text);
    buffer_free(&text);
}

/* The order ids of the body as a JSON array. NULL: the reply has been sent. */
static char *read_order_ids(struct http_exchange *exchange, size_t *count) {
    json_t *body = http_body_json(exchange), *ids = json_object_get(body, "order_ids");
    char order_id[UUID_TEXT], *text = NULL;
    bool is_good;

    if (body == NULL)
        return NULL;
    *count = json_array_size(ids);
    is_good = *count > 0 && *count <= LIMIT_MAX;
    for (size_t i = 0; i < *count && is_good; i++)
        is_good = uuid_parse(json_string_value(json_array_get(ids, i)), order_id) == 0;
    if (is_good)
        text = json_dumps(ids, JSON_COMPACT);
    if (!is_good)
        http_reply_error(exchange, 400, "bad_request", "order_ids must be 1 to %d UUIDs",
                         LIMIT_MAX);
    else if (text == NULL)
        answer_refusal(exchange, OUTCOME_BUSY, "out of memory");
    json_decref(body);
    return text;
}

static void on_confirm(struct http_exchange *exchange, void *data) {
    struct store *store = data;
    struct why why = {"out of memory"};
    char *order_ids;
    enum outcome outcome = OUTCOME_BUSY;
    struct buffer text = {0};
    struct reservation *list;
    size_t count;

    if (!secret_is_given(exchange, store->secret))
        return;
    order_ids = read_order_ids(exchange, &count);
    if (order_ids == NULL)
        return;
    list = calloc(count, sizeof *list);
    if (list != NULL)
        outcome = reservation_sql_confirm(store->pool, order_ids, 0, count, list, &count, &why);
    if (outcome == OUTCOME_OK)
        handlers_reply_text(exchange, &text, write_reservations(&text, list, count));
    else
        answer_refusal(exchange, outcome, why.text);
    buffer_free(&text);
    free(list);
    free(order_ids);
}

/* ---- GET /products/{id}: the units that are left. GET /strategies: the ways to guard the stock.
 */

static json_t *product_json(const struct product *product, const struct stock_left *left,
                            const char *holder) {
    return json_pack("{s:s,s:s,s:s,s:I,s:I,s:I,s:I,s:I,s:s,s:i,s:s?}", "product_id", product->id,
                     "name", product->row.name, "price", product->row.price, "initial_stock",
                     (json_int_t)product->row.initial_stock, "available",
                     (json_int_t)left->available, "returned", (json_int_t)left->returned,
                     "in_redis", (json_int_t)left->in_redis, "pending", (json_int_t)left->pending,
                     "strategy", product->row.strategy, "shards", product->spec.options.shards,
                     "holder", holder[0] != '\0' ? holder : NULL);
}

static void reply_product(struct http_exchange *exchange, struct store *store,
                          struct product *product) {
    struct why why;
    char holder[INSTANCE_BYTES];
    struct stock_left left;
    enum outcome outcome;

    selling_prepare(store, product);
    outcome = store_live_count(store, product, &left, &why);
    if (outcome != OUTCOME_OK) {
        answer_refusal(exchange, outcome, why.text);
        return;
    }
    lock_holder(&store->locks, product, holder);
    http_reply_json(exchange, 200, product_json(product, &left, holder));
}

static void on_show_product(struct http_exchange *exchange, void *data) {
    struct store *store = data;
    char id[UUID_TEXT];
    struct why why;
    struct product *product;
    enum outcome outcome;

    if (uuid_parse(http_path_param(exchange, "id"), id) != 0) {
        http_reply_error(exchange, 400, "bad_request", "the product id in the path is not a UUID");
        return;
    }
    outcome = product_get(store->products, id, &product, &why);
    if (outcome != OUTCOME_OK) {
        answer_refusal(exchange, outcome, why.text);
        return;
    }
    reply_product(exchange, store, product);
    product_put(product);
}

/* The options that the strategy takes, with their default values. */
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

static void on_list_strategies(struct http_exchange *exchange, void *data) {
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

const struct http_route inventory_routes[] = {
    {"POST", "/products/{id}/reservations", on_reserve},
    {"POST", "/reservations", on_reserve_many},
    {"GET", "/products/{id}", on_show_product},
    {"GET", "/strategies", on_list_strategies},
    {"GET", "/reservations", on_list_reservations},
    {"POST", "/reservations/confirmations", on_confirm},
    {"DELETE", "/reservations/{order_id}", on_cancel},
    {"GET", "/inventory/minusInventory", on_minus_inventory},
    {"POST", "/inventory/minusInventory", on_minus_inventory},
    {.method = NULL}};
