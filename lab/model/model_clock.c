/* The clock: it jumps, and what ends by then ends. */
#include "model_internal.h"

/* When nobody can go on, a transaction that stands idle ends all the same. */
static int64_t next_idle_ms(const struct model_world *world) {
    int64_t next_ms = INT64_MAX;

    for (int i = 0; i <= world->setup.orders; i++) {
        const struct model_txn *txn = &world->state.txns[i];

        if (txn->idle_ms > world->state.now_ms && txn->idle_ms < next_ms)
            next_ms = txn->idle_ms;
    }
    return next_ms;
}

/* What ends is nobody's doing: who moved last is woken by it, too. */
void model_let_pass(struct model_world *world, int64_t now_ms) {
    const int mover = world->mover;

    world->mover = -1;
    world->state.now_ms = now_ms;
    model_abort_idle(world);
    model_expire_grants(world);
    model_expire_keys(world);
    model_end_flights(world);
    world->mover = mover;
}

bool model_pass_time(struct model_world *world) {
    const int64_t expiry_ms = model_next_expiry_ms(world);
    int64_t next_ms = next_idle_ms(world);

    if (expiry_ms < next_ms)
        next_ms = expiry_ms;
    for (int i = 0; i <= world->setup.orders; i++) {
        const struct model_order *order = &world->state.orders[i];

        if (order->state == ORDER_RUNS && order->due_ms > world->state.now_ms &&
            order->due_ms < next_ms)
            next_ms = order->due_ms;
    }
    if (next_ms == INT64_MAX)
        return false;
    model_let_pass(world, next_ms);
    return true;
}
