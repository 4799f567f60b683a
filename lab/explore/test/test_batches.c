/* Tests batches: which sales go together, each sale's answer, and the effect of faults. */
#include "fiber.h"
#include "play.h"
#include "test.h"
#include "trial.h"

#include <string.h>

#define LOST  (1U << FAULT_LOST_REPLY)
#define CRASH (1U << FAULT_CRASH)
#define PAUSE (1U << FAULT_PAUSE)
#define ALL   ((1U << FAULT_COUNT) - 1)

static enum outcome join(struct sale *sale) {
    return store_take_in_batch(sale, 0);
}

static enum outcome join_and_look(struct sale *sale) {
    enum outcome outcome = join(sale);
    bool is_found = false;

    if (outcome == OUTCOME_UNKNOWN && store_find_sale(sale, &is_found) == OUTCOME_OK && is_found)
        outcome = OUTCOME_REPEATED;
    return outcome;
}

static enum outcome join_again(struct sale *sale) {
    enum outcome outcome = join(sale);

    return outcome == OUTCOME_UNKNOWN ? join(sale) : outcome;
}

/* ---- one schedule, move by move */

static const struct strategy joining = {.name = "joining", .sell = join};
static struct model_world world;

static void begin(int orders, int stock, unsigned faults) {
    memset(&world, 0, sizeof world);
    world.setup = (struct model_setup){.strategy = &joining,
                                       .options = {.wait_ms = 5000, .ttl_ms = 10000, .shards = 1},
                                       .orders = orders,
                                       .instances = 1,
                                       .stock = stock,
                                       .faults = faults};
    play_begin(&world);
}

/* The first order's statement is on its way, and the others wait for it. */
static void come(int orders) {
    make_moves(&world, orders == 3 ? "ABC" : "ABCD");
    for (int i = 1; i < orders; i++)
        assert_false(is_offered(&world, MOVE_RUN, i));
}

static void assert_told(int index, enum outcome outcome) {
    assert_int_equal(world.state.orders[index].state, ORDER_ENDED);
    assert_int_equal(world.state.orders[index].outcome, outcome);
}

static int sold_count(void) {
    int count = 0;

    for (int i = 0; i <= MODEL_ORDERS; i++)
        count += world.state.sold[i].is_there;
    return count;
}

static void test_the_first_goes_alone_and_the_waiters_go_together(void **state) {
    begin(4, 3, 0);
    come(4);
    make_moves(&world, "A");
    assert_told(0, OUTCOME_SOLD);
    assert_int_equal(sold_count(), 1);
    make_moves(&world, "B"); /* one step sells to two orders, and has no unit for the third */
    assert_int_equal(sold_count(), 3);
    assert_int_equal(world.state.rows[0].available, 0);
    assert_int_equal(world.state.rows[0].version, 3);
    assert_told(1, OUTCOME_SOLD);
    make_moves(&world, "CD");
    assert_told(2, OUTCOME_SOLD);
    assert_told(3, OUTCOME_SOLD_OUT);
    assert_int_equal(world.state.orders[1].unit, 2);
    assert_int_equal(world.state.orders[2].unit, 1);
    assert_int_equal(world.state.orders[2].remaining, 0);
}

static void test_an_order_that_is_there_twice_is_sold_once(void **state) {
    begin(4, 4, 0);
    world.sales[2].ledger = 1;
    world.sales[3].ledger = 0;
    come(4);
    make_moves(&world, "ABCD");
    assert_told(1, OUTCOME_SOLD);
    assert_told(2, OUTCOME_REPEATED);
    assert_told(3, OUTCOME_REPEATED);
    assert_int_equal(world.state.rows[0].available, 2);
}

/* ---- faults */

static void test_one_lost_reply_leaves_all_of_a_batch_unknown(void **state) {
    begin(3, 3, LOST);
    come(3);
    make_moves(&world, "Ab");
    assert_int_equal(sold_count(), 1);
    make_moves(&world, "l1");
    assert_int_equal(sold_count(), 3);
    assert_false(is_offered(&world, MOVE_LAND, 1));
    make_moves(&world, "BCC"); /* each order looks for its own sale */
    assert_told(1, OUTCOME_REPEATED);
    assert_told(2, OUTCOME_REPEATED);
}

static void test_a_killed_instances_batch_lands_as_a_whole(void **state) {
    begin(4, 4, CRASH);
    make_moves(&world, "ABCADk0"); /* D waits, and its statement has not left */
    assert_int_equal(sold_count(), 1);
    make_moves(&world, "l1");
    assert_int_equal(sold_count(), 3);
    assert_false(world.state.sold[3].is_there);
    for (int i = 1; i < 4; i++)
        assert_true(model_is_gone(&world, i));
    for (int i = 0; i <= MODEL_ORDERS; i++)
        assert_int_equal(world.state.batches[i].sent | world.state.batches[i].waiting, 0);
}

static void test_or_nothing_of_it(void **state) {
    begin(3, 3, CRASH);
    come(3);
    make_moves(&world, "Ak0D");
    assert_told(3, OUTCOME_SOLD);
    assert_int_equal(sold_count(), 2);
}

static void test_an_order_that_waited_through_a_pause_is_turned_away(void **state) {
    begin(3, 3, PAUSE);
    come(3);
    make_moves(&world, "p0r0ABC");
    assert_told(0, OUTCOME_SOLD);
    assert_told(1, OUTCOME_BUSY);
    assert_told(2, OUTCOME_BUSY);
    assert_int_equal(sold_count(), 1);
}

/* ---- all schedules */

static unsigned together; /* sales that were in another order's statement */

/* An order with an outcome that it has not heard yet was in this order's statement. */
static enum outcome join_and_see(struct sale *sale) {
    const struct model_world *at = ((const struct model_sale *)(const void *)sale)->world;
    const enum outcome outcome = join(sale);

    for (int i = 0; i <= at->setup.orders; i++)
        together +=
            at->state.orders[i].state == ORDER_RUNS && at->state.orders[i].outcome != OUTCOME_OK;
    return outcome;
}

static unsigned together_in(int orders, int instances) {
    together = 0;
    assert_int_equal(
        explore_trial(&(struct trial){
            .sell = join_and_see, .orders = orders, .instances = instances, .is_naive = true}),
        0);
    return together;
}

static void test_a_batch_of_two_needs_three_at_one_instance(void **state) {
    assert_int_equal(together_in(2, 1), 0);
    assert_int_equal(together_in(3, 2), 0);
    assert_true(together_in(3, 1) > 0);
    assert_true(together_in(5, 2) > 0);
}

static void test_no_fault_breaks_it(void **state) {
    static enum outcome (*const sells[])(struct sale *) = {join, join_and_look, join_again};

    for (size_t i = 0; i < sizeof sells / sizeof *sells; i++)
        for (int instances = 1; instances <= 2; instances++)
            assert_int_equal(explore_trial(&(struct trial){
                                 .sell = sells[i], .instances = instances, .faults = ALL}),
                             0);
}

/* A sale alone asks the database once. */
static void test_a_sale_alone_makes_one_step(void **state) {
    const struct model_setup setup = {
        .strategy = &joining, .options = {.shards = 1}, .orders = 3, .instances = 1, .stock = 2};

    assert_int_equal(explore_steps_alone(&setup), 1);
}

static void test_the_table_leaves_nothing_out(void **state) {
    static enum outcome (*const sells[])(struct sale *) = {join_and_look, join_again};

    for (int fault = 0; fault < FAULT_COUNT; fault++)
        for (size_t i = 0; i < 2; i++)
            assert_table_leaves_nothing_out(
                (struct trial){.sell = sells[i], .instances = 1, .faults = LOST | 1U << fault});
}

static int tear_down(void **state) {
    play_end(&world);
    fiber_cleanup();
    return 0;
}

#define TEST(name) cmocka_unit_test_teardown(name, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_the_first_goes_alone_and_the_waiters_go_together),
        TEST(test_an_order_that_is_there_twice_is_sold_once),
        TEST(test_one_lost_reply_leaves_all_of_a_batch_unknown),
        TEST(test_a_killed_instances_batch_lands_as_a_whole),
        TEST(test_or_nothing_of_it),
        TEST(test_an_order_that_waited_through_a_pause_is_turned_away),
        cmocka_unit_test(test_a_batch_of_two_needs_three_at_one_instance),
        cmocka_unit_test(test_no_fault_breaks_it),
        cmocka_unit_test(test_a_sale_alone_makes_one_step),
        cmocka_unit_test(test_the_table_leaves_nothing_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
