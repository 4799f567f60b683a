/* The row that was locked first guards the other one. But carts do not all lock the same row first. */
#include "strategy.h"

#include <stddef.h>

static enum outcome sell_both(struct sale *sale, const int rows[2]) {
    struct stock_row first, second;
    enum outcome outcome = store_read_for_update(sale, rows[0], ROW_WAIT, &first);

    if (outcome == OUTCOME_OK)
        outcome = store_read_stock(sale, rows[1], &second);
    if (outcome != OUTCOME_OK)
        return outcome;
    if (first.available <= 0 || second.available <= 0)
        return OUTCOME_SOLD_OUT;
    store_work(sale);
    outcome = store_write_stock(sale, &second, GUARD_ANY, NULL);
    return outcome == OUTCOME_SOLD ? store_write_stock(sale, &first, GUARD_ANY, NULL) : outcome;
}

static enum outcome sell(struct sale *sale) {
    int rows[2];
    enum outcome outcome;

    store_cart(sale, rows);
    outcome = store_begin(sale, READ_COMMITTED);

    return outcome == OUTCOME_OK ? store_end(sale, sell_both(sale, rows)) : outcome;
}

const struct strategy strategy_exercise = {
    .name = "exercise",
    .family = "exercise",
    .summary = "the first row of the cart is the lock for both",
    .promise = "both products or none",
    .breaks = "two carts with opposite orders",
    .source = "the museum",
    .takes = TAKES_CART,
    .default_shards = 2,
    .sell = sell,
};
