/* DELETE /reservations/{order_id}: give a unit back. GET /reservations: the ledger, oldest first,
 * for whoever settles reservations with orders. */
#include "handlers.h"

#include "answer.h"
#include "reservation_sql.h"
#include "settings.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIMIT       500
#define LIMIT_MAX   1000
#define OLDER_MS    10000
#define TIME_MAX_MS INT64_C(100000000000000) /* the year 5138 */
#define NO_DEFAULT  -1

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

void on_cancel(struct http_exchange *exchange, void *data) {
    struct store *store = data;
    char order_id[UUID_TEXT], product_id[UUID_TEXT], message[MESSAGE_BYTES];
    int64_t younger_than_ms;
    enum outcome outcome;
    bool was_there;

    if (uuid_parse(http_path_param(exchange, "order_id"), order_id) != 0) {
        http_reply_error(exchange, 400, "bad_request", "the order id in the path is no UUID");
        return;
    }
    if (read_number(exchange, "younger_than_ms", TIME_MAX_MS, 0, TIME_MAX_MS, &younger_than_ms))
        return;
    outcome = reservation_sql_cancel(store->pool, order_id, younger_than_ms, &was_there, product_id,
                                     message);
    if (outcome != OUTCOME_OK) {
        answer_refusal(exchange, outcome, message);
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
static json_t *json_of(const struct reservation *list, size_t count,
                       const struct reservation_place *next) {
    json_t *array = json_array();
    char cursor[UUID_TEXT + 24];
    int failed = 0;

    for (size_t i = 0; i < count && failed == 0; i++)
        failed = json_array_append_new(array, answer_reservation(&list[i], false));
    (void)snprintf(cursor, sizeof cursor, "%" PRId64 ".%s", next->reserved_us, next->order_id);
    if (failed == 0)
        return json_pack("{s:o,s:s}", "reservations", array, "next", cursor);
    json_decref(array);
    return NULL;
}

void on_list_reservations(struct http_exchange *exchange, void *data) {
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
        http_reply_json(exchange, 200, json_of(list, count, &place));
    else
        answer_refusal(exchange, outcome, message);
    free(list);
}
