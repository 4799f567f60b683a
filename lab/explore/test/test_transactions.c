/* Transactions that meet: who waits for whom, what is seen after the wait, and how it ends. */
#include "explore.h"
#include "fiber.h"
#include "read_then_write.h"
#include "test.h"

/* What the orders of a schedule were told, as bits of 1 << enum outcome, in all schedules. */
static unsigned told[MODEL_ORDERS + 1];
static bool has_judged_wrong;
static bool (*is_right)(const struct model_world *world);

static unsigned judge(void *data, const struct model_world *world) {
    (void)data;
    for (int i = 0; i <= world->setup.orders; i++)
        told[i] |= 1U << world->state.orders[i].outcome;
    has_judged_wrong |= !is_right(world);
    return 0;
}

static struct exploration it;

static void explore_setup(struct model_setup setup) {
    it = (struct exploration){.setup = setup, .preemptions = 3, .judge = judge};
    has_judged_wrong = false;
    for (int i = 0; i <= MODEL_ORDERS; i++)
        told[i] = 0;
    assert_int_equal(explore(&it), 0);
    assert_int_equal(it.end, EXPLORE_COMPLETE);
    fiber_cleanup();
}

static void explore_all(enum outcome (*sell)(struct sale *sale), int shards, unsigned faults) {
    const struct strategy strategy = {.name = "trial", .sell = sell};

    explore_setup(
        (struct model_setup){.strategy = &strategy,
                             .options = {.shards = shards, .wait_ms = 10000, .ttl_ms = 10000},
                             .orders = 2,
                             .instances = 2,
                             .stock = 4,
                             .faults = faults});
}

static bool is_first(const struct sale *sale) {
    return sale->order_id[35] == '1';
}

/* ---- after the wait */

static bool is_every_unit_sold_once(const struct model_world *world) {
    const struct model_sold *sold = world->state.sold;
    int count = 0;

    for (int i = 0; i <= world->setup.orders; i++) {
        count += sold[i].is_there;
        for (int j = 0; j < i; j++)
            if (sold[i].is_there && sold[j].is_there && sold[i].unit == sold[j].unit)
                return false;
    }
    return world->state.rows[0].available == 4 - count;
}

/* The first keeps the row, and sells; the others come without a transaction. */
static enum outcome guard_by_version(struct sale *sale) {
    return is_first(sale) ? lock_row_then_write(sale, 0, ROW_WAIT)
                          : read_then_write(sale, 0, GUARD_VERSION, NULL);
}

static enum outcome take_at_once(struct sale *sale) {
    return is_first(sale) ? lock_row_then_write(sale, 0, ROW_WAIT) : store_take_stock(sale, 0);
}

static enum outcome overwrite(struct sale *sale) {
    return is_first(sale) ? lock_row_then_write(sale, 0, ROW_WAIT)
                          : read_then_write(sale, 0, GUARD_ANY, NULL);
}

static void test_who_waited_for_a_row_looks_at_its_guard_again(void **state) {
    is_right = is_every_unit_sold_once;
    explore_all(guard_by_version, 1, 0);
    assert_false(has_judged_wrong);
    assert_int_equal(told[0], 1U << OUTCOME_SOLD);
    assert_int_equal(told[1], 1U << OUTCOME_SOLD | 1U << OUTCOME_CONFLICT);
    explore_all(take_at_once, 1, 0);
    assert_false(has_judged_wrong);
    assert_int_equal(told[0] | told[1], 1U << OUTCOME_SOLD);
}

static void test_who_has_no_guard_overwrites_what_was_committed_meanwhile(void **state) {
    is_right = is_every_unit_sold_once;
    explore_all(overwrite, 1, 0);
    assert_true(has_judged_wrong);
}

/* ---- two that wait for each other */

static enum outcome take_both(struct sale *sale) {
    const int first = is_first(sale) ? 0 : 1;
    struct stock_row one, other;
    enum outcome outcome = store_begin(sale, READ_COMMITTED);

    assert_int_equal(outcome, OUTCOME_OK);
    outcome = store_read_for_update(sale, first, ROW_WAIT, &one);
    if (outcome == OUTCOME_OK)
        outcome = store_read_for_update(sale, 1 - first, ROW_WAIT, &other);
    if (outcome == OUTCOME_OK)
        outcome = store_write_stock(sale, &one, GUARD_ANY, NULL);
    return store_end(sale, outcome);
}

static bool is_one_sold(const struct model_world *world) {
    return world->state.sold[0].is_there || world->state.sold[1].is_there;
}

static void test_of_two_that_wait_for_each_other_one_is_refused(void **state) {
    is_right = is_one_sold;
    explore_all(take_both, 2, 0);
    assert_false(has_judged_wrong);
    assert_int_equal(told[0], 1U << OUTCOME_SOLD | 1U << OUTCOME_CONFLICT);
    assert_int_equal(told[1], 1U << OUTCOME_SOLD | 1U << OUTCOME_CONFLICT);
    assert_int_equal(told[2], 1U << OUTCOME_SOLD);
}

/* ---- serializable */

/* Each sells from one row, because the other has units: the last two units must not both go. */
static enum outcome sell_if_the_other_has(struct sale *sale, enum isolation isolation) {
    const int mine = is_first(sale) ? 0 : 1;
    struct stock_row row, other;
    enum outcome outcome = store_begin(sale, isolation);

    assert_int_equal(outcome, OUTCOME_OK);
    outcome = store_read_stock(sale, 1 - mine, &other);
    if (outcome == OUTCOME_OK)
        outcome = store_read_stock(sale, mine, &row);
    if (outcome == OUTCOME_OK)
        outcome = other.available == 2 ? store_write_stock(sale, &row, GUARD_VERSION, NULL)
                                       : OUTCOME_SOLD_OUT;
    return store_end(sale, outcome);
}

static enum outcome skew_committed(struct sale *sale) {
    return sell_if_the_other_has(sale, READ_COMMITTED);
}

static enum outcome skew_serializable(struct sale *sale) {
    return sell_if_the_other_has(sale, SERIALIZABLE);
}

static bool is_one_row_whole(const struct model_world *world) {
    return world->state.rows[0].available == 2 || world->state.rows[1].available == 2;
}

static void test_serializable_transactions_do_not_write_what_others_read(void **state) {
    is_right = is_one_row_whole;
    explore_all(skew_committed, 2, 0);
    assert_true(has_judged_wrong);
    explore_all(skew_serializable, 2, 0);
    assert_false(has_judged_wrong);
    assert_true((told[0] & told[1] & 1U << OUTCOME_CONFLICT) != 0);
    assert_int_equal(told[0] & 1U << OUTCOME_SOLD, 1U << OUTCOME_SOLD);
}

/* ---- a holder that stands still, or dies */

static enum outcome keep_row(struct sale *sale) {
    return lock_row_then_write(sale, 0, ROW_WAIT);
}

static void test_a_holder_that_stands_still_loses_the_row(void **state) {
    is_right = is_every_unit_sold_once;
    explore_all(keep_row, 1, 1U << FAULT_PAUSE);
    assert_false(has_judged_wrong);
    assert_int_equal(told[2], 1U << OUTCOME_SOLD);
    assert_true((told[0] & 1U << OUTCOME_BUSY) != 0);
    explore_all(keep_row, 1, 1U << FAULT_CRASH);
    assert_false(has_judged_wrong);
    assert_int_equal(told[2], 1U << OUTCOME_SOLD);
}

/* ---- units that come back */

static enum guard guard;

static enum outcome sell_guarded(struct sale *sale) {
    return read_then_write(sale, 0, guard, NULL);
}

static bool is_no_unit_sold_twice(const struct model_world *world) {
    const struct model_sold *sold = world->state.sold;

    for (int i = 0; i <= world->setup.orders; i++)
        for (int j = 0; j < i; j++)
            if (sold[i].is_there && sold[j].is_there && sold[i].unit == sold[j].unit)
                return false;
    return true;
}

static void test_a_value_that_came_back_deceives_and_a_version_does_not(void **state) {
    static const enum guard guards[] = {GUARD_VALUE, GUARD_VERSION};
    const struct strategy strategy = {.name = "trial", .sell = sell_guarded};
    struct model_setup setup = {.strategy = &strategy,
                                .options = {.shards = 1, .wait_ms = 1000, .returns_to_count = true},
                                .orders = 3,
                                .instances = 2,
                                .stock = 2};

    is_right = is_no_unit_sold_twice;
    for (size_t i = 0; i < 2; i++) {
        guard = guards[i];
        setup.options.returns_to_count = true;
        explore_setup(setup);
        assert_int_equal(has_judged_wrong, guard == GUARD_VALUE);
        setup.options.returns_to_count = false;
        explore_setup(setup);
        assert_false(has_judged_wrong);
    }
}

/* Takes an unknown end for the end that he hoped for. */
static enum outcome hope(struct sale *sale) {
    const enum outcome outcome = lock_row_then_write(sale, 0, ROW_WAIT);

    return outcome == OUTCOME_UNKNOWN ? OUTCOME_SOLD : outcome;
}

static enum outcome do_not_hope(struct sale *sale) {
    return lock_row_then_write(sale, 0, ROW_WAIT);
}

static bool has_all_that_was_promised(const struct model_world *world) {
    for (int i = 0; i < world->setup.orders; i++)
        if (world->state.orders[i].outcome == OUTCOME_SOLD && !world->state.sold[i].is_there)
            return false;
    return true;
}

/* The reply to a commit is lost, or the commit itself. */
static void test_a_commit_of_unknown_end_may_have_none(void **state) {
    static enum outcome (*const sells[])(struct sale *) = {hope, do_not_hope};

    is_right = has_all_that_was_promised;
    for (size_t i = 0; i < 2; i++) {
        const struct strategy strategy = {.name = "trial", .sell = sells[i]};

        explore_setup((struct model_setup){.strategy = &strategy,
                                           .options = {.shards = 1, .wait_ms = 1000},
                                           .orders = 2,
                                           .instances = 2,
                                           .stock = 2,
                                           .faults = 1U << FAULT_LOST_REPLY});
        assert_int_equal(has_judged_wrong, sells[i] == hope);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_who_waited_for_a_row_looks_at_its_guard_again),
        cmocka_unit_test(test_who_has_no_guard_overwrites_what_was_committed_meanwhile),
        cmocka_unit_test(test_of_two_that_wait_for_each_other_one_is_refused),
        cmocka_unit_test(test_serializable_transactions_do_not_write_what_others_read),
        cmocka_unit_test(test_a_holder_that_stands_still_loses_the_row),
        cmocka_unit_test(test_a_value_that_came_back_deceives_and_a_version_does_not),
        cmocka_unit_test(test_a_commit_of_unknown_end_may_have_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
