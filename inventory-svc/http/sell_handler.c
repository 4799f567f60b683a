/* POST /products/{id}/reservations: sell one unit to one order. */
#include "selling.h"

#include <string.h>

void reply_not_done(struct http_exchange *exchange, enum outcome outcome, const char *message) {
    if (outcome == OUTCOME_FAILED) {
        http_reply_error(exchange, 500, "failed", "%s", message);
    } else if (outcome == OUTCOME_UNKNOWN) {
        http_reply_error(exchange, 504, "unknown", "%s", message);
    } else {
        http_reply_header(exchange, "Retry-After", "1");
        http_reply_error(exchange, 503, "busy", "%s", message);
    }
}

static json_t *json_of(const struct reservation *sold) {
    return json_pack("{s:s,s:s,s:I,s:i,s:I,s:s,s:s,s:I}", "order_id", sold->order_id, "product_id",
                     sold->product_id, "unit", (json_int_t)sold->unit, "shard", sold->shard,
                     "remaining", (json_int_t)sold->remaining, "price", sold->price, "instance",
                     sold->instance, "fence", (json_int_t)sold->fence);
}

static void reply_sold(struct http_exchange *exchange, const struct selling *selling) {
    json_t *body = json_of(&selling->sold);

    if (body != NULL)
        http_reply_json(exchange, selling->status, body);
    else /* and not 500, which says that nothing was sold */
        http_reply_error(exchange, 504, "unknown", "sold, but out of memory for the reply");
}

static void reply(struct http_exchange *exchange, const struct selling *selling) {
    if (selling->is_reply_dropped) {
        http_reply_drop(exchange);
        return;
    }
    selling_tell_cost(selling, exchange);
    if (selling->status == 503)
        http_reply_header(exchange, "Retry-After", "1");
    if (selling->code != NULL)
        http_reply_error(exchange, selling->status, selling->code, "%s", selling->message);
    else
        reply_sold(exchange, selling);
}

/* The ids of the request in lower case: 0, or -1 after a 400 or 415. */
static int read_request(struct http_exchange *exchange, char product_id[UUID_TEXT],
                        char order_id[UUID_TEXT]) {
    json_t *body;
    int result;

    if (uuid_parse(http_path_param(exchange, "id"), product_id) != 0) {
        http_reply_error(exchange, 400, "bad_request", "the product id in the path is no UUID");
        return -1;
    }
    body = http_body_json(exchange);
    if (body == NULL)
        return -1;
    result = uuid_parse(json_string_value(json_object_get(body, "order_id")), order_id);
    if (result != 0)
        http_reply_error(exchange, 400, "bad_request", "\"order_id\" must be a UUID in a string");
    json_decref(body);
    return result;
}

void on_reserve(struct http_exchange *exchange, void *data) {
    char product_id[UUID_TEXT], order_id[UUID_TEXT];
    struct selling selling = {.product_id = product_id, .order_id = order_id};

    if (read_request(exchange, product_id, order_id) != 0)
        return;
    selling.request_id = http_request_id(exchange);
    selling.may_be_repeat = http_header(exchange, "Idempotency-Key") != NULL;
    selling_run(&selling, data);
    reply(exchange, &selling);
}
