/* One sale from beginning to end. */
#include "selling.h"

#include "clock.h"
#include "metrics.h"
#include "strategies.h"
#include "text_copy.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define STRATEGIES_MAX 64

#define X(name, text)  +1
enum { OUTCOME_COUNT = OUTCOMES(X) };
#undef X

/* A metric for each pair, made when there is something to count. An exercise comes after the table.
 */
static void selling_count(const struct strategy *strategy, enum outcome outcome) {
    static struct {
        struct metric total;
        char labels[80];
    } pairs[STRATEGIES_MAX][OUTCOME_COUNT], *pair;
    unsigned which = 0;

    while (strategies[which] != NULL && strategies[which] != strategy)
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

/* REPEATED: give the first answer again, or refuse if that was for another product. It confirms the
 * order, so a cancel that is still under way cannot undo this answer. */
static enum outcome selling_find_first(struct selling *selling, struct live_sale *live) {
    bool is_found;
    enum outcome outcome = live_sale_confirm(live, &is_found, &selling->sold);

    if (outcome != OUTCOME_OK) {
        (void)why_set(&selling->why, "this order has a unit, but the unit could not be read");
        return OUTCOME_UNKNOWN;
    }
    if (!is_found) {
        (void)why_set(&selling->why, "this order was just cancelled");
        return OUTCOME_BUSY;
    }
    return strcmp(selling->sold.product_id, selling->product_id) == 0 ? OUTCOME_REPEATED
                                                                      : OUTCOME_KEY_REUSED;
}

/* The message of a step that was retried does not count. */
static bool is_explained(const struct selling *selling, enum outcome outcome) {
    return selling->why.text[0] != '\0' &&
           (outcome == OUTCOME_BUSY || outcome == OUTCOME_UNKNOWN || outcome == OUTCOME_FAILED);
}

static enum outcome selling_sell(struct selling *selling, struct store *store,
                                 struct product *product, int64_t begun_ms) {
    struct live_sale live;
    enum outcome outcome;

    live_sale_init(&live, store, product, selling->order_id, begun_ms, &selling->why);
    live.sale.may_be_repeat = selling->may_be_repeat;
    outcome = strategy_sell(product->spec.strategy, &live.sale);
    if (outcome == OUTCOME_SOLD && live.sold.order_id[0] == '\0') {
        (void)why_set(&selling->why, "the strategy answered SOLD but sold nothing");
        outcome = OUTCOME_FAILED;
    }
    selling_count(product->spec.strategy, outcome);
    if (outcome == OUTCOME_SOLD)
        selling->sold = live.sold;
    else if (outcome == OUTCOME_REPEATED)
        outcome = selling_find_first(selling, &live);
    if (!is_explained(selling, outcome))
        text_copy(selling->why.text, sizeof selling->why.text, outcome_text(outcome));
    selling->is_reply_dropped = live.is_reply_dropped;
    (void)sale_cost_text(&live.cost, selling->timing);
    live_sale_end(&live);
    return outcome;
}

void selling_prepare(struct store *store, struct product *product) {
    struct live_sale live;
    struct why why;

    if (product->spec.strategy->prepare == NULL)
        return;
    live_sale_init(&live, store, product, "", clock_now_ms(), &why);
    for (; live.part < store_live_parts(store, product); live.part++)
        (void)product->spec.strategy->prepare(&live.sale);
    live_sale_end(&live);
}

void selling_run(struct selling *selling, struct store *store) {
    int64_t begun_ms = clock_now_ms();
    struct product *product;
    enum outcome outcome =
        product_get(store->products, selling->product_id, &product, &selling->why);

    if (product != NULL) {
        outcome = selling_sell(selling, store, product, begun_ms);
        product_put(product);
    } else if (selling->may_be_repeat && (outcome == OUTCOME_BUSY || outcome == OUTCOME_FAILED)) {
        outcome = OUTCOME_UNKNOWN; /* an earlier call may have sold it */
    }
    selling->outcome = outcome;
}
