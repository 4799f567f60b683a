/* Tests transactions that meet: which one waits, the state after the wait, and the end. */
#include "fiber.h"
#include "play.h"
#include "read_then_write.h"
#include "test.h"
#include "trial.h"

/* Two orders, and four units in one row or two. */
static unsigned explore_two(enum outcome (*sell)(struct sale *sale), int shards, unsigned faults,
                            bool (*is_right)(const struct model_world *world)) {
    return explore_trial(&(struct trial){.sell = sell,
                                         .orders = 2,
                                         .stock = 4,
                                         .shards = shards,
                                         .faults = faults,
                                         .wait_ms = 10000,
                                         .is_right = is_right});
}

static bool is_first(const struct sale *sale) {
    return sale->order_id[35] == '1';
}

/* ---- after the wait */

static bool is_every_sale_counted(const struct model_world *world) {
    int count = 0;

    for (int i = 0; i <= world->setup.orders; i++)
        count += world->state.sold[i].is_there;
    return world->state.rows[0].available == 4 - count;
}

/* The first order holds the row and sells. The others have no transaction. */
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

static void test_a_sale_checks_its_guard_again_after_the_wait(void **state) {
    assert_int_equal(explore_two(guard_by_version, 1, 0, is_every_sale_counted), 0);
    assert_int_equal(trial_told[0], 1U << OUTCOME_SOLD);
    assert_int_equal(trial_told[1], 1U << OUTCOME_SOLD | 1U << OUTCOME_CONFLICT);
    assert_int_equal(explore_two(take_at_once, 1, 0, is_every_sale_counted), 0);
    assert_int_equal(trial_told[0] | trial_told[1], 1U << OUTCOME_SOLD);
}

static void test_a_write_without_a_guard_overwrites_a_commit(void **state) {
    assert_int_not_equal(explore_two(overwrite, 1, 0, is_every_sale_counted), 0);
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
    assert_int_equal(explore_two(take_both, 2, 0, is_one_sold), 0);
    assert_int_equal(trial_told[0], 1U << OUTCOME_SOLD | 1U << OUTCOME_CONFLICT);
    assert_int_equal(trial_told[1], 1U << OUTCOME_SOLD | 1U << OUTCOME_CONFLICT);
    assert_int_equal(trial_told[2], 1U << OUTCOME_SOLD);
}

/* ---- carts */

static enum outcome sell_cart(struct sale *sale) {
    int rows[2];
    enum outcome outcome = store_begin(sale, READ_COMMITTED);

    assert_int_equal(outcome, OUTCOME_OK);
    store_cart(sale, rows);
    for (int i = 0; i < 2 && (outcome == OUTCOME_OK || outcome == OUTCOME_SOLD); i++) {
        struct stock_row row;

        outcome = store_read_for_update(sale, rows[i], ROW_WAIT, &row);
        if (outcome == OUTCOME_OK)
            outcome = row.available > 0 ? store_write_stock(sale, &row, GUARD_VERSION, NULL)
                                        : OUTCOME_SOLD_OUT;
    }
    return store_end(sale, outcome);
}

static bool is_no_cart_half(const struct model_world *world) {
    const struct model_state *state = &world->state;
    int count = 0;

    for (int i = 0; i <= world->setup.orders; i++) {
        if (state->sold[i].is_there != state->seconds[i].sold.is_there ||
            (state->sold[i].is_there && state->sold[i].shard == state->seconds[i].sold.shard))
            return false;
        count += state->sold[i].is_there;
    }
    return state->rows[0].available == 2 - count && state->rows[1].available == 1 - count;
}

/* A crash may strike before the commit arrives, and its reply may be lost. */
static void test_a_cart_is_sold_whole_or_not_at_all(void **state) {
    struct trial trial = {.sell = sell_cart,
                          .orders = 2,
                          .stock = 3,
                          .shards = 2,
                          .is_cart = true,
                          .wait_ms = 10000,
                          .is_right = is_no_cart_half};

    assert_int_equal(explore_trial(&trial), 0);
    assert_int_equal(trial_told[0],
                     1U << OUTCOME_SOLD | 1U << OUTCOME_CONFLICT | 1U << OUTCOME_SOLD_OUT);
    assert_int_equal(trial_told[2], 1U << OUTCOME_SOLD_OUT);
    trial.faults = 1U << FAULT_CRASH | 1U << FAULT_LOST_REPLY | 1U << FAULT_PAUSE;
    assert_int_equal(explore_trial(&trial), 0);
    assert_table_leaves_nothing_out(trial);
}

/* ---- serializable */

/* Each order sells from one row if the other row has units. So the last two units must not both be
 * sold. */
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
    assert_int_equal(explore_two(skew_committed, 2, 0, is_one_row_whole), FLAW_WRONG);
    assert_int_equal(explore_two(skew_serializable, 2, 0, is_one_row_whole), 0);
    assert_true((trial_told[0] & trial_told[1] & 1U << OUTCOME_CONFLICT) != 0);
    assert_int_equal(trial_told[0] & 1U << OUTCOME_SOLD, 1U << OUTCOME_SOLD);
}

/* ---- a holder that stands still or dies */

static enum outcome keep_row(struct sale *sale) {
    return lock_row_then_write(sale, 0, ROW_WAIT);
}

static void test_a_holder_that_stands_still_loses_the_row(void **state) {
    assert_int_equal(explore_two(keep_row, 1, 1U << FAULT_PAUSE, is_every_sale_counted), 0);
    assert_int_equal(trial_told[2], 1U << OUTCOME_SOLD);
    assert_true((trial_told[0] & 1U << OUTCOME_BUSY) != 0);
    assert_int_equal(explore_two(keep_row, 1, 1U << FAULT_CRASH, is_every_sale_counted), 0);
    assert_int_equal(trial_told[2], 1U << OUTCOME_SOLD);
}

/* ---- units that come back */

static enum guard guard;

static enum outcome sell_guarded(struct sale *sale) {
    return read_then_write(sale, 0, guard, NULL);
}

static void test_a_value_that_came_back_deceives_and_a_version_does_not(void **state) {
    static const enum guard guards[] = {GUARD_VALUE, GUARD_VERSION};
    struct trial trial = {.sell = sell_guarded, .wait_ms = 1000};

    for (size_t i = 0; i < 2; i++) {
        guard = guards[i];
        trial.returns_to_count = true;
        assert_int_equal(explore_trial(&trial) & FLAW_TWIN, guard == GUARD_VALUE ? FLAW_TWIN : 0);
        trial.returns_to_count = false;
        assert_int_equal(explore_trial(&trial) & FLAW_TWIN, 0);
    }
}

/* Treats an unknown end as a sale. */
static enum outcome hope(struct sale *sale) {
    const enum outcome outcome = lock_row_then_write(sale, 0, ROW_WAIT);

    return outcome == OUTCOME_UNKNOWN ? OUTCOME_SOLD : outcome;
}

static bool has_all_that_was_promised(const struct model_world *world) {
    for (int i = 0; i < world->setup.orders; i++)
        if (world->state.orders[i].outcome == OUTCOME_SOLD && !world->state.sold[i].is_there)
            return false;
    return true;
}

/* The reply to a commit is lost, or the commit itself. */
static void test_a_commit_of_unknown_end_may_have_none(void **state) {
    struct trial trial = {.sell = hope,
                          .orders = 2,
                          .faults = 1U << FAULT_LOST_REPLY,
                          .wait_ms = 1000,
                          .is_right = has_all_that_was_promised};

    assert_int_equal(explore_trial(&trial), FLAW_WRONG);
    trial.sell = keep_row;
    assert_int_equal(explore_trial(&trial), 0);
}

/* ---- a write with a lost reply that arrives while its order is in a transaction */

/* The order goes on without waiting for its write. */
static enum outcome write_and_begin(struct sale *sale) {
    struct stock_row row;
    enum outcome outcome = store_read_stock(sale, 0, &row);

    if (outcome == OUTCOME_OK)
        outcome = store_write_stock(sale, &row, GUARD_VERSION, NULL);
    if (outcome != OUTCOME_UNKNOWN)
        return outcome;
    outcome = store_begin(sale, READ_COMMITTED);
    for (int i = 0; i < 2 && outcome == OUTCOME_OK; i++)
        outcome = store_read_stock(sale, 0, &row);
    return store_end(sale, outcome == OUTCOME_OK ? OUTCOME_BUSY : OUTCOME_FAILED);
}

/* The late write is not a step of that transaction. */
static void test_a_late_write_is_no_part_of_a_transaction(void **state) {
    static const struct strategy strategy = {.name = "late", .sell = write_and_begin};
    static struct model_world world;

    world.setup = (struct model_setup){.strategy = &strategy,
                                       .options = {.wait_ms = 5000, .ttl_ms = 10000, .shards = 1},
                                       .orders = 1,
                                       .instances = 1,
                                       .stock = 3,
                                       .faults = 1U << FAULT_LOST_REPLY};
    play_begin(&world);
    make_moves(&world, "AaA");
    assert_int_equal(world.state.txns[0].state, TXN_READ_COMMITTED);
    make_moves(&world, "l0");
    assert_true(world.state.sold[0].is_there);
    assert_int_equal(world.state.rows[0].available, 2);
    assert_int_equal(world.state.rows[0].holder, -1);
    assert_int_equal(world.state.txns[0].state, TXN_READ_COMMITTED);
    play_end(&world);
    fiber_cleanup();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_sale_checks_its_guard_again_after_the_wait),
        cmocka_unit_test(test_a_write_without_a_guard_overwrites_a_commit),
        cmocka_unit_test(test_of_two_that_wait_for_each_other_one_is_refused),
        cmocka_unit_test(test_a_cart_is_sold_whole_or_not_at_all),
        cmocka_unit_test(test_serializable_transactions_do_not_write_what_others_read),
        cmocka_unit_test(test_a_holder_that_stands_still_loses_the_row),
        cmocka_unit_test(test_a_value_that_came_back_deceives_and_a_version_does_not),
        cmocka_unit_test(test_a_commit_of_unknown_end_may_have_none),
        cmocka_unit_test(test_a_late_write_is_no_part_of_a_transaction),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
