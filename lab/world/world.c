/* Steps: how an order waits for its turn, and the traces that a step leaves. */
#include "world.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define LEASE PLACE_SERVER, LINE_AT_PROCESS, ENDS_WITH_LEASE, true

/* LOCK_PG_ADVISORY_RAW never excludes anyone. A transaction pooler gives every statement the same
 * session, and a session may take its own lock again.
 *
 * There is no hand-over of a lease within an instance. It equals a release that the next waiter of
 * that instance follows at once, and that schedule is explored anyway. It would differ only if the
 * server forgets the lease or the instance stands still, and no lease survives these. */
const struct lock_traits model_locks[] = {
    [LOCK_LOCAL] = {PLACE_PROCESS, LINE_AT_LOCK, ENDS_WITH_PROCESS, false, false, false},
    [LOCK_REDIS] = {LEASE, true, false},
    [LOCK_KEY] = {PLACE_SERVER, LINE_NONE, ENDS_WITH_NOTHING, false, false, false},
    [LOCK_MKDIR] = {PLACE_MACHINE, LINE_NONE, ENDS_WITH_NOTHING, false, false, false},
    [LOCK_FLOCK] = {PLACE_MACHINE, LINE_NONE, ENDS_WITH_PROCESS, false, false, false},
    [LOCK_REENTRANT] = {PLACE_PROCESS, LINE_AT_LOCK, ENDS_WITH_PROCESS, false, false, false},
    [LOCK_RWLOCK] = {PLACE_PROCESS, LINE_AT_LOCK, ENDS_WITH_PROCESS, false, false, false},
    [LOCK_STAMPED] = {PLACE_PROCESS, LINE_AT_LOCK, ENDS_WITH_PROCESS, false, false, false},
    [LOCK_SPIN] = {PLACE_PROCESS, LINE_NONE, ENDS_WITH_PROCESS, false, false, false},
    [LOCK_TABLE] = {PLACE_SERVER, LINE_AT_PROCESS, ENDS_AT_TTL, true, false, false},
    [LOCK_REDIS_FAIR] = {PLACE_SERVER, LINE_AT_LOCK, ENDS_WITH_LEASE, true, true, false},
    [LOCK_REDIS_WAIT] = {LEASE, true, false},
    [LOCK_REDIS_RW] = {LEASE, true, false},
    [LOCK_REDLOCK] = {LEASE, false, false},
    [LOCK_ZOOKEEPER] = {LEASE, false, false},
    [LOCK_ZOOKEEPER_UNFAIR] = {LEASE, false, false},
    [LOCK_ETCD] = {LEASE, false, false},
    [LOCK_PG_ADVISORY] = {PLACE_SERVER, LINE_AT_LOCK, ENDS_WITH_LEASE, true, false, true},
    [LOCK_PG_ADVISORY_RAW] = {PLACE_SERVER, LINE_NONE, ENDS_WITH_NOTHING, false, false, false},
};

uint64_t model_mix(uint64_t hash, const void *bytes, size_t size) {
    const unsigned char *at = bytes;

    assert(at != NULL || size == 0);
    for (; size > 0; at += 8) {
        const size_t take = size < 8 ? size : 8;
        uint64_t word = 0;

        memcpy(&word, at, take);
        size -= take;
        hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 29;
        hash *= UINT64_C(0xbf58476d1ce4e5b9);
        hash ^= hash >> 32;
    }
    return hash;
}

/* True if a fault can strike an order's first step. Then its beginning is a step of its own, so
 * that the fault has a place. */
static bool may_fail_first(const struct model_world *world, int index, enum order_step step) {
    const unsigned faults = world->setup.faults;
    const bool loses = (faults >> FAULT_LOST_REPLY & 1U) != 0;

    switch (step) {
    case STEP_LOOKS:
    case STEP_UNLOCKS:
        return false;
    case STEP_LOCKS:
        return loses && model_locks[world->state.orders[index].lock.kind].place == PLACE_SERVER;
    case STEP_WRITES:
    case STEP_SELLS:
        return loses || (faults >> FAULT_CRASH & 1U) != 0;
    case STEP_KEYS:
        return loses;
    }
    return false;
}

void model_step(struct model_sale *sale, enum order_step step) {
    struct model_world *world = sale->world;
    struct model_order *order = order_of(sale);
    const bool is_first = order->state == ORDER_TO_COME;

    if (world->prepared.is_now)
        return;
    /* The move that made it begin is its first step. */
    if (is_first)
        order->state = ORDER_RUNS;
    if (!is_first ||
        (sale->index < world->setup.orders && may_fail_first(world, sale->index, step))) {
        order->step = (uint8_t)step;
        world->turn(world, sale->index);
        order->step = STEP_LOOKS;
    }
}

void model_wait(struct model_sale *sale, enum order_wait waits, int64_t due_ms) {
    struct model_order *order = order_of(sale);

    if (order->state == ORDER_TO_COME)
        order->state = ORDER_RUNS;
    order->waits = (uint8_t)waits;
    order->due_ms = due_ms;
    model_step(sale, waits == WAITS_LOCK ? STEP_LOCKS : STEP_LOOKS);
    if (waits == WAITS_CHANGE)
        order->has_changed = 0;
    order->waits = WAITS_NOT;
    order->due_ms = 0;
}

/* The order that made the change already knows it, so it is not woken. */
void model_changed(struct model_world *world) {
    for (int i = 0; i <= world->setup.orders; i++)
        if (world->state.orders[i].state == ORDER_RUNS && i != world->mover)
            world->state.orders[i].has_changed = 1;
}

enum outcome model_answer(struct model_sale *sale, enum outcome outcome, const void *more,
                          size_t size) {
    struct model_order *order = order_of(sale);
    const uint64_t said = (uint64_t)outcome;

    if (outcome == OUTCOME_UNKNOWN) { /* the order hears nothing else, so it can learn something */
        size = 0;
        order->has_changed = 1;
    }
    order->past = model_mix(model_mix(order->past + 1, &said, sizeof said), more, size);
    return outcome;
}

enum outcome model_answer_row(struct model_sale *sale, const struct stock_row *row) {
    const int64_t numbers[] = {row->shard, row->available, row->version, row->unit, row->fence};

    return model_answer(sale, OUTCOME_OK, numbers, sizeof numbers);
}

void model_say(struct model_sale *sale, const char *format, ...) {
    struct model_world *world = sale->world;
    char text[200];
    va_list args;

    if (world->say == NULL || world->prepared.is_now)
        return;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    world->say(world, sale->index, text);
}

/* ---- requests without an answer */

enum outcome model_lose_write(struct model_sale *sale, struct model_flight flight) {
    struct model_state *state = &sale->world->state;

    assert(state->flight.owner == 0); /* a schedule loses one reply at most */
    flight.owner = (uint8_t)(sale->index + 1);
    flight.until_ms = state->now_ms + LANDS_MS;
    state->flight = flight;
    model_say(sale, "sends its write, but gets no answer");
    return model_answer(sale, OUTCOME_UNKNOWN, NULL, 0);
}

bool model_arrives(struct model_sale *sale, enum order_step step) {
    model_step(sale, step);
    if (!sale->world->is_dropped)
        return true;
    model_say(sale, "asks for a step, but the request never arrives");
    (void)model_answer(sale, OUTCOME_UNKNOWN, NULL, 0);
    return false;
}

enum outcome model_may_lose(const struct model_sale *sale, enum outcome outcome) {
    return sale->world->is_lost ? OUTCOME_UNKNOWN : outcome;
}
