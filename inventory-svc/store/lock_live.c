/* The live store's locks: a table of kinds, and what all of them have in common. */
#include "store_live_internal.h"

#include "clock.h"
#include "fiber.h"
#include "metrics.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

/* A kind without a row is not taken by store_lock(). */
static const struct lock_ops *const kinds[] = {
    [LOCK_LOCAL] = &process_lock_ops,
    [LOCK_REDIS] = &lease_lock_ops,
    [LOCK_KEY] = NULL,
    [LOCK_MKDIR] = &mkdir_lock_ops,
    [LOCK_FLOCK] = &flock_lock_ops,
    [LOCK_REENTRANT] = &process_lock_ops,
    [LOCK_RWLOCK] = &process_lock_ops,
    [LOCK_STAMPED] = &stamped_lock_ops,
    [LOCK_SPIN] = &spin_lock_ops,
    [LOCK_TABLE] = &lease_lock_ops,
    [LOCK_REDIS_FAIR] = &lease_lock_ops,
    [LOCK_REDIS_WAIT] = &lease_lock_ops,
    [LOCK_REDIS_RW] = &lease_lock_ops,
    [LOCK_REDLOCK] = &lease_lock_ops,
    [LOCK_ZOOKEEPER] = &lease_lock_ops,
    [LOCK_ZOOKEEPER_UNFAIR] = &lease_lock_ops,
    [LOCK_ETCD] = &lease_lock_ops,
    [LOCK_PG_ADVISORY] = &lease_lock_ops,
    [LOCK_PG_ADVISORY_RAW] = &raw_advisory_lock_ops,
};

#define WAIT_TIMES                                                                                 \
    "inventory_lock_wait_seconds", "Time until a lock was won or given up", METRIC_TIMES
#define HOLD_TIMES                                                                                 \
    "inventory_lock_hold_seconds", "Time from winning a lock to giving it back", METRIC_TIMES

static struct {
    struct metric wait, hold;
} times[] = {
#define X(kind, text, server)                                                                      \
    [LOCK_##kind] = {{WAIT_TIMES, .labels = "kind=\"" text "\""},                                  \
                     {HOLD_TIMES, .labels = "kind=\"" text "\""}},
    LOCK_KINDS(X)
#undef X
};

void live_note_wait(enum lock_kind kind, int64_t wait_ns) {
    metric_time(&times[kind].wait, wait_ns);
}

void live_note_hold(enum lock_kind kind, int64_t hold_ns) {
    metric_time(&times[kind].hold, hold_ns);
}

int64_t live_fence(const struct store_lock *lock) {
    return lock != NULL && kinds[lock->kind]->fence != NULL ? kinds[lock->kind]->fence(lock) : 0;
}

void live_saw_fence(const struct live_sale *live, int64_t fence) {
    const struct store_lock *lock = &live->lock;

    if (lock->grant != NULL && kinds[lock->kind]->saw_fence != NULL)
        kinds[lock->kind]->saw_fence(lock, fence);
}

enum outcome live_check_lock(struct live_sale *live) {
    const struct lock_ops *ops = kinds[live->lock.kind];

    return ops->check != NULL ? ops->check(live) : OUTCOME_OK;
}

static enum outcome lock(struct live_sale *live, int shard) {
    struct store_lock *lock = &live->lock;
    int64_t begun_ns = clock_now_ns(), wait_ns;
    unsigned attempts = 0;
    enum outcome outcome = kinds[lock->kind]->acquire(live, shard, &attempts);

    lock->acquired_ns = clock_now_ns();
    wait_ns = lock->acquired_ns - begun_ns;
    live_note_wait(lock->kind, wait_ns);
    sale_cost_lock(&live->cost, lock->kind, wait_ns, attempts);
    assert((outcome == OUTCOME_OK) == (lock->grant != NULL));
    return outcome;
}

/* The lock that it has already, at once and at no cost. */
static enum outcome lock_again(struct live_sale *live, int shard) {
    assert(live->lock.kind == LOCK_REENTRANT);
    if (live->lock.shard != shard) {
        (void)snprintf(live->sale.message, MESSAGE_BYTES, "lock: a sale has one at a time");
        return OUTCOME_FAILED;
    }
    live->lock.times++;
    return OUTCOME_OK;
}

enum outcome live_lock(struct sale *sale, struct lock_call *call) {
    struct live_sale *live = live_of(sale);

    assert(kinds[call->kind] != NULL);
    call->lock = &live->lock;
    if (call->mode == MODE_LOOK) {
        call->stamp = live_stamp(live, call->shard);
        return OUTCOME_OK;
    }
    if (live->lock.grant != NULL)
        return lock_again(live, call->shard);
    live->lock = (struct store_lock){.kind = call->kind,
                                     .shard = call->shard,
                                     .is_shared = call->mode == MODE_SHARED,
                                     .stamp = call->stamp,
                                     .times = 1};
    return lock(live, call->shard);
}

/* How long its lock stays taken when the sale is not sure what became of its write. */
static int64_t hold_ms(const struct live_sale *live) {
    int64_t left_ms = live->lands_until_ms - clock_now_ms();

    return left_ms > 0 ? left_ms : 0;
}

void live_unlock(struct sale *sale, struct store_lock *lock, enum outcome outcome) {
    struct live_sale *live = live_of(sale);
    /* Who shares a lock takes no turn of others, so that is no hold. */
    const int64_t hold_ns = lock->is_shared ? -1 : clock_now_ns() - lock->acquired_ns;

    assert(lock == &live->lock && lock->grant != NULL && lock->times > 0);
    lock->is_abandoned |= outcome == OUTCOME_UNKNOWN;
    if (--lock->times > 0)
        return;
    if (lock->is_abandoned)
        kinds[lock->kind]->abandon(live, hold_ms(live));
    else
        kinds[lock->kind]->release(live);
    if (hold_ns >= 0)
        live_note_hold(lock->kind, hold_ns);
    sale_cost_unlock(&live->cost, lock->kind, hold_ns,
                     !lock->is_abandoned && !lock->is_handed_over);
    lock->grant = NULL;
}

/* On the heap: the sale ends before it. */
struct held_on {
    struct store *store;
    void *grant;
    int64_t hold_ms;
    void (*release)(struct store *store, void *grant);
};

static void hold_on(void *arg) {
    struct held_on *held = arg;

    fiber_sleep(held->store->loop, (uint64_t)held->hold_ms);
    held->release(held->store, held->grant);
    free(held);
}

/* Without memory it is held for ever: nobody can say when it may be released. */
void live_hold_on(struct store *store, void *grant, int64_t hold_ms,
                  void (*release)(struct store *store, void *grant)) {
    struct held_on *held = malloc(sizeof *held);

    if (held == NULL)
        return;
    *held = (struct held_on){store, grant, hold_ms, release};
    if (fiber_start(hold_on, held) != 0)
        free(held);
}
