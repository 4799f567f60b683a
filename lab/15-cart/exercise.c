/* Chapter 15: two rows of stock in one transaction. No half cart is ever sold. Is every customer
 * served? */
#include "strategy.h"

#include <stddef.h>

/* Lock a product's row until the transaction ends. OK, and then `seen`. */
static enum outcome take(struct sale *sale, int row, struct stock_row *seen) {
    enum outcome outcome = store_read_for_update(sale, row, ROW_WAIT, seen);

    return outcome == OUTCOME_OK && seen->available <= 0 ? OUTCOME_SOLD_OUT : outcome;
}

static enum outcome sell_both(struct sale *sale, const int rows[2]) {
    struct stock_row seen[2];
    enum outcome outcome = take(sale, rows[0], &seen[0]);

    if (outcome == OUTCOME_OK)
        outcome = take(sale, rows[1], &seen[1]);
    if (outcome != OUTCOME_OK)
        return outcome;
    store_work(sale);
    outcome = store_write_stock(sale, &seen[0], GUARD_ANY, NULL);
    return outcome == OUTCOME_SOLD ? store_write_stock(sale, &seen[1], GUARD_ANY, NULL) : outcome;
}

static enum outcome sell(struct sale *sale) {
    int rows[2];
    enum outcome outcome;

    /* To do: another customer may have put the same two products into the cart the other way round. */
    store_cart(sale, rows);
    outcome = store_begin(sale, READ_COMMITTED);
    return outcome == OUTCOME_OK ? store_end(sale, sell_both(sale, rows)) : outcome;
}

const struct strategy strategy_exercise = {
    .name = "exercise",
    .family = "lab",
    .summary = "two row locks, in the order of the cart",
    .promise = "see the chapter",
    .breaks = "see the chapter",
    .source = "your own hand",
    .takes = TAKES_CART,
    .default_shards = 2,
    .sell = sell,
};
