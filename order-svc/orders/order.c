/* One order, from the reservation to the record.
 *
 * Happy path: reserve a unit at an inventory instance, insert the order, answer 201.
 *
 * Failures
 * - Nothing is reserved: answer the reason. There is nothing to undo.
 * - A unit is reserved, and the order is certainly not recorded: cancel the reservation, answer
 *   "busy".
 * - The result cannot be learned: answer "unknown". If a unit was taken, settling records its order
 *   later (settle.h), and a repeat with the same key finds it.
 *
 * A cancel without an answer may take effect at any later time. The reservation itself decides: the
 * inventory confirms it before it tells a repeat or settling about it, and never cancels a
 * confirmed one.
 *
 * An order under the customer's own key is never cancelled: a repeat may be recording it at this
 * moment, in this process or another. */
#include "order.h"

#include "clock.h"
#include "decimal.h"
#include "log.h"
#include "metrics.h"
#include "text_copy.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RECORD_MS  3000 /* for each query on the orders database, and for the wait before it */
#define CANCEL_MS  3000

#define UNITS_MOST 1000000000 /* of a product, numbered from 1, see sql/inventory.sql */
#define DIGITS     "0123456789"

static struct {
    int status;
    const char *text;
    struct metric count;
} outcomes[] = {
#define ORDERS                "order_outcomes_total", "Orders by outcome", METRIC_COUNTER
#define X(name, status, text) {status, text, {ORDERS, .labels = "outcome=\"" text "\""}},
    ORDER_OUTCOMES(X)
#undef X
};

void order_register_metrics(void) {
    for (size_t i = 0; i < sizeof outcomes / sizeof *outcomes; i++)
        metric_register(&outcomes[i].count);
}

static void order_set_outcome(struct placement *placement, enum order_outcome outcome) {
    placement->outcome = outcome;
    placement->status = outcomes[outcome].status;
    text_copy(placement->error, sizeof placement->error, outcomes[outcome].text);
    placement->message[0] = '\0';
}

__attribute__((format(printf, 3, 4))) static void order_end(struct placement *placement,
                                                            enum order_outcome outcome,
                                                            const char *format, ...) {
    va_list args;

    order_set_outcome(placement, outcome);
    va_start(args, format);
    vsnprintf(placement->message, sizeof placement->message, format, args);
    va_end(args);
}

/* Does it fit the column `price`? */
static bool is_price(const char *text) {
    const size_t whole = strspn(text, DIGITS);
    const char *rest = text + whole;
    const size_t part = *rest == '.' ? strspn(rest + 1, DIGITS) : 0;

    return whole > 0 && whole <= 10 && part <= 2 && rest[part > 0 ? part + 1 : 0] == '\0';
}

/* True if the field is missing, or has that text. */
static bool order_is_same(const struct inventory_answer *answer, const char *field,
                          const char *text) {
    const char *told = inventory_text(answer, field);

    return told[0] == '\0' || strcmp(told, text) == 0;
}

bool order_take_unit(struct order *order, const struct inventory_answer *answer) {
    const char *price = inventory_text(answer, "price");
    const char *instance = inventory_text(answer, "instance");

    if (!order_is_same(answer, "order_id", order->order_id) ||
        !order_is_same(answer, "product_id", order->product_id) || !is_price(price) ||
        instance[0] == '\0' || strlen(instance) >= sizeof order->instance)
        return false;
    text_copy(order->price, sizeof order->price, price);
    text_copy(order->instance, sizeof order->instance, instance);
    return inventory_integer(answer, "unit", &order->unit) && order->unit >= 1 &&
           order->unit <= UNITS_MOST && inventory_integer(answer, "remaining", &order->remaining) &&
           order->remaining >= 0 && order->remaining < UNITS_MOST;
}

/* The customer can ask again: the order id is the key. */
static void end_unknown(struct placement *placement, const char *why) {
    char quoted[300];

    log_warn("order unknown", "order=%s why=%s", placement->order.order_id,
             log_quote(quoted, sizeof quoted, why));
    order_end(placement, ORDER_UNKNOWN,
              "a unit may have been sold; ask again with Idempotency-Key: %s",
              placement->order.order_id);
}

/* The refusals of inventory-svc and of its HTTP server: no unit was sold. */
static const struct refusal {
    int status;
    const char *code;
    enum order_outcome outcome;
} refusals[] = {
    {400, "bad_request", ORDER_REFUSED},
    {403, "foreign_origin", ORDER_REFUSED},
    {404, "not_found", ORDER_REFUSED},
    {404, "unknown_product", ORDER_REFUSED},
    {405, "method_not_allowed", ORDER_REFUSED},
    {408, "timeout", ORDER_REFUSED},
    {409, "sold_out", ORDER_SOLD_OUT},
    {413, "too_large", ORDER_REFUSED},
    {415, "unsupported_media_type", ORDER_REFUSED},
    {421, "foreign_host", ORDER_REFUSED},
    {422, "bad_strategy", ORDER_REFUSED},
    {422, "key_reused", ORDER_REFUSED},
    {431, "headers_too_large", ORDER_REFUSED},
    {500, "failed", ORDER_FAILED},
    {503, "busy", ORDER_BUSY},
    {503, "out_of_memory", ORDER_BUSY},
    {503, "too_many_connections", ORDER_BUSY},
};

/* NULL: the answer is not one of inventory-svc's own refusals, and may hide a sale. */
static const struct refusal *find_refusal(const struct inventory_answer *answer) {
    const char *code = inventory_text(answer, "error");

    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++)
        if (answer->status == refusals[i].status && strcmp(code, refusals[i].code) == 0)
            return &refusals[i];
    return NULL;
}

static void judge_refusal(struct placement *placement, const struct inventory_answer *answer) {
    const struct refusal *refusal = find_refusal(answer);
    const char *message =
        answer->outcome == HTTP_CALL_UNKNOWN ? answer->message : inventory_text(answer, "message");
    char why[200];

    if (refusal == NULL) {
        snprintf(why, sizeof why, "the inventory gave no outcome: status %d %s", answer->status,
                 message);
        end_unknown(placement, why);
    } else if (refusal->outcome == ORDER_FAILED) {
        order_end(placement, ORDER_FAILED, "the inventory failed: %s; nothing was sold", message);
    } else {
        order_end(placement, refusal->outcome, "%s", message);
        placement->status = refusal->status;
        text_copy(placement->error, sizeof placement->error, refusal->code);
    }
}

static void judge_reservation(struct placement *placement, const struct inventory_answer *answer) {
    if (answer->outcome == HTTP_CALL_NOT_SENT)
        order_end(placement, ORDER_BUSY,
                  "no inventory instance could be reached: %s; nothing was sold", answer->message);
    else if ((answer->status == 201 || answer->status == 200) &&
             order_take_unit(&placement->order, answer))
        order_set_outcome(placement, ORDER_PLACED);
    else
        judge_refusal(placement, answer);
}

/* Reserve. `*is_new`: this very call took the unit. */
static void reserve(struct order_svc *svc, struct placement *placement, int64_t deadline_ms,
                    bool *is_new) {
    const struct order *order = &placement->order;
    struct inventory_answer answer;

    inventory_reserve(svc->inventory, order->order_id, order->product_id, placement->is_key_given,
                      deadline_ms, &answer);
    judge_reservation(placement, &answer);
    text_copy(placement->timing, sizeof placement->timing, answer.timing);
    *is_new = answer.status == 201;
    json_decref(answer.body);
}

/* Give the unit back. True only when that is certain. */
static bool order_cancel(struct order_svc *svc, const struct order *order) {
    struct inventory_answer answer;
    char target[96];
    bool is_certain;

    snprintf(target, sizeof target, "/reservations/%s", order->order_id);
    inventory_call(svc->inventory, "DELETE", target, NULL, NULL, clock_now_ms() + CANCEL_MS,
                   &answer);
    is_certain = answer.outcome == HTTP_CALL_ANSWERED && answer.status == 204;
    json_decref(answer.body);
    return is_certain;
}

/* This call has not recorded the order. Undo the unit if this call took it. */
static void compensate(struct order_svc *svc, struct placement *placement, bool is_new,
                       const char *why) {
    char quoted[200];

    if (!is_new || placement->is_key_given || !order_cancel(svc, &placement->order)) {
        end_unknown(placement, why);
        return;
    }
    log_warn("order undone", "order=%s why=%s", placement->order.order_id,
             log_quote(quoted, sizeof quoted, why));
    order_end(placement, ORDER_BUSY,
              "the order could not be recorded; the unit was given back, nothing was sold");
}

/* Answer with the order as it was first recorded. */
static void repeat(struct placement *placement, const struct order *first) {
    if (strcmp(first->product_id, placement->order.product_id) != 0) {
        order_end(placement, ORDER_REFUSED, "this Idempotency-Key was used for product %s",
                  first->product_id);
        snprintf(placement->error, sizeof placement->error, "key_reused");
        return;
    }
    placement->order = *first;
    order_set_outcome(placement, ORDER_REPEATED);
}

/* Look for an order with this id, and repeat its answer. */
static enum pg_status order_find_first(struct order_svc *svc, struct placement *placement,
                                       bool *is_found, char message[PG_MESSAGE_BYTES]) {
    struct order first;
    enum pg_status status = order_find(svc->pool, placement->order.order_id,
                                       clock_now_ms() + RECORD_MS, &first, is_found, message);

    if (status == PG_OK && *is_found)
        repeat(placement, &first);
    return status;
}

/* Before anything is sold. True when nothing is left to do. */
static bool is_look_up_enough(struct order_svc *svc, struct placement *placement) {
    char why[PG_MESSAGE_BYTES], quoted[400];
    bool is_found;

    if (order_find_first(svc, placement, &is_found, why) == PG_OK)
        return is_found;
    /* Only the log gets the reason: it may name host and user. */
    log_warn("orders database failed", "order=%s why=%s", placement->order.order_id,
             log_quote(quoted, sizeof quoted, why));
    order_end(placement, ORDER_BUSY,
              "the orders database cannot be reached; nothing was sold by this request");
    return true;
}

/* Settling or a repeat was faster: its order stands. */
static void take_first(struct order_svc *svc, struct placement *placement) {
    char why[PG_MESSAGE_BYTES] = "the order was recorded and is gone now";
    bool is_found;

    if (order_find_first(svc, placement, &is_found, why) != PG_OK || !is_found)
        end_unknown(placement, why);
}

/* Add the time of the record to the cost of the sale, which inventory-svc measured. */
static void tell_recording(struct placement *placement, int64_t ns) {
    static const char name[] = ", order;dur=";
    const size_t used = strlen(placement->timing);
    char ms[DECIMAL_BYTES + 2];

    (void)decimal_write_thousandths(ms, ns / 1000);
    if (used > 0 && sizeof name + strlen(ms) <= sizeof placement->timing - used)
        (void)stpcpy(stpcpy(placement->timing + used, name), ms);
}

/* Spread evenly: with 50 % every second order, so a run can be repeated. */
static bool is_to_fail(struct order_svc *svc) {
    svc->fail_due += svc->fail_record;
    if (svc->fail_due < 1 - 1e-9)
        return false;
    svc->fail_due -= 1;
    return true;
}

/* The result of --fail-record, or else of the database. */
static enum pg_status insert(struct order_svc *svc, const struct order *order, bool is_new,
                             bool *is_repeat, char why[PG_MESSAGE_BYTES]) {
    if (!is_to_fail(svc))
        return order_groups_insert(&svc->groups, order, is_new, clock_now_ms() + RECORD_MS,
                                   is_repeat, why);
    (void)snprintf(why, PG_MESSAGE_BYTES, "--fail-record");
    return PG_REJECTED;
}

static void order_record(struct order_svc *svc, struct placement *placement, bool is_new) {
    char why[PG_MESSAGE_BYTES];
    bool is_repeat;
    int64_t asked_ns = clock_now_ns();
    enum pg_status status;

    assert(placement->outcome == ORDER_PLACED && placement->order.unit >= 1);
    status = insert(svc, &placement->order, is_new, &is_repeat, why);

    tell_recording(placement, clock_now_ns() - asked_ns);
    switch (status) {
    case PG_OK:
        if (is_repeat)
            take_first(svc, placement);
        return;
    case PG_REJECTED:
    case PG_NOT_SENT:
        compensate(svc, placement, is_new, why);
        return;
    case PG_UNKNOWN:
        end_unknown(placement, why);
        return;
    }
}

/* The customer's key may have an order already. And while the database is down, the look-up waits
 * for it, so no unit is taken only to be given back. */
static bool needs_look_up(const struct order_svc *svc, const struct placement *placement) {
    return placement->is_key_given || !pg_pool_is_up(svc->pool);
}

void order_place(struct order_svc *svc, struct placement *placement) {
    bool is_new = false;

    assert(placement->order.order_id[0] != '\0' && placement->order.product_id[0] != '\0');
    svc->groups.in_flight++;
    if (!needs_look_up(svc, placement) || !is_look_up_enough(svc, placement)) {
        reserve(svc, placement, clock_now_ms() + svc->inventory_timeout_ms, &is_new);
        if (placement->outcome == ORDER_PLACED)
            order_record(svc, placement, is_new);
    }
    svc->groups.in_flight--;
    metric_add(&outcomes[placement->outcome].count, 1);
}
