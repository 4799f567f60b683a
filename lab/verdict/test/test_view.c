/* Tests the judge's verdicts on the ends of schedules. */
#include "fiber.h"
#include "test.h"
#include "trial.h"
#include "view.h"

#include <string.h>

static struct model_world world;
static struct view *view;

static const struct strategy none = {.name = "none"};

static int set_up(void **state) {
    memset(&world, 0, sizeof world);
    world.setup = (struct model_setup){.strategy = &none,
                                       .options = {.shards = 1, .wait_ms = 5000},
                                       .orders = 2,
                                       .instances = 2,
                                       .stock = 2};
    model_begin(&world);
    view = view_make();
    assert_non_null(view);
    return 0;
}

static int tear_down(void **state) {
    view_free(view);
    return 0;
}

static void end(int index, enum outcome outcome, unsigned came_after) {
    struct model_order *order = &world.state.orders[index];

    order->state = ORDER_ENDED;
    order->outcome = (uint8_t)outcome;
    order->came_after = (uint8_t)came_after;
    world.state.answered |= (uint8_t)(1U << index);
}

/* Adds a row to the ledger. It sets no answer. */
static void sell(int index, int unit) {
    world.state.sold[index] = (struct model_sold){
        .is_there = true, .number = ++world.state.sold_count, .unit = unit, .remaining = unit - 1};
    world.state.orders[index].unit = unit;
    world.state.rows[0].available = unit - 1;
}

static void sold(int index, int unit, unsigned came_after) {
    sell(index, unit);
    end(index, OUTCOME_SOLD, came_after);
}

static void assert_told(unsigned expected, const char *text) {
    char told[VIEW_TEXT];

    assert_int_equal(view_judge(view, &world), expected);
    assert_int_equal(view_judge(view, &world), expected); /* from its memory */
    assert_int_equal(view_tell(view, &world, told), expected);
    assert_string_equal(told, text);
    assert_false(view_has_failed(view));
}

static void test_a_sale_of_all_units_is_right(void **state) {
    sold(0, 2, 0);
    sold(1, 1, 0);
    end(2, OUTCOME_SOLD_OUT, 3);
    assert_told(0, "");
}

static void test_a_twin_names_the_orders_by_their_letters(void **state) {
    end(0, OUTCOME_BUSY, 0);
    sold(2, 2, 3);
    sold(1, 2, 0);
    assert_told(1U << ANOMALY_TWIN | 1U << ANOMALY_STALE,
                "C was sent after B had been answered. B had left 1, and C read 2, so both sold "
                "unit 2. There was one unit 2, and two orders have it: a contradiction.");
}

static void test_a_later_order_must_not_see_an_older_count(void **state) {
    sold(0, 1, 0);
    sold(1, 2, 1);
    world.state.rows[0].available = 0;
    end(2, OUTCOME_SOLD_OUT, 3);
    assert_int_equal(view_judge(view, &world), 1U << ANOMALY_STALE);
    world.state.orders[1].came_after = 0; /* now the two overlap */
    assert_int_equal(view_judge(view, &world), 0);
}

static void test_a_last_customer_is_sold_a_unit_that_is_left(void **state) {
    sold(0, 2, 0);
    end(1, OUTCOME_BUSY, 0);
    sold(2, 1, 3);
    assert_told(0, "");
}

static void test_sold_out_while_units_are_left_is_an_undersell(void **state) {
    end(0, OUTCOME_BUSY, 0);
    sold(1, 2, 0);
    end(2, OUTCOME_SOLD_OUT, 3);
    assert_told(1U << ANOMALY_UNDERSELL,
                "At the end 1 unit is left in the stock. They were never sold, so they were "
                "in the stock when C was told sold out: a contradiction.");
}

static void test_sold_out_after_a_unit_came_back_is_stuck(void **state) {
    end(0, OUTCOME_BUSY, 0);
    sold(1, 2, 0);
    end(2, OUTCOME_SOLD_OUT, 3);
    world.state.gave_back = 1;
    assert_true((view_judge(view, &world) & 1U << ANOMALY_STUCK) != 0);
}

static void test_sold_out_before_another_bought_is_early(void **state) {
    end(0, OUTCOME_SOLD_OUT, 0);
    sold(1, 2, 1);
    sold(2, 1, 3);
    assert_int_equal(view_judge(view, &world), 1U << ANOMALY_EARLY_SOLD_OUT);
}

static void test_a_last_customer_that_is_turned_away_shows_a_stuck_lock(void **state) {
    sold(0, 2, 0);
    end(1, OUTCOME_BUSY, 0);
    end(2, OUTCOME_BUSY, 3);
    assert_told(1U << ANOMALY_STUCK,
                "1 unit is left, but the last customer, C, came alone and was told BUSY.");
    end(2, OUTCOME_CONFLICT, 3);
    assert_int_equal(view_judge(view, &world), 1U << ANOMALY_STUCK);
    world.state.rows[0].available = 0; /* no unit is left */
    sold(1, 1, 0);
    end(2, OUTCOME_BUSY, 3);
    assert_int_equal(view_judge(view, &world), 0);
}

static void test_a_killed_order_may_have_its_unit_or_not(void **state) {
    world.state.faults_made = 1U << FAULT_CRASH;
    world.state.orders[0].state = ORDER_KILLED;
    end(1, OUTCOME_BUSY, 0);
    sold(2, 2, 2);
    assert_told(0, "");
    sell(0, 2);
    sold(2, 1, 2);
    assert_told(0, "");
}

static void test_a_no_with_a_row_is_an_orphan_and_a_yes_without_a_ghost(void **state) {
    sell(0, 2);
    end(0, OUTCOME_BUSY, 0);
    sold(1, 1, 0);
    end(2, OUTCOME_SOLD_OUT, 3);
    assert_told(1U << ANOMALY_ORPHAN,
                "The ledger has a sale, and its customer was told no: a contradiction.");
    end(0, OUTCOME_SOLD, 0);
    world.state.sold[0].is_there = false;
    assert_int_equal(view_judge(view, &world) & (1U << ANOMALY_GHOST | 1U << ANOMALY_ORPHAN),
                     1U << ANOMALY_GHOST);
}

static void test_a_repeat_is_told_of_the_unit_that_the_ledger_has(void **state) {
    sell(0, 2);
    world.state.orders[0].unit = 0;
    end(0, OUTCOME_REPEATED, 0);
    sold(1, 1, 0);
    end(2, OUTCOME_SOLD_OUT, 3);
    assert_told(0, "");
}

static void test_a_failure_needs_a_fault(void **state) {
    sold(0, 2, 0);
    end(1, OUTCOME_FAILED, 0);
    sold(2, 1, 3);
    assert_told(1U << VIEW_NO_ANSWER, "B was answered FAILED, but nothing had failed.");
    world.state.faults_made = 1U << FAULT_LOST_REPLY;
    assert_told(0, "");
    world.state.orders[1].outcome = OUTCOME_OK;
    assert_int_equal(view_judge(view, &world), 1U << VIEW_NO_ANSWER);
    world.state.orders[1].outcome = 99;
    assert_int_equal(view_judge(view, &world), 1U << VIEW_NO_ANSWER);
}

static void test_an_order_that_waits_for_ever_is_endless(void **state) {
    sold(0, 2, 0);
    world.state.orders[1].state = ORDER_RUNS;
    sold(2, 1, 1);
    assert_told(1U << VIEW_ENDLESS, "B does not end.");
}

static void test_a_sale_without_its_work_is_named(void **state) {
    sold(0, 2, 0);
    sold(1, 1, 1);
    sold(2, 0, 3);
    world.state.skipped = 2;
    assert_int_equal(view_judge(view, &world) & 1U << VIEW_SKIPS_WORK, 1U << VIEW_SKIPS_WORK);
    world.state.skipped = 0;
    assert_int_equal(view_judge(view, &world) & 1U << VIEW_SKIPS_WORK, 0);
}

static void test_a_deleted_key_of_another_is_named(void **state) {
    end(0, OUTCOME_SOLD, 0);
    sold(0, 2, 0);
    sold(1, 1, 1);
    end(2, OUTCOME_SOLD_OUT, 3);
    world.state.freed = 2;
    assert_told(1U << VIEW_FREES_ANOTHERS, "B deleted a key that another order had set.");
}

/* ---- carts */

/* Three units of product 0, and two of product 1. */
static void begin_carts(void) {
    world.setup.options.is_cart = true;
    world.setup.options.shards = 2;
    world.setup.stock = 5;
    model_begin(&world);
}

static void sell_product(int index, int product) {
    struct model_row *row = &world.state.rows[product];
    struct model_sold *sold = &world.state.sold[index];

    if (sold->is_there)
        sold = &world.state.seconds[index].sold;
    row->available--;
    *sold = (struct model_sold){.is_there = true,
                                .shard = (uint8_t)product,
                                .number = ++world.state.sold_count,
                                .unit = row->first_unit + row->available,
                                .remaining = row->available};
    if (sold == &world.state.sold[index]) {
        world.state.orders[index].unit = sold->unit;
        world.state.orders[index].shard = product;
    }
}

static void sell_cart(int index, unsigned came_after) {
    sell_product(index, index % 2);
    sell_product(index, 1 - index % 2);
    end(index, OUTCOME_SOLD, came_after);
}

static void test_a_cart_is_sold_out_with_its_first_product(void **state) {
    begin_carts();
    sell_cart(0, 0);
    sell_cart(1, 1);
    end(2, OUTCOME_SOLD_OUT, 3);
    assert_told(0, "");
    begin_carts();
    sell_cart(0, 0);
    end(1, OUTCOME_BUSY, 1);
    end(2, OUTCOME_SOLD_OUT, 3);
    assert_int_equal(view_judge(view, &world), 1U << ANOMALY_UNDERSELL);
}

static void test_half_a_cart_is_named(void **state) {
    begin_carts();
    sell_product(0, 1);
    end(0, OUTCOME_SOLD, 0);
    sell_cart(1, 0);
    end(2, OUTCOME_SOLD_OUT, 3);
    assert_told(1U << VIEW_HALF_CART | 1U << ANOMALY_GHOST | 1U << ANOMALY_UNDERSELL,
                "A was sold unit 5, of product 1, but nothing of product 0.");
}

static void test_a_twin_of_one_product_is_named_with_its_product(void **state) {
    char told[VIEW_TEXT];

    begin_carts();
    sell_cart(0, 0);
    world.state.rows[1].available = 2;
    sell_cart(1, 0);
    end(2, OUTCOME_BUSY, 3);
    assert_true((view_tell(view, &world, told) & 1U << ANOMALY_TWIN) != 0);
    assert_ptr_equal(strstr(told, "Of product 1, with its units counted from 1: "), told);
}

static void test_a_deadlock_is_named_unless_its_order_began_again(void **state) {
    begin_carts();
    end(0, OUTCOME_CONFLICT, 0);
    world.state.orders[0].has_deadlocked = 1;
    sell_cart(1, 0);
    sell_cart(2, 3);
    assert_told(1U << VIEW_DEADLOCK,
                "A waited for a row that another order held, and that order for a row of A: a "
                "deadlock (40P01). The database ended the transaction of A, and A was told "
                "CONFLICT.");
    world.state.orders[0].outcome = OUTCOME_SOLD_OUT;
    assert_int_equal(view_judge(view, &world) & 1U << VIEW_DEADLOCK, 0);
}

static void test_a_doubt_that_a_question_would_end_is_named(void **state) {
    world.state.faults_made = 1U << FAULT_LOST_REPLY;
    sold(0, 2, 0);
    sold(1, 1, 0);
    end(1, OUTCOME_UNKNOWN, 0);
    end(2, OUTCOME_SOLD_OUT, 3);
    assert_told(0, "");
    world.setup.knows_all = 1;
    tear_down(state);
    view = view_make(); /* one setup has one view */
    assert_told(1U << VIEW_IN_DOUBT, "B was told UNKNOWN, but the store answered again.");
}

static void test_anomalies_have_names(void **state) {
    assert_string_equal(view_name(ANOMALY_TWIN), "TWIN");
    assert_string_equal(view_name(VIEW_ENDLESS), "ENDLESS");
    assert_string_equal(view_meaning(VIEW_ENDLESS), "an order does not end");
    assert_string_equal(view_meaning(ANOMALY_TWIN), anomaly_text(ANOMALY_TWIN));
}

/* ---- for all ends of real schedules, the remembered verdict is the judge's */

static uint64_t ends, wrong;

static unsigned judge_both(void *data, const struct model_world *at) {
    const unsigned found = view_judge(data, at);
    char told[VIEW_TEXT];

    assert_int_equal(found, view_tell(data, at, told));
    ends++;
    wrong += found != 0;
    return found;
}

static uint64_t explore_both(const char *text, int stock) {
    struct exploration it = {.setup = setup_of(text, 3, stock),
                             .preemptions = 2,
                             .is_naive = true,
                             .judge = judge_both,
                             .data = view};

    ends = wrong = 0;
    assert_int_equal(explore(&it), 0);
    assert_int_equal(it.end, EXPLORE_COMPLETE);
    assert_int_equal(ends, it.schedules);
    assert_int_equal(wrong, it.violated);
    return it.violated;
}

static void test_a_remembered_verdict_is_the_judges(void **state) {
    for (int stock = 0; stock <= 3; stock++) {
        assert_int_equal(explore_both("none", stock) > 0, stock > 0);
        assert_int_equal(explore_both("pg-version", stock), 0);
        assert_int_equal(explore_both("pg-value", stock), 0);
        assert_int_equal(explore_both("atomic", stock), 0);
    }
    fiber_cleanup();
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(test_a_sale_of_all_units_is_right),
        TEST(test_a_twin_names_the_orders_by_their_letters),
        TEST(test_a_later_order_must_not_see_an_older_count),
        TEST(test_a_last_customer_is_sold_a_unit_that_is_left),
        TEST(test_sold_out_while_units_are_left_is_an_undersell),
        TEST(test_sold_out_after_a_unit_came_back_is_stuck),
        TEST(test_sold_out_before_another_bought_is_early),
        TEST(test_a_last_customer_that_is_turned_away_shows_a_stuck_lock),
        TEST(test_a_killed_order_may_have_its_unit_or_not),
        TEST(test_a_no_with_a_row_is_an_orphan_and_a_yes_without_a_ghost),
        TEST(test_a_repeat_is_told_of_the_unit_that_the_ledger_has),
        TEST(test_a_failure_needs_a_fault),
        TEST(test_an_order_that_waits_for_ever_is_endless),
        TEST(test_a_sale_without_its_work_is_named),
        TEST(test_a_deleted_key_of_another_is_named),
        TEST(test_a_cart_is_sold_out_with_its_first_product),
        TEST(test_half_a_cart_is_named),
        TEST(test_a_twin_of_one_product_is_named_with_its_product),
        TEST(test_a_deadlock_is_named_unless_its_order_began_again),
        TEST(test_a_doubt_that_a_question_would_end_is_named),
        TEST(test_anomalies_have_names),
        TEST(test_a_remembered_verdict_is_the_judges),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
