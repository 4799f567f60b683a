/* DELETE /reservations/{order_id}: give a unit back. POST /reservations/confirmations: from now on
 * these are not cancelled. GET /reservations: the orders in the ledger, oldest first, for whoever
 * settles reservations with orders. */
#include "handlers.h"

#include "answer.h"
#include "buffer.h"
#include "number.h"
#include "pending.h"
#include "reservation_sql.h"
#include "secret.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIMIT          500
#define LIMIT_MAX      1000
#define OLDER_MS       10000
#define TIME_MAX_MS    INT64_C(100000000000000) /* the year 5138 */
#define OVERLAP_MAX_MS 86400000
#define NO_DEFAULT     -1

/* A number in the query, or its default; -1 after a 400. */
static int ledger_handlers_read_number(struct http_exchange *exchange, const char *name,
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

/* What Redis sold may not be in the ledger yet. */
static enum outcome ledger_handlers_cancel(struct store *store, const char *order_id,
                                           bool *was_there, char product_id[UUID_TEXT],
                                           char message[MESSAGE_BYTES]) {
    enum outcome outcome =
        reservation_sql_cancel(store->pool, order_id, was_there, product_id, message);

    if (outcome != OUTCOME_OK || *was_there)
        return outcome;
    outcome = pending_bring(store->pending, order_id, message);
    return outcome == OUTCOME_OK
               ? reservation_sql_cancel(store->pool, order_id, was_there, product_id, message)
               : outcome;
}

void on_cancel(struct http_exchange *exchange, void *data) {
    struct store *store = data;
    char order_id[UUID_TEXT], product_id[UUID_TEXT], message[MESSAGE_BYTES];
    enum outcome outcome;
    bool was_there;

    if (!secret_is_given(exchange, store->secret))
        return;
    if (uuid_parse(http_path_param(exchange, "order_id"), order_id) != 0) {
        http_reply_error(exchange, 400, "bad_request", "the order id in the path is no UUID");
        return;
    }
    outcome = ledger_handlers_cancel(store, order_id, &was_there, product_id, message);
    if (outcome != OUTCOME_OK) {
        answer_refusal(exchange, outcome, message);
    } else if (!was_there) {
        http_reply_error(exchange, 404, "unknown_reservation",
                         "no reservation has this order id, or it was confirmed");
    } else {
        product_note_returned(store->products, product_id);
        http_reply(exchange, 204, NULL, "", 0);
    }
}

/* A cursor is "<microseconds>.<transaction>.<order id>" (without the transaction, it is of an older
 * version); the first one is made of since_ms. */
static int read_place(struct http_exchange *exchange, struct reservation_place *place) {
    const char *after = http_query_param(exchange, "after");
    int64_t since_ms;
    char *end;

    place->seen_xid = 0;
    if (after == NULL || after[0] == '\0') {
        if (ledger_handlers_read_number(exchange, "since_ms", NO_DEFAULT, 0, TIME_MAX_MS,
                                        &since_ms) != 0)
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

static void ledger_handlers_reply_text(struct http_exchange *exchange, const struct buffer *text,
                                       bool is_whole) {
    if (is_whole)
        http_reply(exchange, 200, "application/json", text->bytes, text->length);
    else
        http_reply_json(exchange, 500, NULL);
}

void on_list_reservations(struct http_exchange *exchange, void *data) {
    struct store *store = data;
    struct reservation_place place;
    int64_t overlap_ms, older_than_ms, limit;
    struct buffer text = {0};
    char message[MESSAGE_BYTES] = "out of memory", end[UUID_TEXT + 60];
    enum outcome outcome = OUTCOME_FAILED;

    if (!secret_is_given(exchange, store->secret))
        return;
    if (read_place(exchange, &place) != 0 ||
        ledger_handlers_read_number(exchange, "overlap_ms", 0, 0, OVERLAP_MAX_MS, &overlap_ms) !=
            0 ||
        ledger_handlers_read_number(exchange, "older_than_ms", OLDER_MS, 0, TIME_MAX_MS,
                                    &older_than_ms) != 0 ||
        ledger_handlers_read_number(exchange, "limit", LIMIT, 1, LIMIT_MAX, &limit) != 0)
        return;
    if (buffer_append_text(&text, "{\"order_ids\":"))
        outcome = reservation_sql_list(store->pool, &place, overlap_ms, older_than_ms,
                                       (size_t)limit, &text, message);
    (void)snprintf(end, sizeof end, ",\"next\":\"%" PRId64 ".%" PRId64 ".%s\"}", place.reserved_us,
                   place.seen_xid, place.order_id);
    if (outcome == OUTCOME_OK)
        ledger_handlers_reply_text(exchange, &text, buffer_append_text(&text, end));
    else
        answer_refusal(exchange, outcome, message);
    buffer_free(&text);
}

/* The order ids of the body as a JSON array; or NULL, and then the reply has been sent. */
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

void on_confirm(struct http_exchange *exchange, void *data) {
    struct store *store = data;
    char message[MESSAGE_BYTES] = "out of memory", *order_ids;
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
        outcome = reservation_sql_confirm(store->pool, order_ids, 0, count, list, &count, message);
    if (outcome == OUTCOME_OK)
        ledger_handlers_reply_text(exchange, &text, write_reservations(&text, list, count));
    else
        answer_refusal(exchange, outcome, message);
    buffer_free(&text);
    free(list);
    free(order_ids);
}
