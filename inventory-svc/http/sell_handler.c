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

/* The ids of the request in lower case. False when a 400 or 415 has been sent. */
static bool sell_handler_read_request(struct http_exchange *exchange, char product_id[UUID_TEXT],
                                      char order_id[UUID_TEXT]) {
    if (uuid_parse(http_path_param(exchange, "id"), product_id) == 0)
        return http_body_uuid(exchange, "order_id", order_id,
                              "\"order_id\" must be a UUID in a string");
    http_reply_error(exchange, 400, "bad_request", "the product id in the path is no UUID");
    return false;
}

void on_reserve(struct http_exchange *exchange, void *data) {
    char product_id[UUID_TEXT], order_id[UUID_TEXT];
    struct selling selling = {.product_id = product_id,
                              .order_id = order_id,
                              .may_be_repeat = http_header(exchange, "Idempotency-Key") != NULL};

    if (!sell_handler_read_request(exchange, product_id, order_id) ||
        !answer_sell(exchange, &selling, data))
        return;
    if (selling.outcome == OUTCOME_SOLD || selling.outcome == OUTCOME_REPEATED)
        reply_sold(exchange, &selling);
    else
        answer_refusal(exchange, selling.outcome, selling.message);
}
