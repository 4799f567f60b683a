/* What was sent, and may arrive later or never: a write whose reply is lost, and the last step of
 * an order that was killed. That one is made by the order's own fiber, which goes no further. */
#include "model_internal.h"

#include <string.h>

enum outcome model_lose_write(struct model_sale *sale, struct model_flight flight) {
    struct model_state *state = &sale->world->state;

    flight.owner = (uint8_t)(sale->index + 1);
    flight.until_ms = state->now_ms + LANDS_MS;
    state->flight = flight;
    model_say(sale, "sends its write, and gets no answer");
    return model_answer(sale, OUTCOME_UNKNOWN, NULL, 0);
}

bool model_is_dropped(struct model_sale *sale) {
    if (!sale->world->is_dropped)
        return false;
    model_say(sale, "asks for a step, which never arrives");
    (void)model_answer(sale, OUTCOME_UNKNOWN, NULL, 0);
    return true;
}

enum outcome model_may_lose(const struct model_sale *sale, enum outcome outcome) {
    return sale->world->is_lost ? OUTCOME_UNKNOWN : outcome;
}

static bool is_about_to_commit(const struct model_txn *txn) {
    return is_open(txn) && txn->wrote != 0;
}

/* Not while it would wait: for the row, or for what an order of its own is about to commit. */
static bool may_land(const struct model_state *state, const struct model_flight *flight) {
    for (uint32_t rest = flight->batch; rest != 0; rest >>= 4)
        if (is_about_to_commit(&state->txns[(rest & 15) - 1]))
            return false;
    return state->rows[flight->shard].holder < 0 &&
           !is_about_to_commit(&state->txns[flight->owner - 1]);
}

size_t model_add_flights(const struct model_world *world, struct model_move *moves, size_t count) {
    const struct model_state *state = &world->state;
    const struct model_flight *flight = &state->flight;

    if (flight->owner != 0 && may_land(state, flight))
        moves[count++] = (struct model_move){MOVE_LAND, (uint8_t)(flight->owner - 1)};
    for (int i = 0; i < world->setup.orders; i++)
        if ((state->flying >> i & 1U) != 0)
            moves[count++] = (struct model_move){MOVE_LAND, (uint8_t)i};
    return count;
}

bool model_land(struct model_world *world, int index) {
    struct model_state *state = &world->state;
    const struct model_flight flight = state->flight;

    if ((state->flying >> index & 1U) != 0) {
        state->flying &= (uint8_t) ~(1U << index);
        return true;
    }
    memset(&state->flight, 0, sizeof state->flight);
    model_land_write(&world->sales[index], &flight);
    return false;
}

void model_end_flights(struct model_world *world) {
    struct model_state *state = &world->state;

    if (state->flight.owner != 0 && state->flight.until_ms <= state->now_ms)
        memset(&state->flight, 0, sizeof state->flight);
    for (int i = 0; i < world->setup.orders && state->flying != 0; i++)
        if ((state->flying >> i & 1U) != 0 && state->orders[i].due_ms <= state->now_ms) {
            state->flying &= (uint8_t) ~(1U << i);
            model_bury(world, i);
        }
}
