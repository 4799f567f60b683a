/* What store.h promises of transactions, step by step as in seam_contract.c. */
#include "seam_contract_internal.h"

static void start(struct sale *sale, enum isolation isolation) {
    assert_int_equal(store_begin(sale, isolation), OUTCOME_OK);
}

/* A transaction of its own that only tries to get the row, and gives it up again. */
static enum outcome try_row(struct sale *sale, int shard, enum row_wait wait) {
    struct stock_row row;

    start(sale, READ_COMMITTED);
    return store_end(sale, store_read_for_update(sale, shard, wait, &row) == OUTCOME_OK
                               ? OUTCOME_CONFLICT
                               : OUTCOME_BUSY);
}

static void a_transaction_is_seen_when_it_is_committed(const struct seam_world *world) {
    struct stock_row seen;

    begin_sales(world, "none", 5);
    start(sales[0], READ_COMMITTED);
    assert_int_equal(store_read_for_update(sales[0], 0, ROW_WAIT, &seen), OUTCOME_OK);
    assert_int_equal(seen.available, 5);
    assert_int_equal(write_row(sales[0], seen, GUARD_ANY), OUTCOME_SOLD);
    assert_int_equal(sales[0]->unit, 0);
    assert_int_equal(read_row(sales[0], 0).available, 4);
    assert_int_equal(read_row(sales[1], 0).available, 5);
    assert_int_equal(store_end(sales[0], OUTCOME_SOLD), OUTCOME_SOLD);
    assert_int_equal(sales[0]->unit, 5);
    assert_int_equal(read_row(sales[1], 0).available, 4);
    end_sales(world);
}

static void what_is_rolled_back_was_not_sold(const struct seam_world *world) {
    static const enum outcome ends[][2] = {{OUTCOME_BUSY, OUTCOME_BUSY},
                                           {OUTCOME_UNKNOWN, OUTCOME_FAILED},
                                           {OUTCOME_SOLD, OUTCOME_FAILED}};

    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        bool is_found = true;

        begin_sales(world, "none,fail=before-commit:error@1", 5);
        start(sales[0], READ_COMMITTED);
        assert_int_equal(write_row(sales[0], read_row(sales[0], 0), GUARD_ANY), OUTCOME_SOLD);
        assert_int_equal(store_end(sales[0], ends[i][0]), ends[i][1]);
        assert_int_equal(sales[0]->unit, 0);
        assert_int_equal(read_row(sales[1], 0).available, 5);
        assert_int_equal(store_find_sale(sales[0], &is_found), OUTCOME_OK);
        assert_false(is_found);
        end_sales(world);
    }
}

static void a_row_for_update_is_kept_from_others(const struct seam_world *world) {
    struct stock_row row;

    begin_sales(world, "none,wait=1s", 5);
    start(sales[0], READ_COMMITTED);
    assert_int_equal(store_read_for_update(sales[0], 0, ROW_NOWAIT, &row), OUTCOME_OK);
    for (enum row_wait wait = ROW_WAIT; wait <= ROW_SKIP_LOCKED; wait++)
        assert_int_equal(try_row(sales[1], 0, wait), OUTCOME_BUSY);
    assert_int_equal(try_row(sales[1], ANY_SHARD, ROW_SKIP_LOCKED), OUTCOME_BUSY);
    assert_int_equal(read_row(sales[1], 0).available, 5);
    assert_int_equal(store_end(sales[0], OUTCOME_SOLD_OUT), OUTCOME_SOLD_OUT);
    /* Whose wait is not over yet: the rollback may be under way. */
    sales[2] = (world->end_sale(sales[2]), world->begin_sale(NULL));
    assert_int_equal(try_row(sales[2], 0, ROW_WAIT), OUTCOME_CONFLICT);
    end_sales(world);
}

static void any_shard_is_one_that_nobody_holds(const struct seam_world *world) {
    struct stock_row rows[3], none;
    int64_t units = 0;

    begin_sales(world, "sharded,shards=3", 3);
    for (int i = 0; i < 3; i++) {
        start(sales[i], READ_COMMITTED);
        assert_int_equal(store_read_for_update(sales[i], ANY_SHARD, ROW_SKIP_LOCKED, &rows[i]),
                         OUTCOME_OK);
    }
    assert_int_equal(try_row(sales[3], ANY_SHARD, ROW_SKIP_LOCKED), OUTCOME_BUSY);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(write_row(sales[i], rows[i], GUARD_ANY), OUTCOME_SOLD);
        assert_int_equal(store_end(sales[i], OUTCOME_SOLD), OUTCOME_SOLD);
        units += sales[i]->unit;
    }
    assert_int_equal(units, 1 + 2 + 3);
    start(sales[3], READ_COMMITTED);
    for (enum row_wait wait = ROW_WAIT; wait <= ROW_SKIP_LOCKED; wait++)
        assert_int_equal(store_read_for_update(sales[3], ANY_SHARD, wait, &none), OUTCOME_SOLD_OUT);
    assert_int_equal(store_end(sales[3], OUTCOME_SOLD_OUT), OUTCOME_SOLD_OUT);
    end_sales(world);
}

static void a_serializable_sale_that_was_overtaken_conflicts(const struct seam_world *world) {
    struct stock_row seen;

    begin_sales(world, "none", 5);
    start(sales[0], SERIALIZABLE);
    seen = read_row(sales[0], 0);
    assert_int_equal(store_take_stock(sales[1], 0), OUTCOME_SOLD);
    assert_int_equal(read_row(sales[0], 0).available, 5);
    assert_int_equal(write_row(sales[0], seen, GUARD_ANY), OUTCOME_CONFLICT);
    assert_int_equal(store_end(sales[0], OUTCOME_CONFLICT), OUTCOME_CONFLICT);
    assert_int_equal(read_row(sales[2], 0).available, 4);
    end_sales(world);
}

static void an_order_is_sold_once_in_transactions_too(const struct seam_world *world) {
    struct sale *again;

    begin_sales(world, "none", 5);
    assert_int_equal(store_take_stock(sales[0], 0), OUTCOME_SOLD);
    again = world->begin_sale(sales[0]);
    start(again, READ_COMMITTED);
    assert_int_equal(write_row(again, read_row(again, 0), GUARD_ANY), OUTCOME_REPEATED);
    assert_int_equal(store_end(again, OUTCOME_REPEATED), OUTCOME_REPEATED);
    assert_int_equal(read_row(again, 0).available, 4);
    world->end_sale(again);
    end_sales(world);
}

const struct seam_case seam_contract_transactions[] = {
    CASE(a_transaction_is_seen_when_it_is_committed),
    CASE(what_is_rolled_back_was_not_sold),
    CASE(a_row_for_update_is_kept_from_others),
    CASE(any_shard_is_one_that_nobody_holds),
    CASE(a_serializable_sale_that_was_overtaken_conflicts),
    CASE(an_order_is_sold_once_in_transactions_too),
    {NULL, NULL},
};
