/* The contract of carts: an order for one unit of each of two products. */
#include "seam_contract.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static struct sale *sales[2];

static void begin(const struct seam_world *world) {
    for (int i = 0; i < 2; i++)
        sales[i] = world->begin_sale(NULL);
}

static void end(const struct seam_world *world) {
    for (int i = 0; i < 2; i++)
        world->end_sale(sales[i]);
}

static struct stock_row read_row(struct sale *sale, int shard) {
    struct stock_row row;

    assert_int_equal(store_read_stock(sale, shard, &row), OUTCOME_OK);
    return row;
}

static enum outcome write_of(struct sale *sale, struct stock_row seen, enum guard guard) {
    return store_write_stock(sale, &seen, guard, NULL);
}

static bool is_in_ledger(struct sale *sale) {
    bool is_found = false;

    assert_int_equal(store_find_sale(sale, &is_found), OUTCOME_OK);
    return is_found;
}

static enum outcome sell_nothing(struct sale *sale) {
    (void)sale;
    return OUTCOME_SOLD_OUT;
}

/* No strategy of the table sells carts. */
const struct strategy seam_sells_carts = {
    .name = "carts", .takes = TAKES_CART, .default_shards = 2, .sell = sell_nothing};

static enum outcome write_products(struct sale *sale, const int rows[2], int count) {
    enum outcome outcome = OUTCOME_SOLD;

    for (int i = 0; i < count && outcome == OUTCOME_SOLD; i++) {
        struct stock_row seen;

        assert_int_equal(store_read_for_update(sale, rows[i], ROW_WAIT, &seen), OUTCOME_OK);
        outcome = write_of(sale, seen, GUARD_VERSION);
    }
    return outcome;
}

void seam_cart_is_sold_whole(const struct seam_world *world) {
    int rows[2], again[2], others[2];

    begin(world);
    store_cart(sales[0], rows);
    store_cart(sales[0], again);
    store_cart(sales[1], others);
    assert_memory_equal(rows, again, sizeof rows);
    assert_int_equal(rows[0] + rows[1], 1);
    assert_int_equal(others[0], rows[1]); /* of one instance, every other one is turned round */
    assert_int_equal(store_begin(sales[0], READ_COMMITTED), OUTCOME_OK);
    assert_int_equal(write_products(sales[0], rows, 2), OUTCOME_SOLD);
    assert_int_equal(read_row(sales[1], 0).available + read_row(sales[1], 1).available, 5);
    assert_int_equal(store_end(sales[0], OUTCOME_SOLD), OUTCOME_SOLD);
    assert_int_equal(sales[0]->shard, rows[0]);
    assert_int_equal(sales[0]->unit, rows[0] == 0 ? 3 : 5);
    assert_int_equal(read_row(sales[1], 0).available, 2);
    assert_int_equal(read_row(sales[1], 1).available, 1);
    assert_true(is_in_ledger(sales[0]));
    end(world);
}

void seam_cart_that_is_rolled_back_is_not_sold(const struct seam_world *world) {
    static const int rows[] = {1, 0};

    begin(world);
    assert_int_equal(store_begin(sales[0], READ_COMMITTED), OUTCOME_OK);
    assert_int_equal(write_products(sales[0], rows, 2), OUTCOME_SOLD);
    assert_int_equal(store_end(sales[0], OUTCOME_SOLD_OUT), OUTCOME_SOLD_OUT);
    assert_int_equal(read_row(sales[1], 0).available + read_row(sales[1], 1).available, 5);
    assert_false(is_in_ledger(sales[0]));
    assert_int_equal(store_begin(sales[0], READ_COMMITTED), OUTCOME_OK);
    assert_int_equal(write_products(sales[0], rows, 2), OUTCOME_SOLD);
    assert_int_equal(store_end(sales[0], OUTCOME_SOLD), OUTCOME_SOLD);
    assert_int_equal(sales[0]->shard, 1);
    end(world);
}

void seam_each_product_of_a_cart_is_sold_once(const struct seam_world *world) {
    begin(world);
    assert_int_equal(write_of(sales[0], read_row(sales[0], 1), GUARD_ANY), OUTCOME_SOLD);
    assert_int_equal(write_of(sales[0], read_row(sales[0], 1), GUARD_ANY), OUTCOME_REPEATED);
    assert_int_equal(store_take_stock(sales[0], 0), OUTCOME_FAILED);
    assert_int_equal(write_of(sales[0], read_row(sales[0], 0), GUARD_ANY), OUTCOME_SOLD);
    assert_int_equal(sales[0]->shard, 1);
    assert_int_equal(read_row(sales[1], 0).available, 2);
    assert_int_equal(read_row(sales[1], 1).available, 1);
    end(world);
}
