/* Runs orders as fibers. */
#include "play.h"

#include "explore.h"
#include "fiber.h"

#include <assert.h>
#include <stdlib.h>

static struct {
    struct model_world *world;
    struct fiber_event go[MODEL_ORDERS + 1];
    bool is_begun[MODEL_ORDERS + 1], has_ended[MODEL_ORDERS + 1];
} play;

static void play_on_turn(struct model_world *world, int index) {
    (void)world;
    play.go[index] = (struct fiber_event)FIBER_EVENT_INIT;
    fiber_event_wait(&play.go[index]);
}

static void play_sell(void *arg) {
    const int index = (int)((struct model_sale *)arg - play.world->sales);

    model_sell(play.world, index);
    play.has_ended[index] = true;
}

static void play_drop(int index) {
    if (play.is_begun[index] && !play.has_ended[index])
        fiber_discard(&play.go[index]);
    play.is_begun[index] = play.has_ended[index] = false;
}

void play_end(struct model_world *world) {
    for (int i = 0; i <= world->setup.orders; i++)
        play_drop(i);
    play.world = NULL;
}

void play_begin(struct model_world *world) {
    if (play.world != NULL)
        play_end(play.world);
    play.world = world;
    world->turn = play_on_turn;
    model_begin(world);
}

int play_move(struct model_world *world, struct model_move move) {
    assert(world == play.world);
    if (model_make(world, move)) {
        if (play.is_begun[move.who]) {
            fiber_event_set(&play.go[move.who]);
        } else {
            play.is_begun[move.who] = true;
            if (fiber_start(play_sell, &world->sales[move.who]) != 0)
                return -1;
        }
        if (move.kind == MOVE_LAND)
            model_bury(world, move.who);
    }
    for (int i = 0; i <= world->setup.orders; i++)
        if (model_is_gone(world, i) && play.is_begun[i] && !play.has_ended[i]) {
            fiber_discard(&play.go[i]);
            play.has_ended[i] = true;
        }
    return 0;
}

int explore_steps_alone(const struct model_setup *setup) {
    struct model_world *world = calloc(1, sizeof *world);
    int err = 0, steps = 0;

    if (world == NULL)
        return -1;
    world->setup = *setup;
    world->setup.orders = 1;
    world->setup.others = 0;
    world->setup.stall_ms = 0;
    play_begin(world);
    for (; steps < EXPLORE_MOVES && err == 0 && model_is_ready(world, 0); steps++)
        err = play_move(world, (struct model_move){MOVE_RUN, 0});
    play_end(world);
    free(world);
    return err == 0 ? steps : -1;
}
