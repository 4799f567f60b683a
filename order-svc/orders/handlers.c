/* Each endpoint: read the request, do it, answer. */
#include "handlers.h"

#include "clock.h"
#include "json_line.h"
#include "log.h"
#include "order.h"
#include "uuid.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define ARTICLE_PRODUCT "82391173-9dbc-49b6-821b-746a11dbbe5e"
#define QUERY_MS        3000
#define ORDER_BYTES     1024 /* of an order as JSON: its fields are bounded, escapes included */

static void reply_order(struct http_exchange *exchange, int status, const struct order *order) {
    char bytes[ORDER_BYTES];
    struct json_line line = json_line_begin(bytes, sizeof bytes);
    size_t length;

    json_line_text(&line, "order_id", order->order_id);
    json_line_text(&line, "product_id", order->product_id);
    json_line_integer(&line, "unit", order->unit);
    json_line_integer(&line, "remaining", order->remaining);
    json_line_text(&line, "price", order->price);
    json_line_text(&line, "instance", order->instance);
    length = json_line_end(&line);
    assert(length > 0);
    http_reply(exchange, status, "application/json", bytes, length);
}

/* Set the order id: the customer's key, or one of ours. False when a 400 has been sent. */
static bool take_key(struct http_exchange *exchange, struct placement *placement) {
    const char *key = http_header(exchange, "idempotency-key");

    placement->is_key_given = key != NULL;
    if (key == NULL)
        uuid_v7(placement->order.order_id);
    if (key == NULL || uuid_parse(key, placement->order.order_id) == 0)
        return true;
    http_reply_error(exchange, 400, "bad_request",
                     "Idempotency-Key must be a UUID, such as "
                     "0190b2a8-7f00-7000-8000-000000000001");
    return false;
}

static bool handlers_is_sold(const struct placement *placement) {
    return placement->outcome == ORDER_PLACED || placement->outcome == ORDER_REPEATED;
}

static void reply_headers(struct http_exchange *exchange, const struct placement *placement) {
    char location[sizeof "/orders/" + UUID_TEXT];

    http_reply_header(exchange, "Order-Id", placement->order.order_id);
    if (handlers_is_sold(placement)) {
        (void)stpcpy(stpcpy(location, "/orders/"), placement->order.order_id);
        http_reply_header(exchange, "Location", location);
    }
    if (placement->outcome == ORDER_REPEATED)
        http_reply_header(exchange, "Idempotent-Replay", "true");
    if (placement->outcome == ORDER_BUSY)
        http_reply_header(exchange, "Retry-After", "1");
    if (placement->timing[0] != '\0')
        http_reply_header(exchange, "Server-Timing", placement->timing);
}

/* Reply with the order id, so a customer without a key can find the order in the ledger. */
static void reply_refusal(struct http_exchange *exchange, const struct placement *placement) {
    json_t *body = json_pack("{s:s, s:s, s:s}", "error", placement->error, "message",
                             placement->message, "order_id", placement->order.order_id);

    if (body != NULL)
        http_reply_json(exchange, placement->status, body);
    else
        http_reply_error(exchange, placement->status, placement->error, "%s", placement->message);
}

static void on_post_order(struct http_exchange *exchange, void *data) {
    struct placement placement = {0};

    if (!take_key(exchange, &placement) ||
        !http_body_uuid(exchange, "product_id", placement.order.product_id,
                        "the body must be {\"product_id\": \"<uuid>\"}"))
        return;
    order_place(data, &placement);
    reply_headers(exchange, &placement);
    if (handlers_is_sold(&placement))
        reply_order(exchange, placement.status, &placement.order);
    else
        reply_refusal(exchange, &placement);
}

/* The article's placeAnOrder: no body, one product, an answer in words. */
static void on_article_order(struct http_exchange *exchange, void *data) {
    struct placement placement = {0};
    const char *product = http_query_param(exchange, "inventoryId");
    const char *text;

    if (uuid_parse(product != NULL ? product : ARTICLE_PRODUCT, placement.order.product_id) != 0) {
        http_reply_error(exchange, 400, "bad_request", "inventoryId must be a UUID");
        return;
    }
    if (!take_key(exchange, &placement))
        return;
    order_place(data, &placement);
    reply_headers(exchange, &placement);
    text = handlers_is_sold(&placement) ? "下单成功....\n" : "下单失败....\n";
    http_reply(exchange, handlers_is_sold(&placement) ? 200 : placement.status,
               "text/plain; charset=utf-8", text, strlen(text));
}

/* Only the log gets libpq's reason, because it may name host, port and user. */
static void reply_without_database(struct http_exchange *exchange, const char *order_id,
                                   const char *why) {
    char quoted[400];

    log_warn("orders database failed", "order=%s why=%s", order_id,
             log_quote(quoted, sizeof quoted, why));
    http_reply_error(exchange, 503, "busy", "the orders database cannot be reached");
}

static void on_get_order(struct http_exchange *exchange, void *data) {
    struct order_svc *svc = data;
    struct order order;
    char order_id[UUID_TEXT], why[PG_MESSAGE_BYTES];
    bool is_found;

    if (uuid_parse(http_path_param(exchange, "id"), order_id) != 0)
        http_reply_error(exchange, 400, "bad_request", "the order id in the path is not a UUID");
    else if (order_find(svc->pool, order_id, clock_now_ms() + QUERY_MS, &order, &is_found, why) !=
             PG_OK)
        reply_without_database(exchange, order_id, why);
    else if (!is_found)
        http_reply_error(exchange, 404, "unknown_order", "no order has the id %s", order_id);
    else
        reply_order(exchange, 200, &order);
}

/* Can inventory-svc mean this status? It is one of a yes or of a refusal. */
static bool is_answer(const struct inventory_answer *answer) {
    return answer->outcome == HTTP_CALL_ANSWERED && answer->body != NULL &&
           (answer->status == 200 || (answer->status >= 400 && answer->status < 600));
}

/* Ask an inventory instance and pass its answer on. */
static void relay(struct http_exchange *exchange, struct order_svc *svc, const char *target) {
    struct inventory_answer answer;

    inventory_call(svc->inventory, "GET", target, NULL, NULL, clock_now_ms() + QUERY_MS, &answer);
    if (is_answer(&answer))
        http_reply_json(exchange, answer.status, json_incref(answer.body));
    else
        http_reply_error(exchange, 503, "busy", "no inventory instance answered: %s",
                         answer.message[0] != '\0' ? answer.message : "the reply is not JSON");
    json_decref(answer.body);
}

static void on_get_product(struct http_exchange *exchange, void *data) {
    char product_id[UUID_TEXT], target[64];

    if (uuid_parse(http_path_param(exchange, "id"), product_id) != 0) {
        http_reply_error(exchange, 400, "bad_request", "the product id in the path is not a UUID");
        return;
    }
    snprintf(target, sizeof target, "/products/%s", product_id);
    relay(exchange, data, target);
}

static void on_get_strategies(struct http_exchange *exchange, void *data) {
    relay(exchange, data, "/strategies");
}

const struct http_route order_routes[] = {
    {"POST", "/orders", on_post_order},
    {"GET", "/orders/{id}", on_get_order},
    {"GET", "/products/{id}", on_get_product},
    {"GET", "/strategies", on_get_strategies},
    {"GET", "/order/placeAnOrder", on_article_order},
    {"POST", "/order/placeAnOrder", on_article_order},
    {NULL, NULL, NULL},
};
