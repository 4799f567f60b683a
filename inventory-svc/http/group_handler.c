/* POST /reservations: sell a unit each to many orders, each in a fiber of its own, as if it had
 * come alone. The reply is a line of JSON for each order (NDJSON), written when its sale has ended,
 * so that no sale waits for another. An order whose reply a failpoint drops has no line. */
#include "handlers.h"

#include "answer.h"
#include "fiber.h"
#include "utf8.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ORDERS_MAX 256
#define LINE_BYTES 2048

struct group {
    struct http_exchange *exchange;
    struct store *store;
    size_t left; /* sales that have not ended */
    struct fiber_event is_over;
};

struct member {
    struct group *group;
    char product_id[UUID_TEXT], order_id[UUID_TEXT];
    bool may_be_repeat;
};

/* NULL without memory. */
static json_t *line_json(const struct selling *selling) {
    const char *code = answer_code(selling->outcome);
    char message[UTF8_ROOM(MESSAGE_BYTES)];
    json_t *json;

    (void)utf8_clean(message, selling->message);
    json = code == NULL ? answer_reservation(&selling->sold, true)
                        : json_pack("{s:s,s:s,s:s}", "order_id", selling->order_id, "error", code,
                                    "message", message);
    if (json_object_set_new(json, "status", json_integer(answer_status(selling->outcome))) == 0 &&
        json_object_set_new(json, "timing", json_string(selling->timing)) == 0)
        return json;
    json_decref(json);
    return NULL;
}

/* Without memory for its line, an order is unknown to who asked. */
static void reply_line(struct http_exchange *exchange, const struct selling *selling) {
    char line[LINE_BYTES];
    json_t *json = line_json(selling);
    size_t length = json != NULL ? json_dumpb(json, line, sizeof line - 1, JSON_COMPACT) : 0;

    json_decref(json);
    if (length == 0 || length >= sizeof line)
        return;
    line[length] = '\n';
    http_reply_chunk(exchange, line, length + 1);
}

static void end_member(struct group *group) {
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
    end_member(group);
}

static void refuse_one(const struct member *member) {
    struct selling selling = {.product_id = member->product_id,
                              .order_id = member->order_id,
                              .outcome = OUTCOME_BUSY,
                              .message = "out of memory"};

    reply_line(member->group->exchange, &selling);
    end_member(member->group);
}

static bool read_member(json_t *order, struct member *member) {
    const char *product_id = json_string_value(json_object_get(order, "product_id"));
    const char *order_id = json_string_value(json_object_get(order, "order_id"));

    member->may_be_repeat = json_is_true(json_object_get(order, "is_repeat"));
    return uuid_parse(product_id, member->product_id) == 0 &&
           uuid_parse(order_id, member->order_id) == 0;
}

/* A bad entry is a bug of who sent it: then none is sold. NULL: the reply has been sent. */
static struct member *read_members(struct http_exchange *exchange, const json_t *orders,
                                   struct group *group) {
    size_t count = json_array_size(orders), i;
    struct member *members = NULL;
    json_t *order;

    if (count == 0 || count > ORDERS_MAX) {
        http_reply_error(exchange, count == 0 ? 400 : 413, count == 0 ? "bad_request" : "too_large",
                         "\"orders\" must be an array of 1 to %d orders", ORDERS_MAX);
        return NULL;
    }
    members = calloc(count, sizeof *members);
    if (members == NULL) {
        answer_refusal(exchange, OUTCOME_BUSY, "out of memory");
        return NULL;
    }
    json_array_foreach (orders, i, order) {
        members[i].group = group;
        if (read_member(order, &members[i]))
            continue;
        http_reply_error(exchange, 400, "bad_request",
                         "order %zu of %zu: \"order_id\" and \"product_id\" must be UUIDs in "
                         "strings; nothing was sold",
                         i + 1, count);
        free(members);
        return NULL;
    }
    group->left = count;
    return members;
}

/* All at once: what they wait for, they wait for together. */
static void sell_all(struct group *group, struct member *members) {
    for (size_t i = 0, count = group->left; i < count; i++)
        if (fiber_start(sell_one, &members[i]) != 0)
            refuse_one(&members[i]);
    fiber_event_wait(&group->is_over);
}

void on_reserve_many(struct http_exchange *exchange, void *data) {
    struct group group = {.exchange = exchange, .store = data, .is_over = FIBER_EVENT_INIT};
    json_t *body = http_body_json(exchange);
    struct member *members = NULL;

    if (body != NULL)
        members = read_members(exchange, json_object_get(body, "orders"), &group);
    json_decref(body);
    if (members != NULL && http_reply_chunked(exchange, 200, "application/x-ndjson"))
        sell_all(&group, members);
    free(members);
}
