/* POST /reservations: sell a unit each to many orders, each in a fiber of its own, as if it had
 * come alone. The reply is a line of JSON for each order (NDJSON), written when its sale has ended,
 * so that no sale waits for another. An order whose reply a failpoint drops has no line. */
#include "handlers.h"

#include "answer.h"
#include "fiber.h"
#include "json_flat.h"
#include "utf8.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

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

/* An order whose line does not fit is unknown to who asked. */
static void reply_line(struct http_exchange *exchange, const struct selling *selling) {
    const char *code = answer_code(selling->outcome);
    char bytes[LINE_BYTES], message[UTF8_ROOM(MESSAGE_BYTES)];
    struct json_line line = json_line_begin(bytes, sizeof bytes - 1);
    size_t length;

    if (code == NULL) {
        answer_write_whole(&line, &selling->sold);
    } else {
        (void)utf8_clean(message, selling->message);
        json_line_text(&line, "order_id", selling->order_id);
        json_line_text(&line, "error", code);
        json_line_text(&line, "message", message);
    }
    json_line_integer(&line, "status", answer_status(selling->outcome));
    json_line_text(&line, "timing", selling->timing);
    length = json_line_end(&line);
    if (length == 0)
        return;
    bytes[length] = '\n';
    http_reply_chunk(exchange, bytes, length + 1);
}

static void group_handler_end_member(struct group *group) {
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
    group_handler_end_member(group);
}

static void refuse_one(const struct member *member) {
    struct selling selling = {.product_id = member->product_id,
                              .order_id = member->order_id,
                              .outcome = OUTCOME_BUSY,
                              .message = "out of memory"};

    reply_line(member->group->exchange, &selling);
    group_handler_end_member(member->group);
}

static bool group_handler_take_ids(struct group *group, const char *product_id,
                                   const char *order_id, bool may_be_repeat) {
    struct member *member = &group->members[group->left];

    assert(group->left < ORDERS_MAX);
    member->group = group;
    member->may_be_repeat = may_be_repeat;
    group->left++;
    return uuid_parse(product_id, member->product_id) == 0 &&
           uuid_parse(order_id, member->order_id) == 0;
}

/* As order-svc writes them, without a tree. False: it is not so, be it wrong or not. */
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
            !group_handler_take_ids(group, json_flat_text(&order, "product_id"),
                                    json_flat_text(&order, "order_id"),
                                    json_flat_is_true(&order, "is_repeat")))
            return false;
    } while (at < end && *at == ',');
    return (size_t)(end - at) == last_length && memcmp(at, last, last_length) == 0;
}

/* A bad entry is a bug of who sent it: then none is sold. False: the reply has been sent. */
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
        if (group_handler_take_ids(group, json_string_value(json_object_get(order, "product_id")),
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

/* All at once: what they wait for, they wait for together. */
static void sell_all(struct group *group) {
    assert(group->left > 0); /* else nobody sets is_over */
    for (size_t i = 0, count = group->left; i < count; i++)
        if (fiber_start(sell_one, &group->members[i]) != 0)
            refuse_one(&group->members[i]);
    fiber_event_wait(&group->is_over);
}

void on_reserve_many(struct http_exchange *exchange, void *data) {
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
