/* A write whose reply is lost, and which arrives while its order is in a transaction. */
#include "fiber.h"
#include "play.h"
#include "test.h"

/* It goes on as if nothing had been sent. */
static enum outcome sell(struct sale *sale) {
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

static struct model_world world;

static void make(enum model_move_kind kind) {
    assert_int_equal(play_move(&world, (struct model_move){(uint8_t)kind, 0}), 0);
}

/* It is no step of that transaction. */
static void test_what_arrives_late_is_no_part_of_a_transaction(void **state) {
    static const struct strategy strategy = {.name = "late", .sell = sell};

    world.setup = (struct model_setup){.strategy = &strategy,
                                       .options = {.wait_ms = 5000, .ttl_ms = 10000, .shards = 1},
                                       .orders = 1,
                                       .instances = 1,
                                       .stock = 3,
                                       .faults = 1U << FAULT_LOST_REPLY};
    play_begin(&world);
    make(MOVE_RUN);
    make(MOVE_LOSE);
    make(MOVE_RUN);
    assert_int_equal(world.state.txns[0].state, TXN_READ_COMMITTED);
    make(MOVE_LAND);
    assert_true(world.state.sold[0].is_there);
    assert_int_equal(world.state.rows[0].available, 2);
    assert_int_equal(world.state.rows[0].holder, -1);
    assert_int_equal(world.state.txns[0].state, TXN_READ_COMMITTED);
    play_end(&world);
}

static int tear_down(void **state) {
    fiber_cleanup();
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_arrives_late_is_no_part_of_a_transaction),
    };

    return cmocka_run_group_tests(tests, NULL, tear_down);
}
