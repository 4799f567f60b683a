/* Rows of stock that are handed out to a server of keys, and sold from there. */
#include "seam_contract_internal.h"

static void a_row_is_handed_to_one_data_set(const struct seam_world *world) {
    struct stock_row row, same;

    begin_sales(world, "sharded,shards=3", 7); /* 3, 2 and 2 */
    assert_int_equal(store_hand_out(sales[0], "a", -1, &row), OUTCOME_OK);
    assert_int_equal(row.shard, 0);
    assert_int_equal(row.first_unit, 1);
    assert_int_equal(row.available, 3);
    assert_int_equal(store_hand_out(sales[1], "a", -1, &same), OUTCOME_OK);
    assert_int_equal(same.shard, row.shard);
    assert_int_equal(store_hand_out(sales[0], "b", -1, &row), OUTCOME_OK);
    assert_int_equal(row.shard, 1);
    assert_int_equal(store_hand_out(sales[0], "a", 0, &row), OUTCOME_OK);
    assert_int_equal(row.shard, 2);
    assert_int_equal(store_hand_out(sales[0], "a", 2, &row), OUTCOME_SOLD_OUT);
    assert_int_equal(store_hand_out(sales[0], "b", 1, &row), OUTCOME_SOLD_OUT);
    end_sales(world);
}

static void a_row_without_units_is_not_handed_out(const struct seam_world *world) {
    struct stock_row row;

    begin_sales(world, "sharded,shards=3", 1);
    assert_int_equal(store_hand_out(sales[0], "a", -1, &row), OUTCOME_OK);
    assert_int_equal(store_hand_out(sales[0], "a", row.shard, &row), OUTCOME_SOLD_OUT);
    end_sales(world);
}

static void a_pending_unit_is_brought_once(const struct seam_world *world) {
    struct stock_row seen;
    bool is_found = false;

    begin_sales(world, "none", 5);
    seen = read_row(sales[0], 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(store_write_pending(sales[0], &seen, true), OUTCOME_SOLD);
        assert_int_equal(sales[0]->unit, 5);
        assert_int_equal(sales[0]->remaining, 4);
    }
    assert_int_equal(store_find_sale(sales[0], &is_found), OUTCOME_OK);
    assert_true(is_found);
    assert_int_equal(store_write_pending(sales[1], &seen, true), OUTCOME_CONFLICT);
    assert_int_equal(read_row(sales[2], 0).available, 4);
    end_sales(world);
}

/* Its order has a unit already: this one comes back. */
static void a_pending_unit_of_a_repeat_comes_back(const struct seam_world *world) {
    struct stock_row seen;

    begin_sales(world, "none", 5);
    assert_int_equal(store_take_stock(sales[0], 0), OUTCOME_SOLD);
    seen = read_row(sales[0], 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(store_write_pending(sales[0], &seen, true), OUTCOME_REPEATED);
    assert_int_equal(read_row(sales[1], 0).available, 3);
    assert_int_equal(store_take_returned(sales[1]), OUTCOME_SOLD);
    assert_int_equal(sales[1]->unit, 4);
    assert_int_equal(store_take_returned(sales[2]), OUTCOME_SOLD_OUT);
    end_sales(world);
}

static void a_pending_unit_is_sold_before_it_is_brought(const struct seam_world *world) {
    struct stock_row seen;
    bool is_found = false;

    begin_sales(world, "none", 5);
    seen = read_row(sales[0], 0);
    assert_int_equal(store_write_pending(sales[0], &seen, false), OUTCOME_SOLD);
    assert_int_equal(sales[0]->unit, 5);
    for (int tries = 0; tries < 2000 && !is_found; tries++) {
        assert_int_equal(store_find_sale(sales[0], &is_found), OUTCOME_OK);
        world->sleep(5);
    }
    assert_true(is_found);
    end_sales(world);
}

const struct seam_case seam_contract_segments[] = {
    CASE(a_row_is_handed_to_one_data_set),
    CASE(a_row_without_units_is_not_handed_out),
    CASE(a_pending_unit_is_brought_once),
    CASE(a_pending_unit_of_a_repeat_comes_back),
    CASE(a_pending_unit_is_sold_before_it_is_brought),
    {NULL, NULL},
};
