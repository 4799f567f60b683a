/* A group: gather for the rest of a turn of the loop -> send one call -> each line of the reply
 * ends one member -> the end of the call ends the rest.
 *
 * A member goes on at the end of a turn, or when the call has ended. It must not go on while the
 * client reads, because it may call the client. */
#include "inventory_groups.h"

#include "buffer.h"
#include "fiber.h"
#include "json_read.h"
#include "log.h"
#include "text_copy.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MEMBERS_MOST 64   /* inventory-svc takes 256 */
#define LINE_MOST    4096 /* bytes of a line of the reply; our longest has 2,048 */
#define APART_MS     20   /* most that the deadlines of a group may differ */
#define SPARES_MOST  16

struct inventory_group {
    struct inventory_groups *groups;
    TAILQ_ENTRY(inventory_group) entry; /* in gathering, answered or spare */
    struct http_client *client;
    struct inventory_members waiting, answered;
    unsigned count;
    int64_t deadline_ms; /* of its first member, and so nearly that of all */
    struct http_call call;
    struct buffer body, line; /* of the request; the part of a line that has arrived */
    size_t received;          /* bytes of the reply */
    unsigned useless;         /* lines of the reply that answer no waiting order */
    bool is_answered;         /* in the list of that name */
};

static void groups_on_turn(uv_check_t *turn);

static void on_soon(uv_idle_t *soon) {
    (void)soon;
}

/* An idle handle keeps the loop from waiting for input before the end of the turn. */
static void act_at_end_of_turn(struct inventory_groups *groups) {
    (void)uv_check_start(&groups->turn, groups_on_turn); /* fail only without a callback */
    (void)uv_idle_start(&groups->soon, on_soon);
}

void inventory_groups_init(struct inventory_groups *groups, uv_loop_t *loop, const char *headers) {
    *groups = (struct inventory_groups){.headers = headers};
    TAILQ_INIT(&groups->gathering);
    TAILQ_INIT(&groups->answered);
    TAILQ_INIT(&groups->spare);
    (void)uv_check_init(loop, &groups->turn); /* cannot fail, nor does the other */
    (void)uv_idle_init(loop, &groups->soon);
    groups->turn.data = groups->soon.data = groups;
    groups->open_handles = 2;
}

static struct inventory_group *make_group(struct inventory_groups *groups,
                                          struct http_client *client, int64_t deadline_ms) {
    struct inventory_group *group = TAILQ_FIRST(&groups->spare);

    if (group != NULL) {
        TAILQ_REMOVE(&groups->spare, group, entry);
        groups->spares--;
    } else {
        group = calloc(1, sizeof *group);
    }
    if (group == NULL)
        return NULL;
    group->groups = groups;
    group->client = client;
    group->deadline_ms = deadline_ms;
    group->count = 0;
    TAILQ_INIT(&group->waiting);
    TAILQ_INIT(&group->answered);
    TAILQ_INSERT_TAIL(&groups->gathering, group, entry);
    return group;
}

static void free_group(struct inventory_group *group) {
    buffer_free(&group->body);
    buffer_free(&group->line);
    free(group);
}

static void drop_group(struct inventory_group *group) {
    struct inventory_groups *groups = group->groups;

    assert(!group->is_answered && TAILQ_EMPTY(&group->waiting) && TAILQ_EMPTY(&group->answered));
    if (groups->spares == SPARES_MOST) {
        free_group(group);
        return;
    }
    group->body.length = group->line.length = group->received = 0;
    group->useless = 0;
    TAILQ_INSERT_HEAD(&groups->spare, group, entry);
    groups->spares++;
}

/* A member is gone once its fiber runs on. */
static void groups_tell(struct inventory_members *members) {
    struct inventory_member *member;

    while ((member = TAILQ_FIRST(members)) != NULL) {
        TAILQ_REMOVE(members, member, entry);
        fiber_event_set(&member->is_over);
    }
}

static struct inventory_member *groups_find(const struct inventory_group *group,
                                            const char *order_id) {
    struct inventory_member *member;

    TAILQ_FOREACH (member, &group->waiting, entry)
        if (strcmp(member->order_id, order_id) == 0)
            return member;
    return NULL;
}

static void move_to_answered(struct inventory_group *group, struct inventory_member *member) {
    TAILQ_REMOVE(&group->waiting, member, entry);
    TAILQ_INSERT_TAIL(&group->answered, member, entry);
}

/* Ignores a line that answers no waiting order: its order has an answer, or is none of ours. */
static void groups_take_line(struct inventory_group *group, const char *line, size_t length) {
    struct inventory_answer answer = {.outcome = HTTP_CALL_ANSWERED};
    struct inventory_member *member;
    int64_t status = 0;

    if (!json_flat_read(&answer.flat, line, length))
        answer.body = json_read(line, length, NULL);
    member = groups_find(group, inventory_text(&answer, "order_id"));
    if (member == NULL || !inventory_integer(&answer, "status", &status) || status < 100 ||
        status > 999) {
        group->useless++;
        json_decref(answer.body);
        return;
    }
    answer.status = (int)status;
    text_copy(answer.timing, sizeof answer.timing, inventory_text(&answer, "timing"));
    *member->answer = answer;
    move_to_answered(group, member);
}

static bool groups_keep(struct buffer *line, const char *bytes, size_t length) {
    assert(line->length <= LINE_MOST);
    return length <= LINE_MOST - line->length && buffer_append(line, bytes, length);
}

/* False: the rest of the reply cannot be read. */
static bool groups_take_lines(struct inventory_group *group, const char *bytes, size_t length) {
    const char *end = bytes + length, *newline;

    while ((newline = memchr(bytes, '\n', (size_t)(end - bytes))) != NULL) {
        if (group->line.length == 0) {
            groups_take_line(group, bytes, (size_t)(newline - bytes));
        } else {
            if (!groups_keep(&group->line, bytes, (size_t)(newline - bytes)))
                return false;
            groups_take_line(group, group->line.bytes, group->line.length);
            group->line.length = 0;
        }
        bytes = newline + 1;
    }
    return groups_keep(&group->line, bytes, (size_t)(end - bytes));
}

static bool on_part(struct http_call *call, const char *bytes, size_t length) {
    struct inventory_group *group = call->data;
    struct inventory_groups *groups = group->groups;
    const size_t room = group->count * LINE_MOST - group->received;
    const size_t taken = length < room ? length : room;
    bool is_good;

    assert(group->received <= group->count * LINE_MOST);
    is_good = groups_take_lines(group, bytes, taken) && taken == length;
    group->received += taken;

    if (!TAILQ_EMPTY(&group->answered) && !group->is_answered) {
        group->is_answered = true;
        TAILQ_INSERT_TAIL(&groups->answered, group, entry);
        act_at_end_of_turn(groups);
    }
    return is_good;
}

/* Log it once for a reply, however long. */
static void tell_useless(const struct inventory_group *group) {
    if (group->useless > 0)
        log_warn("lines of the inventory answer no order", "lines=%u bytes=%zu", group->useless,
                 group->received);
}

/* End a member that got no line. `json` is the reply to all, or NULL. */
static void groups_end_member(struct inventory_answer *answer, const struct http_call *call,
                              json_t *json) {
    const char *why = call->error != NULL ? call->error : "";

    answer->outcome = call->outcome;
    answer->status = call->outcome == HTTP_CALL_ANSWERED ? call->status : 0;
    answer->body = json_incref(json);
    if (answer->status == 200) {
        answer->outcome = HTTP_CALL_UNKNOWN;
        answer->status = 0;
        why = "the reply has no line for it";
    }
    text_copy(answer->message, sizeof answer->message, why);
}

static void groups_on_ended(struct http_call *call) {
    struct inventory_group *group = call->data;
    struct inventory_members ended = TAILQ_HEAD_INITIALIZER(ended);
    const bool is_refused = call->outcome == HTTP_CALL_ANSWERED && call->status != 200;
    json_t *json = is_refused && group->line.length > 0
                       ? json_read(group->line.bytes, group->line.length, NULL)
                       : NULL;
    struct inventory_member *member;

    while ((member = TAILQ_FIRST(&group->waiting)) != NULL) {
        groups_end_member(member->answer, call, json);
        move_to_answered(group, member);
    }
    json_decref(json);
    tell_useless(group);
    if (group->is_answered)
        TAILQ_REMOVE(&group->groups->answered, group, entry);
    group->is_answered = false;
    TAILQ_CONCAT(&ended, &group->answered, entry);
    drop_group(group);
    groups_tell(&ended);
}

static bool write_order(struct buffer *body, const struct inventory_member *member) {
    return buffer_append_text(body, body->length == 0 ? "{\"orders\":[" : ",") &&
           buffer_append_text(body, "{\"order_id\":\"") &&
           buffer_append_text(body, member->order_id) &&
           buffer_append_text(body, "\",\"product_id\":\"") &&
           buffer_append_text(body, member->product_id) &&
           buffer_append_text(body, member->may_be_repeat ? "\",\"is_repeat\":true}" : "\"}");
}

static bool write_body(struct inventory_group *group) {
    struct inventory_member *member;

    TAILQ_FOREACH (member, &group->waiting, entry)
        if (!write_order(&group->body, member))
            return false;
    return buffer_append_text(&group->body, "]}");
}

/* Without memory it ends like a call that was not sent: its deadline has passed. */
static void send_group(struct inventory_group *group) {
    struct inventory_groups *groups = group->groups;
    bool is_whole;

    assert(group->count > 0 && group->body.length == 0);
    is_whole = write_body(group);
    TAILQ_REMOVE(&groups->gathering, group, entry);
    group->call = (struct http_call){.method = "POST",
                                     .target = "/reservations",
                                     .headers = groups->headers,
                                     .body = group->body.bytes,
                                     .body_length = group->body.length,
                                     .deadline_ms = is_whole ? group->deadline_ms : 0,
                                     .on_part = on_part,
                                     .data = group};
    http_call_start(group->client, &group->call, groups_on_ended);
}

/* One order alone is not a group: the plain request is cheaper. */
static void send_or_leave_alone(struct inventory_group *group) {
    struct inventory_members alone = TAILQ_HEAD_INITIALIZER(alone);

    if (group->count > 1) {
        send_group(group);
        return;
    }
    assert(group->count == 1);
    TAILQ_REMOVE(&group->groups->gathering, group, entry);
    TAILQ_CONCAT(&alone, &group->waiting, entry);
    TAILQ_FIRST(&alone)->is_alone = true;
    drop_group(group);
    groups_tell(&alone);
}

static void tell_answered(struct inventory_group *group) {
    struct inventory_members answered = TAILQ_HEAD_INITIALIZER(answered);

    assert(group->is_answered && !TAILQ_EMPTY(&group->answered));
    TAILQ_REMOVE(&group->groups->answered, group, entry);
    group->is_answered = false;
    TAILQ_CONCAT(&answered, &group->answered, entry);
    groups_tell(&answered);
}

static void groups_on_turn(uv_check_t *turn) {
    struct inventory_groups *groups = turn->data;

    while (!TAILQ_EMPTY(&groups->answered))
        tell_answered(TAILQ_FIRST(&groups->answered));
    while (!TAILQ_EMPTY(&groups->gathering))
        send_or_leave_alone(TAILQ_FIRST(&groups->gathering));
    (void)uv_check_stop(&groups->turn);
    (void)uv_idle_stop(&groups->soon);
}

static struct inventory_group *gathering_for(const struct inventory_groups *groups,
                                             const struct http_client *client) {
    struct inventory_group *group;

    TAILQ_FOREACH (group, &groups->gathering, entry)
        if (group->client == client)
            return group;
    return NULL;
}

static bool groups_has_room(const struct inventory_group *group, int64_t deadline_ms) {
    return group->count < MEMBERS_MOST && llabs(deadline_ms - group->deadline_ms) <= APART_MS;
}

static struct inventory_group *group_for(struct inventory_groups *groups,
                                         struct http_client *client, int64_t deadline_ms) {
    struct inventory_group *group = gathering_for(groups, client);

    if (group != NULL && groups_has_room(group, deadline_ms))
        return group;
    if (group != NULL)
        send_group(group);
    return make_group(groups, client, deadline_ms);
}

/* Two reservations of one order must not be in one group: their lines would look alike. */
static bool groups_join(struct inventory_groups *groups, struct http_client *client,
                        struct inventory_member *member) {
    struct inventory_group *group = group_for(groups, client, member->deadline_ms);

    if (group == NULL || (member->may_be_repeat && groups_find(group, member->order_id) != NULL))
        return false;
    assert(group->count < MEMBERS_MOST);
    TAILQ_INSERT_TAIL(&group->waiting, member, entry);
    group->count++;
    act_at_end_of_turn(groups);
    return true;
}

bool inventory_groups_await(struct inventory_groups *groups, struct http_client *client,
                            struct inventory_member *member, struct inventory_answer *answer) {
    *answer = (struct inventory_answer){.outcome = HTTP_CALL_UNKNOWN};
    member->answer = answer;
    member->is_over = (struct fiber_event)FIBER_EVENT_INIT;
    member->is_alone = false;
    if (!groups_join(groups, client, member))
        return false;
    fiber_event_wait(&member->is_over);
    return !member->is_alone;
}

void inventory_groups_end(struct inventory_groups *groups) {
    while (!TAILQ_EMPTY(&groups->gathering))
        send_group(TAILQ_FIRST(&groups->gathering));
}

static void groups_on_handle_closed(uv_handle_t *handle) {
    struct inventory_groups *groups = handle->data;
    struct inventory_group *group;

    if (--groups->open_handles > 0)
        return;
    while ((group = TAILQ_FIRST(&groups->spare)) != NULL) {
        TAILQ_REMOVE(&groups->spare, group, entry);
        free_group(group);
    }
    groups->on_closed(groups->data);
}

void inventory_groups_close(struct inventory_groups *groups, http_client_cb cb, void *data) {
    assert(TAILQ_EMPTY(&groups->gathering) && TAILQ_EMPTY(&groups->answered));
    groups->on_closed = cb;
    groups->data = data;
    uv_close((uv_handle_t *)&groups->turn, groups_on_handle_closed);
    uv_close((uv_handle_t *)&groups->soon, groups_on_handle_closed);
}
