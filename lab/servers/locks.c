/* Locks: how a sale takes, checks and releases them. */
#include "servers.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static uint8_t locks_place_of(const struct model_world *world, int index) {
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

/* ---- lines */

static bool is_same_line(const struct model_world *world, int a, int b) {
    const struct model_order *orders = world->state.orders;

    switch (model_locks[orders[a].lock.kind].line) {
    case LINE_NONE:
        return false;
    case LINE_AT_PROCESS:
        return orders[a].instance == orders[b].instance;
    case LINE_AT_LOCK:
        return locks_place_of(world, a) == locks_place_of(world, b);
    }
    return false;
}

uint8_t model_line_before(const struct model_world *world, int index) {
    const struct model_order *orders = world->state.orders;
    uint8_t before = 0;

    for (int i = 0; i <= world->setup.orders; i++)
        if (i != index && orders[i].waits == WAITS_LOCK &&
            (world->state.paused >> orders[i].instance & 1U) == 0 &&
            orders[i].lock.kind == orders[index].lock.kind &&
            orders[i].lock.shard == orders[index].lock.shard && is_same_line(world, i, index))
            before |= (uint8_t)(1U << i);
    return before;
}

void model_leave_line(struct model_world *world, int index) {
    for (int i = 0; i <= world->setup.orders; i++)
        world->state.orders[i].lock.behind &= (uint8_t) ~(1U << index);
}

/* ---- grants */

static bool is_granted(const struct model_world *world, int index) {
    const struct store_lock *lock = &world->state.orders[index].lock;
    const uint8_t place = locks_place_of(world, index);

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
    return !is_granted(world, index);
}

/* The order's own place, so that equal states look alike; or a free one, if an old grant of the
 * order is in its own place. */
static struct model_grant *find_room(struct model_world *world, int index) {
    struct model_grant *grants = world->state.grants;

    if (grants[index].owner == 0)
        return &grants[index];
    for (int i = MODEL_ORDERS + 1; i < MODEL_GRANTS; i++)
        if (grants[i].owner == 0)
            return &grants[i];
    return NULL;
}

/* False: there is no room for another grant. */
static bool model_grant(struct model_world *world, int index, int64_t ends_ms) {
    const struct store_lock *lock = &world->state.orders[index].lock;
    struct model_grant *grant = find_room(world, index);

    if (grant == NULL)
        return false;
    *grant = (struct model_grant){.owner = (uint8_t)(index + 1),
                                  .kind = lock->kind,
                                  .shard = lock->shard,
                                  .is_shared = lock->is_shared,
                                  .place = locks_place_of(world, index),
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
    assert(grant->owner != 0);
    memset(grant, 0, sizeof *grant);
    model_changed(world);
}

int64_t model_next_grant_ms(const struct model_world *world) {
    int64_t next_ms = INT64_MAX;

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

/* ---- the operations */

#define DRIFT_MS 2    /* and a hundredth of the TTL, as in lockkit */
#define NEED_MS  2300 /* a lease must have this left before a write, as in the live store */

int64_t model_lease_ends_ms(const struct model_world *world) {
    const int64_t ttl_ms = world->setup.options.ttl_ms;

    return world->state.now_ms + ttl_ms - ttl_ms / 100 - DRIFT_MS;
}

static const char *locks_name_of(const struct store_lock *lock) {
    return lock_kind_name((enum lock_kind)lock->kind);
}

static int64_t count_fence(struct model_world *world, const struct store_lock *lock) {
    int32_t *fence = &world->state.fences[lock->shard];

    if (!model_locks[lock->kind].has_fence)
        return 0;
    if (lock->shard < world->setup.options.shards && world->state.rows[lock->shard].fence > *fence)
        *fence = world->state.rows[lock->shard].fence;
    return ++*fence;
}

static enum outcome locks_refuse(struct model_sale *sale, enum outcome outcome, const char *why) {
    struct model_order *order = order_of(sale);

    (void)snprintf(sale->sale.message, MESSAGE_BYTES, "lock (%s): %s", locks_name_of(&order->lock),
                   why);
    memset(&order->lock, 0, sizeof order->lock);
    return model_answer(sale, outcome, NULL, 0);
}

/* Take the lock, which is free for this sale. */
static enum outcome locks_take(struct model_sale *sale) {
    struct model_world *world = sale->world;
    struct store_lock *lock = &order_of(sale)->lock;
    const int64_t ttl_ms = sale->sale.options->ttl_ms, now_ms = world->state.now_ms;
    const bool ends = model_locks[lock->kind].end == ENDS_AT_TTL;
    const bool is_lost = world->is_lost;

    assert(lock->times == 0);
    lock->behind = 0;
    if (lock->kind != LOCK_PG_ADVISORY_RAW &&
        !model_grant(world, sale->index, ends || is_lost ? now_ms + ttl_ms : 0))
        return locks_refuse(sale, OUTCOME_BUSY, "no room for one more");
    lock->fence = count_fence(world, lock);
    if (is_lost) {
        model_say(sale, "takes the lock (%s), but gets no answer", locks_name_of(lock));
        return locks_refuse(sale, OUTCOME_BUSY, "no answer");
    }
    if (lock->kind == LOCK_STAMPED)
        world->state.stamped[order_of(sale)->instance]++;
    lock->times = 1;
    lock->ends_ms = ends ? model_lease_ends_ms(world) : 0;
    if (lock->fence != 0)
        model_say(sale, "takes the lock (%s), token %d", locks_name_of(lock), (int)lock->fence);
    else
        model_say(sale, "takes the lock (%s)%s", locks_name_of(lock),
                  lock->is_shared != 0 ? " beside others" : "");
    return model_answer(sale, OUTCOME_OK, &lock->fence, sizeof lock->fence);
}

static enum outcome win(struct model_sale *sale) {
    struct model_world *world = sale->world;
    struct model_order *order = order_of(sale);
    const int64_t due_ms = order->begun_ms + sale->sale.options->wait_ms;
    bool is_free = false;

    model_step(sale, STEP_LOCKS);
    if (model_is_open(world, sale->index))
        return locks_take(sale);
    order->lock.behind = model_line_before(world, sale->index);
    while (!is_free && world->state.now_ms < due_ms) {
        model_say(sale, "waits for the lock (%s)", locks_name_of(&order->lock));
        model_wait(sale, WAITS_LOCK, due_ms);
        order->waits = WAITS_LOCK; /* it is still in the line during this check */
        is_free = model_is_open(world, sale->index);
        order->waits = WAITS_NOT;
    }
    model_leave_line(world, sale->index);
    if (is_free)
        return locks_take(sale);
    model_say(sale, "gives up waiting for the lock");
    return locks_refuse(sale, OUTCOME_BUSY, "another sale has it");
}

/* Set the lock before the order's turn, because model_is_open() needs it. */
static enum outcome locks_begin(struct model_sale *sale, const struct lock_call *call) {
    struct store_lock *lock = &order_of(sale)->lock;

    if (call->shard < 0 || call->shard >= MODEL_SHARDS || call->kind == LOCK_KEY ||
        lock->times > 0) {
        (void)snprintf(sale->sale.message, MESSAGE_BYTES, "lock (%s): %s",
                       lock_kind_name(call->kind),
                       lock->times > 0 ? "a sale has one lock at a time" : "there is none");
        return model_answer(sale, OUTCOME_FAILED, NULL, 0);
    }
    *lock = (struct store_lock){.kind = (uint8_t)call->kind,
                                .shard = (uint8_t)call->shard,
                                .is_shared = call->mode == MODE_SHARED};
    return OUTCOME_OK;
}

/* 0 if an order holds LOCK_STAMPED or waits for it. */
static uint64_t stamp_of(struct model_sale *sale, int shard) {
    const struct model_order *order = order_of(sale);
    const struct model_state *state = &sale->world->state;

    for (int i = 0; i <= sale->world->setup.orders; i++) {
        const struct model_grant *grant = &state->grants[i];
        const struct model_order *other = &state->orders[i];

        if ((grant->owner != 0 && grant->kind == LOCK_STAMPED && grant->shard == shard &&
             grant->place == order->instance + 1) ||
            (other->waits == WAITS_LOCK && other->lock.kind == LOCK_STAMPED &&
             other->lock.shard == shard && other->instance == order->instance))
            return 0;
    }
    return state->stamped[order->instance] + UINT64_C(1);
}

static enum outcome locks_look(struct model_sale *sale, struct lock_call *call) {
    model_step(sale, STEP_LOOKS);
    call->stamp = stamp_of(sale, call->shard);
    model_say(sale, call->stamp != 0 ? "takes a stamp: %d" : "takes no stamp: the lock is taken",
              (int)call->stamp);
    return model_answer(sale, OUTCOME_OK, &call->stamp, sizeof call->stamp);
}

static enum outcome take_if_unchanged(struct model_sale *sale, uint64_t stamp) {
    model_step(sale, STEP_LOCKS);
    if (stamp == stamp_of(sale, order_of(sale)->lock.shard))
        return locks_take(sale);
    model_say(sale, "does not take the lock: another sale had it since");
    return locks_refuse(sale, OUTCOME_CONFLICT, "another sale had it since");
}

enum outcome model_lock(struct sale *base, struct lock_call *call) {
    struct model_sale *sale = model_of(base);
    struct store_lock *lock = call->lock = &order_of(sale)->lock;
    enum outcome outcome;

    if (call->mode == MODE_LOOK)
        return locks_look(sale, call);
    if (call->kind == LOCK_REENTRANT && lock->times > 0 && lock->kind == call->kind &&
        lock->shard == call->shard) {
        lock->times++;
        return model_answer(sale, OUTCOME_OK, NULL, 0);
    }
    outcome = locks_begin(sale, call);
    if (outcome != OUTCOME_OK)
        return outcome;
    return call->mode == MODE_UNCHANGED ? take_if_unchanged(sale, call->stamp) : win(sale);
}

/* ---- the holder's operations */

/* The check uses the holder's own count: the holder does not know the state at the server. */
enum outcome model_check_write(struct sale *base, enum guard guard,
                               const struct store_lock *under) {
    struct model_sale *sale = model_of(base);
    const int64_t third_ms = base->options->ttl_ms / 3;
    const int64_t need_ms = third_ms < NEED_MS ? third_ms : NEED_MS;

    (void)guard;
    if (under == NULL)
        return OUTCOME_OK;
    if (under->ends_ms == 0 || sale->world->state.now_ms + need_ms <= under->ends_ms)
        return model_answer(sale, OUTCOME_OK, NULL, 0);
    model_say(sale, "sees that its lock has expired, or is about to");
    (void)snprintf(base->message, MESSAGE_BYTES,
                   "the lease ended, or was about to, before the write");
    return model_answer(sale, OUTCOME_BUSY, NULL, 0);
}

static void abandon(struct model_sale *sale) {
    struct model_world *world = sale->world;
    const struct model_flight *flight = &world->state.flight;
    struct model_grant *grant = model_find_grant(world, sale->index);
    int64_t ends_ms = flight->owner == sale->index + 1 ? flight->until_ms : world->state.now_ms;

    if (grant == NULL)
        return;
    switch (model_locks[grant->kind].end) {
    case ENDS_WITH_PROCESS:
        break;
    case ENDS_WITH_LEASE:
        if (ends_ms < world->state.now_ms + sale->sale.options->ttl_ms)
            ends_ms = world->state.now_ms + sale->sale.options->ttl_ms;
        break;
    case ENDS_AT_TTL:
        return;
    case ENDS_WITH_NOTHING:
        ends_ms = MODEL_NEVER;
        break;
    }
    if (ends_ms <= world->state.now_ms)
        model_free_grant(world, grant);
    else
        grant->ends_ms = ends_ms;
}

static void locks_release(struct model_sale *sale) {
    struct model_grant *grant = model_find_grant(sale->world, sale->index);

    if (grant != NULL)
        model_free_grant(sale->world, grant);
    model_say(sale, "releases the lock%s",
              grant != NULL || order_of(sale)->lock.kind == LOCK_PG_ADVISORY_RAW
                  ? ""
                  : ", but it no longer held it");
}

/* Abandoning a lock is not a step, because others find it taken, as before. */
void model_unlock(struct sale *base, struct store_lock *lock, enum outcome outcome) {
    struct model_sale *sale = model_of(base);
    struct model_order *order = order_of(sale);

    if (lock != &order->lock || lock->times == 0 || --lock->times > 0)
        return;
    if (outcome == OUTCOME_UNKNOWN) {
        model_say(sale, "leaves the lock as it is: its write may still land");
        abandon(sale);
    } else {
        lock->times = 1;
        model_step(sale, STEP_UNLOCKS);
        locks_release(sale);
    }
    memset(lock, 0, sizeof *lock);
    (void)model_answer(sale, OUTCOME_OK, NULL, 0);
    model_changed(sale->world);
}
