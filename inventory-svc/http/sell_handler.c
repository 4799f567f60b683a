/* POST /products/{id}/reservations: sell one unit to one order. */
#include "handlers.h"

#include "answer.h"

#include <assert.h>

static void reply_sold(struct http_exchange *exchange, const struct selling *selling) {
    char bytes[ANSWER_BYTES];
    struct json_line line = json_line_begin(bytes, sizeof bytes);
    size_t length;

    answer_write_whole(&line, &selling->sold);
    length = json_line_end(&line);
    assert(length > 0);
    http_reply(exchange, answer_status(selling->outcome), "application/json", bytes, length);
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
    struct selling selling = {.product_id = product_id,
                              .order_id = order_id,
                              .may_be_repeat = http_header(exchange, "Idempotency-Key") != NULL};

    if (read_request(exchange, product_id, order_id) != 0 || !answer_sell(exchange, &selling, data))
        return;
    if (selling.outcome == OUTCOME_SOLD || selling.outcome == OUTCOME_REPEATED)
        reply_sold(exchange, &selling);
    else
        answer_refusal(exchange, selling.outcome, selling.message);
}
