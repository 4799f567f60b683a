#include "trial.h"

#include "fiber.h"
#include "play.h"
#include "spec.h"
#include "test.h"

#include <string.h>

struct exploration trial_result;
unsigned trial_told[MODEL_ORDERS + 1];

bool has_twins(const struct model_world *world) {
    const struct model_sold *sold = world->state.sold;

    for (int i = 0; i <= world->setup.orders; i++)
        for (int j = 0; j < i; j++)
            if (sold[i].is_there && sold[j].is_there && sold[i].unit == sold[j].unit)
                return true;
    return false;
}

static const struct trial *tried;

static unsigned judge(void *data, const struct model_world *world) {
    const struct model_state *state = &world->state;
    unsigned flaws = has_twins(world) ? FLAW_TWIN : 0;

    if (tried->is_right != NULL)
        flaws |= tried->is_right(world) ? 0 : FLAW_WRONG;
    else if (state->rows[0].available > 0 &&
             state->orders[world->setup.orders].outcome != OUTCOME_SOLD)
        flaws |= FLAW_STUCK;
    for (int i = 0; i <= world->setup.orders; i++)
        trial_told[i] |= 1U << state->orders[i].outcome;
    *(unsigned *)data |= flaws;
    return flaws;
}

unsigned explore_trial(const struct trial *trial) {
    const struct strategy strategy = {.name = "trial", .sell = trial->sell};
    unsigned flaws = 0;

    tried = trial;
    memset(trial_told, 0, sizeof trial_told);
    trial_result = (struct exploration){
        .setup = {.strategy = &strategy,
                  .options = {.shards = trial->shards > 0 ? trial->shards : 1,
                              .wait_ms = trial->wait_ms > 0 ? trial->wait_ms : 5000,
                              .ttl_ms = trial->ttl_ms > 0 ? trial->ttl_ms : 10000,
                              .work_ms = trial->work_ms,
                              .returns_to_count = trial->returns_to_count,
                              .is_cart = trial->is_cart,
                              .replicas = trial->replicas},
                  .orders = trial->orders > 0 ? trial->orders : 3,
                  .instances = trial->instances > 0 ? trial->instances : 2,
                  .machines = trial->machines,
                  .stock = trial->stock > 0 ? trial->stock : 2,
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

void assert_table_leaves_nothing_out(struct trial trial) {
    const unsigned flaws = explore_trial(&trial);
    const struct exploration with_table = trial_result;

    trial.is_naive = true;
    assert_int_equal(explore_trial(&trial), flaws);
    assert_true(trial_result.schedules == with_table.schedules);
    assert_true(trial_result.violated == with_table.violated);
    assert_true(trial_result.runs > with_table.runs);
}

bool is_offered(struct model_world *world, enum model_move_kind kind, int who) {
    struct model_move moves[MODEL_MOVES];
    const size_t count = model_moves(world, moves);

    for (size_t i = 0; i < count; i++)
        if (moves[i].kind == kind && moves[i].who == who)
            return true;
    return false;
}

void make_moves(struct model_world *world, const char *id) {
    struct schedule schedule;

    assert_int_equal(schedule_read(&schedule, id), 0);
    for (size_t i = 0; i < schedule.count; i++) {
        const struct model_move move = schedule.moves[i];

        assert_true(is_offered(world, (enum model_move_kind)move.kind, move.who));
        assert_int_equal(play_move(world, move), 0);
    }
}

struct model_setup setup_of(const char *text, int orders, int stock) {
    struct strategy_spec spec;
    struct why why;

    assert_int_equal(spec_parse(text, &spec, &why), 0);
    return (struct model_setup){.strategy = spec.strategy,
                                .options = spec.options,
                                .orders = orders,
                                .instances = 2,
                                .stock = stock};
}
