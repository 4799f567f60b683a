/* Who has which lock, by those who grant it, and who waits in which line. */
#include "model_internal.h"

#include <assert.h>
#include <string.h>

#define LEASE PLACE_SERVER, LINE_AT_PROCESS, ENDS_WITH_LEASE, true

/* LOCK_PG_ADVISORY_RAW is kept from nobody: see model_locks.c.
 *
 * A lease that is handed over within an instance is one that is given back and taken by the next in
 * line there with nothing between: one of the schedules that are explored as it is. Only where the
 * server forgets, or the instance stands still, would it be longer out of step: what no lease
 * survives. */
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

static uint8_t place_of(const struct model_world *world, int index) {
    const struct model_order *order = &world->state.orders[index];
    const int machines = world->setup.machines > 0 ? world->setup.machines : 1;

    switch (model_locks[order->lock.kind].place) {
    case PLACE_PROCESS:
        return (uint8_t)(order->instance + 1);
    case PLACE_MACHINE:
        return (uint8_t)(order->instance % machines + 1);
    case PLACE_SERVER:
        break;
    }
    return 0;
}

static bool is_same(const struct store_lock *a, const struct store_lock *b) {
    return a->kind == b->kind && a->shard == b->shard;
}

/* ---- lines */

static bool is_same_line(const struct model_world *world, int a, int b) {
    const struct model_order *orders = world->state.orders;

    switch (model_locks[orders[a].lock.kind].line) {
    case LINE_NONE:
        return false;
    case LINE_AT_PROCESS:
        return orders[a].instance == orders[b].instance;
    case LINE_AT_LOCK:
        return place_of(world, a) == place_of(world, b);
    }
    return false;
}

uint8_t model_line_before(const struct model_world *world, int index) {
    const struct model_order *orders = world->state.orders;
    uint8_t before = 0;

    for (int i = 0; i <= world->setup.orders; i++)
        if (i != index && orders[i].waits == WAITS_LOCK &&
            (world->state.paused >> orders[i].instance & 1U) == 0 &&
            is_same(&orders[i].lock, &orders[index].lock) && is_same_line(world, i, index))
            before |= (uint8_t)(1U << i);
    return before;
}

void model_leave_line(struct model_world *world, int index) {
    for (int i = 0; i <= world->setup.orders; i++)
        world->state.orders[i].lock.behind &= (uint8_t) ~(1U << index);
}

/* ---- grants */

/* Of its own instance one sale at a time asks for the row, and the others wait for that. */
static bool is_at_table(const struct model_world *world, int index) {
    const struct model_order *orders = world->state.orders;

    for (int i = 0; i <= world->setup.orders; i++)
        if (i != index && orders[i].lock.times > 0 &&
            orders[i].instance == orders[index].instance &&
            is_same(&orders[i].lock, &orders[index].lock))
            return true;
    return false;
}

static bool is_granted(const struct model_world *world, int index) {
    const struct store_lock *lock = &world->state.orders[index].lock;
    const uint8_t place = place_of(world, index);

    for (int i = 0; i < MODEL_GRANTS; i++) {
        const struct model_grant *grant = &world->state.grants[i];

        if (grant->owner != 0 && grant->kind == lock->kind && grant->shard == lock->shard &&
            grant->place == place && (grant->is_shared == 0 || lock->is_shared == 0))
            return true;
    }
    return false;
}

bool model_is_open(const struct model_world *world, int index) {
    const struct model_order *order = &world->state.orders[index];

    if (order->lock.kind == LOCK_PG_ADVISORY_RAW)
        return true;
    if (order->waits == WAITS_LOCK ? order->lock.behind != 0 : model_line_before(world, index) != 0)
        return false;
    if (order->lock.kind == LOCK_TABLE && is_at_table(world, index))
        return false;
    return !is_granted(world, index);
}

/* Its own place, so that equal states look alike; or, where it left a lock there, any. */
static struct model_grant *find_room(struct model_world *world, int index) {
    struct model_grant *grants = world->state.grants;

    if (grants[index].owner == 0)
        return &grants[index];
    for (int i = MODEL_ORDERS + 1; i < MODEL_GRANTS; i++)
        if (grants[i].owner == 0)
            return &grants[i];
    return NULL;
}

bool model_grant(struct model_world *world, int index, int64_t ends_ms) {
    const struct store_lock *lock = &world->state.orders[index].lock;
    struct model_grant *grant = find_room(world, index);

    if (grant == NULL)
        return false;
    *grant = (struct model_grant){.owner = (uint8_t)(index + 1),
                                  .kind = lock->kind,
                                  .shard = lock->shard,
                                  .is_shared = lock->is_shared,
                                  .place = place_of(world, index),
                                  .ends_ms = ends_ms};
    return true;
}

struct model_grant *model_find_grant(struct model_world *world, int index) {
    const struct store_lock *lock = &world->state.orders[index].lock;

    for (int i = 0; i < MODEL_GRANTS; i++) {
        struct model_grant *grant = &world->state.grants[i];

        if (grant->owner == index + 1 && grant->kind == lock->kind && grant->shard == lock->shard)
            return grant;
    }
    return NULL;
}

void model_free_grant(struct model_world *world, struct model_grant *grant) {
    memset(grant, 0, sizeof *grant);
    model_changed(world);
}

int64_t model_next_expiry_ms(const struct model_world *world) {
    int64_t next_ms = model_next_key_ms(world);

    for (int i = 0; i < MODEL_GRANTS; i++) {
        const struct model_grant *grant = &world->state.grants[i];

        if (grant->owner != 0 && grant->ends_ms > 0 && grant->ends_ms < next_ms)
            next_ms = grant->ends_ms;
    }
    return next_ms;
}

void model_expire_grants(struct model_world *world) {
    for (int i = 0; i < MODEL_GRANTS; i++) {
        struct model_grant *grant = &world->state.grants[i];

        if (grant->owner != 0 && grant->ends_ms > 0 && grant->ends_ms <= world->state.now_ms)
            model_free_grant(world, grant);
    }
}

uint64_t model_hash_locks(const struct model_world *world, uint64_t hash) {
    const struct model_state *state = &world->state;

    static_assert(sizeof(struct store_lock) == 24 && sizeof(struct model_grant) == 16 &&
                      sizeof(struct model_flight) == 40,
                  "no padding, which would be hashed");
    for (int i = 0; i < MODEL_GRANTS; i++) {
        struct model_grant grant = state->grants[i];

        if (grant.owner == 0)
            continue;
        grant.ends_ms = model_from_now(world, grant.ends_ms);
        hash = model_mix(hash + (uint64_t)i + 1, &grant, sizeof grant);
    }
    for (int i = 0; i < world->setup.options.shards; i++)
        if (state->fences[i] != 0)
            hash = model_mix(hash + (uint64_t)i + 1, &state->fences[i], sizeof state->fences[i]);
    hash = model_mix(hash, state->stamped, sizeof state->stamped + 4);
    if (state->flight.owner != 0) {
        struct model_flight flight = state->flight;

        flight.until_ms = model_from_now(world, flight.until_ms);
        hash = model_mix(hash, &flight, sizeof flight);
    }
    return hash;
}
