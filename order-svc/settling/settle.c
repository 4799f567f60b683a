/* Makes one pass over the new reservations each time the timer fires. */
#include "settle.h"

#include "clock.h"
#include "fiber.h"
#include "log.h"
#include "metrics.h"
#include "order.h"
#include "order_sql.h"
#include "text_copy.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE    1000 /* the most that inventory-svc lists, and confirms by one call */
#define STEP_MS 2000 /* for each query or call, so that it does not delay stopping for longer */

/* A reservation may come so far behind the cursor: sql/audit.sql allows clocks the same. */
#define OVERLAP_MS        60000
#define OVERLAP_PASSES    10    /* only each tenth pass reads the overlap, because it is long; */
#define OVERLAP_LATEST_MS 10000 /* also a pass so long after it, or after a failure */

static struct metric settled = {"order_settled_total",
                                "Orders recorded for reservations that had none",
                                .type = METRIC_COUNTER};

static void on_settled(const char *order_id) {
    metric_add(&settled, 1);
    log_info("order settled", "order=%s", order_id);
}

/* Log a failure when it begins and when its reason changes, not at each pass. */
static void settle_note_failure(struct settle *settle, const char *why) {
    char quoted[200];

    if (strcmp(settle->failure, why) != 0 && !settle->is_closing)
        log_warn("cannot settle now", "error=%s", log_quote(quoted, sizeof quoted, why));
    text_copy(settle->failure, sizeof settle->failure, why);
}

static void note_success(struct settle *settle, const char *cursor) {
    if (settle->failure[0] != '\0')
        log_info("settling again", "cursor=%s", cursor);
    settle->failure[0] = '\0';
}

/* The deadline of a query or call that begins now. */
static int64_t settle_due_ms(const struct settle *settle) {
    return clock_now_ms() + settle->step_ms;
}

/* The list of an answer; or NULL with `message`. */
static json_t *list_of(const struct inventory_answer *answer, const char *name,
                       char message[PG_MESSAGE_BYTES]) {
    json_t *list = json_object_get(answer->body, name);

    if (answer->outcome == HTTP_CALL_ANSWERED && answer->status == 200 && json_is_array(list))
        return list;
    (void)snprintf(
        message, PG_MESSAGE_BYTES, "no list of %s: status %d %.110s", name, answer->status,
        answer->message[0] != '\0' ? answer->message : inventory_text(answer, "message"));
    return NULL;
}

/* Take the ids of an order that was asked for. */
static bool settle_take_ids(struct order *order, const struct inventory_answer *answer,
                            const char *order_ids) {
    const char *order_id = inventory_text(answer, "order_id");

    return uuid_parse(order_id, order->order_id) == 0 && strstr(order_ids, order_id) != NULL &&
           uuid_parse(inventory_text(answer, "product_id"), order->product_id) == 0;
}

/* Remove each reservation without a unit, which a wrong strategy may have sold, so that it does not
 * hold up others. -1 with `message`: an entry is for an order that was not asked for. */
static int settle_check(json_t *list, const char *order_ids, char message[PG_MESSAGE_BYTES]) {
    static struct log_limit limit;
    const size_t count = json_array_size(list);
    struct order order;
    unsigned left_out;

    for (size_t i = count; i-- > 0;) {
        const struct inventory_answer answer = {.body = json_array_get(list, i)};

        if (!settle_take_ids(&order, &answer, order_ids)) {
            (void)snprintf(message, PG_MESSAGE_BYTES,
                           "a confirmation for an order that was not asked for");
            return -1;
        }
        if (!order_take_unit(&order, &answer))
            (void)json_array_remove(list, i);
    }
    if (json_array_size(list) < count && log_limit_pass(&limit, clock_now_ms(), &left_out))
        log_warn("reservations without a unit get no order", "count=%zu left_out=%u",
                 count - json_array_size(list), left_out);
    return 0;
}

/* Confirm reservations without an order, and record their orders. -1 with `message`. */
static int confirm(struct settle *settle, const char *order_ids, char message[PG_MESSAGE_BYTES]) {
    enum pg_status status = PG_NOT_SENT;
    struct inventory_answer answer;
    json_t *list;
    char *confirmed = NULL;

    inventory_call(settle->inventory, "POST", "/reservations/confirmations", NULL, order_ids,
                   settle_due_ms(settle), &answer);
    list = list_of(&answer, "reservations", message);
    if (list != NULL && settle_check(list, order_ids, message) == 0) {
        (void)snprintf(message, PG_MESSAGE_BYTES, "out of memory");
        confirmed = json_dumps(list, JSON_COMPACT);
    }
    json_decref(answer.body);
    if (confirmed != NULL)
        status = order_settle(settle->pool, confirmed, settle_due_ms(settle), on_settled, message);
    free(confirmed);
    return status == PG_OK ? 0 : -1;
}

/* Record the missing orders of one page. -1 with `message`. */
static int record_page(struct settle *settle, const json_t *order_ids,
                       char message[PG_MESSAGE_BYTES]) {
    char *missing;
    int code = 0;

    if (order_find_missing(settle->pool, order_ids, settle_due_ms(settle), &missing, message) !=
        PG_OK)
        return -1;
    if (missing != NULL)
        code = confirm(settle, missing, message);
    free(missing);
    return code;
}

/* Skip a number and a point; NULL without them. */
static const char *skip_number(const char *text) {
    size_t digits = text != NULL ? strspn(text, "0123456789") : 0;

    return digits > 0 && digits < 19 && text[digits] == '.' ? text + digits + 1 : NULL;
}

/* Is it "<microseconds>.<transaction>.<order id>"? Any other stored cursor would stop settling for
 * ever. */
static bool is_cursor(const char *text) {
    char order_id[UUID_TEXT];

    return uuid_parse(skip_number(skip_number(text)), order_id) == 0;
}

/* Settle the page after the cursor, with reservations up to `overlap_ms` behind it, and move the
 * cursor past it. Returns the number of reservations; or -1 with `message`. */
static int settle_page(struct settle *settle, struct settlement *at, int overlap_ms,
                       char message[PG_MESSAGE_BYTES]) {
    struct inventory_answer answer;
    char target[512];
    const char *next;
    const json_t *order_ids;
    int count = -1;

    (void)snprintf(target, sizeof target,
                   "/reservations?after=%s&since_ms=%" PRId64
                   "&overlap_ms=%d&older_than_ms=%" PRId64 "&limit=%d",
                   at->cursor, at->since_ms, overlap_ms, settle->after_ms, PAGE);
    inventory_call(settle->inventory, "GET", target, NULL, NULL, settle_due_ms(settle), &answer);
    order_ids = list_of(&answer, "order_ids", message);
    next = inventory_text(&answer, "next");
    if (order_ids != NULL && json_array_size(order_ids) == 0) {
        count = 0;
    } else if (order_ids != NULL &&
               (!is_cursor(next) || (overlap_ms == 0 && strcmp(next, at->cursor) == 0))) {
        (void)snprintf(message, PG_MESSAGE_BYTES, "a list of reservations without a next cursor");
    } else if (order_ids != NULL && record_page(settle, order_ids, message) == 0 &&
               settlement_write(settle->pool, next, settle_due_ms(settle), message) == PG_OK) {
        text_copy(at->cursor, sizeof at->cursor, next);
        count = (int)json_array_size(order_ids);
    }
    json_decref(answer.body);
    return count;
}

static void settle_finish(struct settle *settle) {
    assert(settle->is_running || settle->is_closing);
    settle->is_running = false;
    if (settle->is_closing && settle->on_stopped != NULL)
        settle->on_stopped(settle->data);
}

/* The overlap of a pass that begins. It lies behind the cursor, which moves on meanwhile. */
static int next_overlap_ms(struct settle *settle) {
    const int64_t now_ms = clock_now_ms();
    const bool is_due = settle->failure[0] != '\0' || settle->passes % OVERLAP_PASSES == 0 ||
                        now_ms - settle->overlap_at_ms >= OVERLAP_LATEST_MS;

    settle->passes = is_due ? 1 : settle->passes + 1;
    assert(settle->passes >= 1 && settle->passes <= OVERLAP_PASSES);
    if (is_due)
        settle->overlap_at_ms = now_ms;
    return is_due ? OVERLAP_MS : 0;
}

static void settle_all(void *arg) {
    struct settle *settle = arg;
    struct settlement at;
    char message[PG_MESSAGE_BYTES];
    int count = -1, overlap_ms = next_overlap_ms(settle);

    if (settlement_read(settle->pool, settle_due_ms(settle), &at, message) == PG_OK)
        do {
            count = settle_page(settle, &at, overlap_ms, message);
            overlap_ms = 0; /* only for the first page */
        } while (count == PAGE && !settle->is_closing);
    if (count < 0)
        settle_note_failure(settle, message);
    else
        note_success(settle, at.cursor);
    settle_finish(settle);
}

static void settle_on_time(uv_timer_t *timer) {
    struct settle *settle = timer->data;

    if (settle->is_running)
        return;
    settle->is_running = true;
    if (fiber_start(settle_all, settle) != 0)
        settle->is_running = false; /* no memory: the next tick tries again */
}

void settle_start(struct settle *settle, uv_loop_t *loop, struct inventory *inventory,
                  struct pg_pool *pool, int64_t after_ms, int64_t every_ms) {
    *settle = (struct settle){
        .inventory = inventory, .pool = pool, .after_ms = after_ms, .step_ms = STEP_MS};
    metric_register(&settled);
    (void)uv_timer_init(loop, &settle->timer); /* cannot fail */
    settle->timer.data = settle;
    (void)uv_timer_start(&settle->timer, settle_on_time, (uint64_t)every_ms, (uint64_t)every_ms);
}

static void settle_on_timer_closed(uv_handle_t *timer) {
    struct settle *settle = timer->data;

    settle->is_closing = true;
    if (!settle->is_running)
        settle_finish(settle);
}

void settle_stop(struct settle *settle, void (*on_stopped)(void *data), void *data) {
    if (uv_is_closing((uv_handle_t *)&settle->timer))
        return;
    settle->on_stopped = on_stopped;
    settle->data = data;
    uv_close((uv_handle_t *)&settle->timer, settle_on_timer_closed);
}
