#include "trial.h"

#include "fiber.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

struct exploration trial_result;

static unsigned judge(void *data, const struct model_world *world) {
    const struct model_state *state = &world->state;
    const int orders = world->setup.orders;
    unsigned flaws = 0;

    for (int i = 0; i <= orders; i++)
        for (int j = 0; j < i; j++)
            if (state->sold[i].is_there && state->sold[j].is_there &&
                state->sold[i].unit == state->sold[j].unit)
                flaws |= FLAW_TWIN;
    if (state->rows[0].available > 0 && state->orders[orders].outcome != OUTCOME_SOLD)
        flaws |= FLAW_STUCK;
    *(unsigned *)data |= flaws;
    return flaws;
}

unsigned explore_trial(const struct trial *trial) {
    const struct strategy strategy = {.name = "trial", .sell = trial->sell};
    unsigned flaws = 0;

    trial_result = (struct exploration){
        .setup = {.strategy = &strategy,
                  .options = {.shards = 1,
                              .wait_ms = 5000,
                              .ttl_ms = trial->ttl_ms > 0 ? trial->ttl_ms : 10000,
                              .work_ms = trial->work_ms,
                              .replicas = trial->replicas},
                  .orders = trial->orders > 0 ? trial->orders : 3,
                  .instances = trial->instances > 0 ? trial->instances : 2,
                  .machines = trial->machines,
                  .stock = 2,
                  .faults = trial->faults},
        .preemptions = 3,
        .is_naive = trial->is_naive,
        .judge = judge,
        .data = &flaws};
    assert_int_equal(explore(&trial_result), 0);
    assert_int_equal(trial_result.end, EXPLORE_COMPLETE);
    assert_true(trial_result.schedules > 0);
    assert_int_equal(flaws != 0, trial_result.violated > 0);
    fiber_cleanup();
    return flaws;
}
