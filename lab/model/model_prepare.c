/* Before the first sale. What is done then is remembered, as a world begins many times. */
#include "model_internal.h"

#include <string.h>

static void prepare(struct model_world *world) {
    const int last = world->setup.orders;
    const struct model_order order = world->state.orders[last];
    const struct sale sale = world->sales[last].sale;

    world->prepared.is_now = true;
    (void)world->setup.strategy->prepare(&world->sales[last].sale);
    world->prepared.is_now = false;
    world->state.orders[last] = order;
    world->state.keyed = world->state.lag = 0;
    world->sales[last].sale = sale;
}

void model_prepare(struct model_world *world) {
    unsigned *tokens = &world->sales[world->setup.orders].tokens;

    if (world->prepared.is_known &&
        memcmp(&world->prepared.setup, &world->setup, sizeof world->setup) == 0) {
        world->state = world->prepared.state;
        world->keys = world->prepared.keys;
        *tokens = world->prepared.tokens;
        return;
    }
    prepare(world);
    world->prepared.is_known = true;
    memcpy(&world->prepared.setup, &world->setup, sizeof world->setup);
    world->prepared.state = world->state;
    world->prepared.keys = world->keys;
    world->prepared.tokens = *tokens;
}
