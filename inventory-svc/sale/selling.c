/* One sale from request to answer.
 *
 * What was not sold is checked again, and cheaply, because after the sell-out every request comes
 * here: an order that may be a repeat is looked up in the ledger; and a unit that a customer gave
 * back is sold by its number. When there is none, this instance does not look again for 100 ms: so
 * long at most is a unit refused here that came back through another instance. */
#include "selling.h"

#include "clock.h"
#include "log.h"

#include <stdio.h>
#include <string.h>

#define NONE_RETURNED_MS 100
#define STRATEGIES_MAX   32

#define X(name, text)    +1
enum { OUTCOME_COUNT = OUTCOMES(X) };
#undef X

static void count(const struct strategy *strategy, enum outcome outcome) {
    static struct metric totals[STRATEGIES_MAX][OUTCOME_COUNT];
    static char labels[STRATEGIES_MAX][OUTCOME_COUNT][80];
    unsigned which = 0;
    struct metric *total;

    while (strategies[which] != strategy)
        which++;
    if (which >= STRATEGIES_MAX)
        return;
    total = &totals[which][outcome];
    if (total->name == NULL) {
        (void)snprintf(labels[which][outcome], sizeof labels[which][outcome],
                       "strategy=\"%s\",outcome=\"%s\"", strategy->name, outcome_name(outcome));
        *total = (struct metric){.name = "inventory_sales_total",
                                 .help = "Sales by strategy and outcome",
                                 .type = METRIC_COUNTER,
                                 .labels = labels[which][outcome]};
    }
    metric_add(total, 1);
}

static void refuse(struct selling *selling, int status, const char *code, const char *message) {
    selling->status = status;
    selling->code = code;
    (void)snprintf(selling->message, sizeof selling->message, "%s", message);
}

static enum outcome take_returned(struct live_sale *live) {
    struct product *product = live->product;
    int64_t begun_ms = clock_now_ms();
    enum outcome outcome;

    if (begun_ms < product->none_returned_until_ms)
        return OUTCOME_SOLD_OUT;
    outcome = live_sale_take_returned(live);
    if (outcome == OUTCOME_SOLD_OUT)
        product->none_returned_until_ms = begun_ms + NONE_RETURNED_MS;
    return outcome;
}

/* REPEATED: the first answer again, or a refusal when that was for another product. */
static void answer_again(struct selling *selling, struct live_sale *live) {
    bool is_found;
    enum outcome outcome = live_sale_find(live, &is_found, &selling->sold, live->sale.message);

    if (outcome != OUTCOME_OK)
        refuse(selling, 504, "unknown", "this order has its unit, which could not be read");
    else if (!is_found)
        refuse(selling, 503, "busy", "this order was just cancelled");
    else if (strcmp(selling->sold.product_id, selling->product_id) != 0)
        refuse(selling, 422, "key_reused", "this order id belongs to another product");
    else
        selling->status = 200;
}

/* Nothing sold now. But a repeat may have its unit already, and a unit may have come back. */
static enum outcome look_further(const struct selling *selling, struct live_sale *live,
                                 enum outcome outcome) {
    struct reservation found;
    bool is_found = false;

    if (selling->may_be_repeat && outcome != OUTCOME_REPEATED) {
        enum outcome looked = live_sale_find(live, &is_found, &found, live->sale.message);

        if (is_found)
            return OUTCOME_REPEATED;
        if (looked != OUTCOME_OK)
            return OUTCOME_UNKNOWN; /* it may have its unit */
    }
    return outcome == OUTCOME_SOLD_OUT ? take_returned(live) : outcome;
}

static void answer(struct selling *selling, struct live_sale *live, enum outcome outcome) {
    const char *message =
        live->sale.message[0] != '\0' ? live->sale.message : outcome_text(outcome);

    switch (outcome) {
    case OUTCOME_SOLD:
        selling->status = 201;
        live_sale_reservation(live, &selling->sold);
        return;
    case OUTCOME_REPEATED:
        answer_again(selling, live);
        return;
    case OUTCOME_SOLD_OUT:
        refuse(selling, 409, "sold_out", outcome_text(outcome));
        return;
    case OUTCOME_BUSY:
    case OUTCOME_CONFLICT:
        refuse(selling, 503, "busy", message);
        return;
    case OUTCOME_UNKNOWN:
        refuse(selling, 504, "unknown", message);
        return;
    case OUTCOME_OK:
    case OUTCOME_FAILED:
        refuse(selling, 500, "failed", message);
        return;
    }
}

static void sell(struct selling *selling, struct store *store, struct product *product,
                 int64_t begun_ms) {
    const struct strategy *strategy = product->spec.strategy;
    struct live_sale live;
    enum outcome outcome;

    live_sale_init(&live, store, product, selling->order_id, begun_ms);
    outcome = strategy->sell(&live.sale);
    if (outcome != OUTCOME_SOLD)
        outcome = look_further(selling, &live, outcome);
    count(strategy, outcome);
    answer(selling, &live, outcome);
    selling->is_reply_dropped = live.is_reply_dropped;
    (void)sale_cost_text(&live.cost, selling->timing);
}

static void sell_of_product(struct selling *selling, struct inventory *inventory) {
    int64_t begun_ms = clock_now_ms();
    char message[MESSAGE_BYTES];
    struct product *product;
    enum outcome outcome = product_get(inventory->products, selling->product_id, &product, message);

    if (product == NULL) {
        if (outcome == OUTCOME_OK)
            refuse(selling, 404, "unknown_product", "no product has this id");
        else if (selling->may_be_repeat)
            refuse(selling, 504, "unknown", message);
        else if (outcome == OUTCOME_FAILED)
            refuse(selling, 500, "failed", message);
        else
            refuse(selling, 503, "busy", message);
        return;
    }
    if (product->spec.strategy == NULL)
        refuse(selling, 422, "bad_strategy", product->why);
    else
        sell(selling, &inventory->store, product, begun_ms);
    product_put(product);
}

void selling_tell_cost(const struct selling *selling, struct http_exchange *exchange) {
    if (selling->timing[0] != '\0')
        http_reply_header(exchange, "Server-Timing", selling->timing);
}

void selling_run(struct selling *selling, struct inventory *inventory) {
    char why[400];
    enum log_level level;

    sell_of_product(selling, inventory);
    level = selling->status == 500 || selling->status == 504 ? LOG_WARN : LOG_DEBUG;
    if (selling->code != NULL)
        log_write(level, "not sold", "request=%s order=%s product=%s status=%d code=%s why=%s",
                  selling->request_id, selling->order_id, selling->product_id, selling->status,
                  selling->code, log_quote(why, sizeof why, selling->message));
    else
        log_debug("sold", "request=%s order=%s product=%s unit=%" PRId64, selling->request_id,
                  selling->order_id, selling->product_id, selling->sold.unit);
}
