/* Rows of stock that are handed out to a server of keys, and sold from there. */
#include "seam_contract_internal.h"

/* A data set that nobody has made; it stands until the next one. */
static const struct data_set *set_of(const char *token, int last) {
    static struct data_set set;

    set = (struct data_set){.last = last};
    strcpy(set.token, token);
    return &set;
}

static void a_row_is_handed_to_one_data_set(const struct seam_world *world) {
    struct stock_row row, same;

    begin_sales(world, "sharded,shards=3", 7); /* 3, 2 and 2 */
    assert_int_equal(store_hand_out(sales[0], set_of("a", -1), &row), OUTCOME_OK);
    assert_int_equal(row.shard, 0);
    assert_int_equal(row.first_unit, 1);
    assert_int_equal(row.available, 3);
    assert_int_equal(store_hand_out(sales[1], set_of("a", -1), &same), OUTCOME_OK);
    assert_int_equal(same.shard, row.shard);
    assert_int_equal(store_hand_out(sales[0], set_of("b", -1), &row), OUTCOME_OK);
    assert_int_equal(row.shard, 1);
    assert_int_equal(store_hand_out(sales[0], set_of("a", 0), &row), OUTCOME_OK);
    assert_int_equal(row.shard, 2);
    assert_int_equal(store_hand_out(sales[0], set_of("a", 2), &row), OUTCOME_SOLD_OUT);
    assert_int_equal(store_hand_out(sales[0], set_of("b", 1), &row), OUTCOME_SOLD_OUT);
    end_sales(world);
}

static void a_row_without_units_is_not_handed_out(const struct seam_world *world) {
    struct stock_row row;

    begin_sales(world, "sharded,shards=3", 1);
    assert_int_equal(store_hand_out(sales[0], set_of("a", -1), &row), OUTCOME_OK);
    assert_int_equal(store_hand_out(sales[0], set_of("a", row.shard), &row), OUTCOME_SOLD_OUT);
    end_sales(world);
}

static struct data_set open_set(struct sale *sale) {
    struct data_set set;

    assert_int_equal(store_open_data_set(sale, &set), OUTCOME_OK);
    return set;
}

/* Load these units of a row. */
static void load_units(struct sale *sale, int shard, int64_t first, int64_t available) {
    const struct data_set set = open_set(sale);
    const struct stock_row row = {.shard = shard, .first_unit = first, .available = available};

    assert_int_equal(store_load_row(sale, &set, &row), OUTCOME_OK);
}

/* OK, and this many units were there before; 0: nothing is loaded. */
static struct loaded_unit take_of(struct sale *sale, int64_t available) {
    struct loaded_unit taken;

    assert_int_equal(store_take_loaded(sale, &taken), OUTCOME_OK);
    assert_int_equal(taken.seen.available, available);
    return taken;
}

static void a_data_set_is_made_once(const struct seam_world *world) {
    struct data_set first, second;

    begin_sales(world, "sharded,shards=3", 7);
    first = open_set(sales[0]);
    assert_int_equal(first.last, -1);
    load_units(sales[1], 1, 4, 2);
    second = open_set(sales[1]);
    assert_string_equal(second.token, first.token);
    assert_int_equal(second.last, 1);
    end_sales(world);
}

static void loaded_units_are_taken_from_the_last_one_on(const struct seam_world *world) {
    struct loaded_unit taken;

    begin_sales(world, "sharded,shards=3", 7);
    (void)take_of(sales[0], 0);
    load_units(sales[0], 0, 1, 2);
    load_units(sales[0], 2, 6, 1);
    taken = take_of(sales[0], 2);
    assert_int_equal(taken.seen.shard, 0);
    assert_int_equal(taken.seen.first_unit, 1);
    assert_false(taken.is_half_sold);
    (void)take_of(sales[1], 1);
    taken = take_of(sales[2], 1);
    assert_int_equal(taken.seen.shard, 2);
    assert_int_equal(taken.seen.first_unit, 6);
    (void)take_of(sales[3], 0);
    end_sales(world);
}

static void an_order_takes_one_loaded_unit(const struct seam_world *world) {
    struct loaded_unit taken;
    struct sale *again;

    begin_sales(world, "none", 5);
    load_units(sales[0], 0, 1, 5);
    assert_false(take_of(sales[0], 5).is_again);
    again = world->begin_sale(sales[0]);
    taken = take_of(again, 5);
    assert_true(taken.is_again);
    assert_int_equal(taken.seen.first_unit, 1);
    (void)take_of(sales[1], 4);
    world->end_sale(again);
    end_sales(world);
}

/* Once, and only of the last row that is loaded. */
static void the_half_of_the_last_row_is_told(const struct seam_world *world) {
    begin_sales(world, "sharded,shards=2", 8);
    load_units(sales[0], 0, 1, 1);
    load_units(sales[0], 1, 2, 3);
    assert_false(take_of(sales[0], 1).is_half_sold);
    assert_false(take_of(sales[1], 3).is_half_sold);
    assert_true(take_of(sales[2], 2).is_half_sold);
    assert_false(take_of(sales[3], 1).is_half_sold);
    end_sales(world);
}

static void without_a_row_to_load_the_last_unit_is_the_end(const struct seam_world *world) {
    struct loaded_unit taken;

    begin_sales(world, "none", 1);
    load_units(sales[0], 0, 1, 1);
    load_units(sales[0], 0, 1, 0);
    assert_false(take_of(sales[0], 1).is_half_sold);
    assert_int_equal(store_take_loaded(sales[1], &taken), OUTCOME_SOLD_OUT);
    assert_true(take_of(sales[0], 1).is_again);
    end_sales(world);
}

/* Two load at once: the second one's row is the first one's. */
static void a_row_is_loaded_once(const struct seam_world *world) {
    const struct stock_row row = {.shard = 1, .first_unit = 4, .available = 1};
    struct data_set seen;

    begin_sales(world, "sharded,shards=3", 7);
    seen = open_set(sales[0]);
    for (int i = 0; i < 2; i++)
        assert_int_equal(store_load_row(sales[i], &seen, &row), OUTCOME_OK);
    assert_int_equal(store_load_row(sales[2], set_of("another", 1), &row), OUTCOME_OK);
    (void)take_of(sales[0], 1);
    (void)take_of(sales[1], 0);
    end_sales(world);
}

/* The ledger has another unit of this order: it takes a new one. */
static void a_unit_that_came_back_is_not_taken_again(const struct seam_world *world) {
    struct loaded_unit taken;

    begin_sales(world, "sharded,shards=2", 4);
    assert_int_equal(store_take_stock(sales[0], 1), OUTCOME_SOLD);
    load_units(sales[0], 0, 1, 2);
    taken = take_of(sales[0], 2);
    assert_int_equal(store_write_pending(sales[0], &taken.seen, true), OUTCOME_REPEATED);
    assert_false(take_of(sales[0], 1).is_again);
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
    CASE(a_data_set_is_made_once),
    CASE(loaded_units_are_taken_from_the_last_one_on),
    CASE(an_order_takes_one_loaded_unit),
    CASE(the_half_of_the_last_row_is_told),
    CASE(without_a_row_to_load_the_last_unit_is_the_end),
    CASE(a_row_is_loaded_once),
    CASE(a_unit_that_came_back_is_not_taken_again),
    CASE(a_pending_unit_is_brought_once),
    CASE(a_pending_unit_of_a_repeat_comes_back),
    CASE(a_pending_unit_is_sold_before_it_is_brought),
    {NULL, NULL},
};
