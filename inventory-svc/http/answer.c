/* The one table of what each outcome is in HTTP, and the replies that follow from it. */
#include "answer.h"

#include "log.h"

#include <assert.h>
#include <inttypes.h>

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

int answer_status(enum outcome outcome) {
    return answers[outcome].status;
}

const char *answer_code(enum outcome outcome) {
    return answers[outcome].code;
}

void answer_log(const char *request, const struct selling *selling) {
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

bool answer_sell(struct http_exchange *exchange, struct selling *selling, struct store *store) {
    selling_run(selling, store);
    answer_log(http_request_id(exchange), selling);
    if (selling->is_reply_dropped)
        http_reply_drop(exchange);
    else if (selling->timing[0] != '\0')
        http_reply_header(exchange, "Server-Timing", selling->timing);
    return !selling->is_reply_dropped;
}

void answer_refusal(struct http_exchange *exchange, enum outcome outcome, const char *message) {
    if (answers[outcome].code == NULL)
        outcome = OUTCOME_BUSY; /* a row that others wrote meanwhile: nothing was done */
    if (answers[outcome].status == 503)
        http_reply_header(exchange, "Retry-After", "1");
    http_reply_error(exchange, answers[outcome].status, answers[outcome].code, "%s", message);
}

void answer_write(struct json_line *line, const struct reservation *reservation) {
    json_line_text(line, "order_id", reservation->order_id);
    json_line_text(line, "product_id", reservation->product_id);
    json_line_integer(line, "unit", reservation->unit);
    json_line_integer(line, "remaining", reservation->remaining);
    json_line_text(line, "price", reservation->price);
    json_line_text(line, "instance", reservation->instance);
}

void answer_write_whole(struct json_line *line, const struct reservation *reservation) {
    answer_write(line, reservation);
    json_line_integer(line, "shard", reservation->shard);
    json_line_integer(line, "fence", reservation->fence);
}
