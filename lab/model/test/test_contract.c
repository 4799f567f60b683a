/* Runs the contract of the seam on the model. */
#include "model.h"
#include "seam_contract.h"
#include "servers.h"
#include "spec.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

static struct model_world world;
static struct strategy_spec spec;
static bool has_passed[MODEL_ORDERS + 1][SPEC_FAILPOINTS];
static int begun;

/* No other order is there to change anything, so time passes, and sometimes this changes something.
 */
static void on_turn(struct model_world *of, int index) {
    if (of->state.orders[index].waits == WAITS_CHANGE && !model_is_ready(of, index)) {
        of->mover = -1;
        of->state.orders[index].wake_ms = of->state.now_ms + 30;
        model_changed(of);
    }
    assert_true(model_make(of, (struct model_move){MOVE_RUN, (uint8_t)index}));
    assert_true(model_is_ready(of, index));
}

static enum outcome pass(struct sale *sale, enum fail_point point) {
    const int index = model_of(sale)->index;
    enum fail_action action = FAIL_NOTHING;

    for (size_t i = 0; i < SPEC_FAILPOINTS && action == FAIL_NOTHING; i++)
        action = failpoint_pass(&spec.failpoints[i], sale->instance, point, &has_passed[index][i]);
    return action == FAIL_ERROR ? OUTCOME_FAILED : OUTCOME_OK;
}

static void make_product(const char *text, int stock) {
    static struct store_ops ops;
    struct why why;

    assert_int_equal(spec_parse(text, &spec, &why), 0);
    memset(&world, 0, sizeof world);
    memset(has_passed, 0, sizeof has_passed);
    world.setup = (struct model_setup){.strategy = spec.strategy,
                                       .options = spec.options,
                                       .orders = MODEL_ORDERS,
                                       .instances = 1,
                                       .stock = stock};
    world.turn = on_turn;
    model_begin(&world);
    ops = *world.sales[0].sale.ops;
    ops.pass = pass;
    for (int i = 0; i <= MODEL_ORDERS; i++) {
        world.sales[i].sale.ops = &ops;
        world.state.orders[i].state = ORDER_ENDED;
    }
    begun = 0;
}

static struct sale *begin_sale(const struct sale *other) {
    struct model_sale *sale = &world.sales[begun];

    assert_true(begun <= MODEL_ORDERS);
    world.state.orders[begun].state = ORDER_RUNS;
    world.state.orders[begun].begun_ms = world.state.now_ms;
    begun++;
    if (other != NULL)
        sale->ledger = ((const struct model_sale *)(const void *)other)->ledger;
    return &sale->sale;
}

static void end_sale(struct sale *sale) {
    world.state.orders[model_of(sale)->index].state = ORDER_ENDED;
}

/* Let the last order sleep for `ms`. */
static void let_pass(int64_t ms) {
    struct model_order *last = &world.state.orders[MODEL_ORDERS];
    const uint8_t state = last->state;

    last->state = ORDER_RUNS;
    last->wake_ms = world.state.now_ms + ms;
    assert_true(model_make(&world, (struct model_move){MOVE_RUN, MODEL_ORDERS}));
    last->state = state;
    if (model_brings_at(&world, 0) <= world.state.now_ms)
        (void)model_make(&world, (struct model_move){MOVE_BRING, 0});
}

static void test_case(void **state) {
    static const struct seam_world seam = {make_product, begin_sale, end_sale, let_pass};
    const struct seam_case *running = *state;

    seam_contract_hold(&seam, running);
}

int main(void) {
    struct CMUnitTest tests[64] = {{0}};
    size_t count = 0;

    for (const struct seam_case *at = seam_contract; at->name != NULL; at++)
        tests[count++] =
            (struct CMUnitTest){at->name, test_case, NULL, NULL, (void *)(uintptr_t)at};
    assert_true(count < sizeof tests / sizeof *tests);
    return _cmocka_run_group_tests("seam", tests, count, NULL, NULL);
}
