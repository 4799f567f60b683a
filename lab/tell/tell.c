/* Collects the steps of a schedule. */
#include "tell.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static struct tell_step *tell_add_step(struct tell *tell) {
    if (tell->count == tell->room) {
        const size_t room = tell->room > 0 ? 2 * tell->room : 64;
        struct tell_step *steps = realloc(tell->steps, room * sizeof *steps);

        if (steps == NULL) {
            tell->has_failed = true;
            return NULL;
        }
        tell->steps = steps;
        tell->room = room;
    }
    return &tell->steps[tell->count++];
}

static int instance_of(const struct model_world *world, struct model_move move, int actor) {
    if (actor >= 0)
        return world->state.orders[actor].instance;
    return actor == REPLAY_FAULT && (move.kind == MOVE_PAUSE || move.kind == MOVE_RESUME ||
                                     move.kind == MOVE_CRASH || move.kind == MOVE_BRING)
               ? move.who
               : -1;
}

static void tell_take_stock(struct tell_step *step, const struct model_world *world) {
    assert(world->setup.options.shards <= MODEL_SHARDS);
    for (int i = 0; i < world->setup.options.shards; i++)
        step->stock[i] = world->state.rows[i].available;
    step->sold = world->state.sold_count;
}

static void tell_on_say(void *data, const struct model_world *world, struct model_move move,
                        int actor, const char *text) {
    struct tell *tell = data;
    struct tell_step *step = tell_add_step(tell);

    assert(actor >= REPLAY_CLOCK && actor <= world->setup.orders);
    if (step == NULL)
        return;
    memset(step, 0, sizeof *step);
    step->actor = actor;
    step->instance = instance_of(world, move, actor);
    step->now_ms = world->state.now_ms;
    (void)snprintf(step->action, sizeof step->action, "%s", text);
    tell_take_stock(step, world);
    /* A jump of the clock is told late: the state may already show the effect of the next step. */
    if (tell->count > 1 && actor == REPLAY_CLOCK) {
        memcpy(step->stock, step[-1].stock, sizeof step->stock);
        step->sold = step[-1].sold;
    }
}

/* A line may be told before its effect, so take the stock again. */
static void tell_on_made(void *data, const struct model_world *world) {
    struct tell *tell = data;

    if (tell->count > 0 && tell->steps[tell->count - 1].actor != REPLAY_CLOCK)
        tell_take_stock(&tell->steps[tell->count - 1], world);
}

/* The order would make more moves than a schedule can hold. */
static void tell_endless(struct tell *tell, const struct model_world *world) {
    tell->anomalies = 1U << VIEW_ENDLESS;
    (void)snprintf(tell->summary, sizeof tell->summary, "After %d steps", EXPLORE_MOVES);
    for (int i = 0; i <= world->setup.orders; i++)
        if (world->state.orders[i].state == ORDER_RUNS) {
            const size_t used = strlen(tell->summary);

            (void)snprintf(tell->summary + used, sizeof tell->summary - used, " %c", 'A' + i);
        }
    assert(strlen(tell->summary) + sizeof " has not ended." <= sizeof tell->summary);
    strcat(tell->summary, " has not ended.");
}

enum replay_end tell_follow(struct tell *tell, struct model_world *world,
                            const struct schedule *schedule, size_t first,
                            struct model_move next[MODEL_MOVES], size_t *count) {
    const struct replay replay = {.say = tell_on_say, .made = tell_on_made, .data = tell};
    enum replay_end end;

    world->setup = tell->explored->setup;
    tell->count = 0;
    end = explore_follow(world, schedule, &replay, first, next, count);
    tell->running = 0;
    for (int i = 0; i <= world->setup.orders; i++)
        tell->running |= (unsigned)(world->state.orders[i].state == ORDER_RUNS) << i;
    return tell->has_failed ? REPLAY_NO_MEMORY : end;
}

enum replay_end tell_schedule(struct tell *tell, struct model_world *world, struct view *view,
                              size_t *at) {
    const struct replay replay = {.say = tell_on_say, .made = tell_on_made, .data = tell};
    enum replay_end end;

    world->setup = tell->explored->setup;
    tell->count = tell->running = 0;
    end = explore_replay(world, &tell->explored->shortest, &replay, at);
    if (tell->has_failed || view_has_failed(view))
        return REPLAY_NO_MEMORY;
    schedule_write(&tell->explored->shortest, tell->id);
    if (end == REPLAY_ENDED)
        tell->anomalies = view_tell(view, world, tell->summary);
    else if (end == REPLAY_ENDLESS)
        tell_endless(tell, world);
    return end;
}

void tell_free(struct tell *tell) {
    free(tell->steps);
    tell->steps = NULL;
    tell->count = tell->room = 0;
}
