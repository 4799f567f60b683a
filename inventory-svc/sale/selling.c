/* One sale from beginning to end.
 *
 * What was not sold is checked again, and cheaply, because after the sell-out every request comes
 * here: an order that may be a repeat is looked up in the ledger; and a unit that a customer gave
 * back is sold by its number. When there is none, this instance does not look again for 100 ms: so
 * long at most is a unit refused here that came back through another instance. */
#include "selling.h"

#include "clock.h"
#include "metrics.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define NONE_RETURNED_MS 100
#define STRATEGIES_MAX   32

#define X(name, text)    +1
enum { OUTCOME_COUNT = OUTCOMES(X) };
#undef X

/* A metric for each pair, made when there is something to count. */
static void count(const struct strategy *strategy, enum outcome outcome) {
    static struct {
        struct metric total;
        char labels[80];
    } pairs[STRATEGIES_MAX][OUTCOME_COUNT], *pair;
    unsigned which = 0;

    while (strategies[which] != strategy)
        which++;
    assert(which < STRATEGIES_MAX);
    pair = &pairs[which][outcome];
    if (pair->total.name == NULL) {
        (void)snprintf(pair->labels, sizeof pair->labels, "strategy=\"%s\",outcome=\"%s\"",
                       strategy->name, outcome_name(outcome));
        pair->total = (struct metric){"inventory_sales_total", "Sales by strategy and outcome",
                                      METRIC_COUNTER, .labels = pair->labels};
    }
    metric_add(&pair->total, 1);
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

/* REPEATED: the first answer again, or a refusal when that was for another product. Confirmed, so
 * that a cancel which is still under way takes no effect on what is answered here. */
static enum outcome find_first(struct selling *selling, struct live_sale *live) {
    bool is_found;
    enum outcome outcome = live_sale_confirm(live, &is_found, &selling->sold);
    const char *why = "";

    if (outcome != OUTCOME_OK) {
        why = "this order has its unit, which could not be read";
        outcome = OUTCOME_UNKNOWN;
    } else if (!is_found) {
        why = "this order was just cancelled";
        outcome = OUTCOME_BUSY;
    } else if (strcmp(selling->sold.product_id, selling->product_id) != 0) {
        outcome = OUTCOME_KEY_REUSED;
    } else {
        outcome = OUTCOME_REPEATED;
    }
    (void)snprintf(live->sale.message, MESSAGE_BYTES, "%s", why);
    return outcome;
}

/* Nothing sold now. But a repeat may have its unit already, and a unit may have come back. */
static enum outcome look_further(const struct selling *selling, struct live_sale *live,
                                 enum outcome outcome) {
    struct reservation found;
    bool is_found = false;

    if (selling->may_be_repeat && outcome != OUTCOME_REPEATED) {
        enum outcome looked =
            live_sale_find(live, STATEMENT_MS, &is_found, &found, live->sale.message);

        if (is_found)
            return OUTCOME_REPEATED;
        if (looked != OUTCOME_OK)
            return OUTCOME_UNKNOWN; /* it may have its unit */
    }
    return outcome == OUTCOME_SOLD_OUT ? take_returned(live) : outcome;
}

static enum outcome sell(struct selling *selling, struct store *store, struct product *product,
                         int64_t begun_ms) {
    struct live_sale live;
    enum outcome outcome;

    live_sale_init(&live, store, product, selling->order_id, begun_ms);
    outcome = product->spec.strategy->sell(&live.sale);
    assert(outcome != OUTCOME_OK);
    if (outcome != OUTCOME_SOLD)
        outcome = look_further(selling, &live, outcome);
    count(product->spec.strategy, outcome);
    if (outcome == OUTCOME_SOLD)
        selling->sold = live.sold;
    else if (outcome == OUTCOME_REPEATED)
        outcome = find_first(selling, &live);
    (void)snprintf(selling->message, MESSAGE_BYTES, "%s",
                   live.sale.message[0] != '\0' ? live.sale.message : outcome_text(outcome));
    selling->is_reply_dropped = live.is_reply_dropped;
    (void)sale_cost_text(&live.cost, selling->timing);
    return outcome;
}

void selling_run(struct selling *selling, struct store *store) {
    int64_t begun_ms = clock_now_ms();
    struct product *product;
    enum outcome outcome =
        product_get(store->products, selling->product_id, &product, selling->message);

    if (product != NULL) {
        outcome = sell(selling, store, product, begun_ms);
        product_put(product);
    } else if (selling->may_be_repeat && (outcome == OUTCOME_BUSY || outcome == OUTCOME_FAILED)) {
        outcome = OUTCOME_UNKNOWN; /* an earlier call may have sold it */
    }
    selling->outcome = outcome;
}
