/* The live store's locks: a table of kinds, and what all of them have in common. */
#include "store_live_internal.h"

#include "clock.h"
#include "metrics.h"

#include <assert.h>

/* A kind without a row is not taken by store_lock(). */
static const struct lock_ops *const kinds[] = {
    [LOCK_LOCAL] = &local_lock_ops,
    [LOCK_REDIS] = &redis_lock_ops,
    [LOCK_KEY] = NULL,
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

enum outcome live_check_lock(struct sale *sale, const struct store_lock *lock) {
    const struct lock_ops *ops = kinds[lock->kind];

    assert(lock == &live_of(sale)->lock);
    return ops->check != NULL ? ops->check(live_of(sale)) : OUTCOME_OK;
}

enum outcome live_lock(struct sale *sale, enum lock_kind kind, int shard, struct store_lock **out) {
    struct live_sale *live = live_of(sale);
    int64_t begun_ns = clock_now_ns(), wait_ns;
    unsigned attempts = 0;
    enum outcome outcome;

    assert(live->lock.grant == NULL && kinds[kind] != NULL);
    live->lock.kind = kind;
    outcome = kinds[kind]->acquire(live, shard, &attempts);
    live->lock.acquired_ns = clock_now_ns();
    wait_ns = live->lock.acquired_ns - begun_ns;
    live_note_wait(kind, wait_ns);
    sale_cost_lock(&live->cost, kind, wait_ns, attempts);
    assert((outcome == OUTCOME_OK) == (live->lock.grant != NULL));
    *out = &live->lock;
    return outcome;
}

/* How long its lock stays taken when the sale is not sure what became of its write. */
static int64_t hold_ms(const struct live_sale *live) {
    int64_t left_ms = live->lands_until_ms - clock_now_ms();

    return left_ms > 0 ? left_ms : 0;
}

void live_unlock(struct sale *sale, struct store_lock *lock, enum outcome outcome) {
    struct live_sale *live = live_of(sale);
    const bool is_abandoned = outcome == OUTCOME_UNKNOWN;
    int64_t hold_ns = clock_now_ns() - lock->acquired_ns;

    assert(lock == &live->lock && lock->grant != NULL);
    live_note_hold(lock->kind, hold_ns);
    sale_cost_unlock(&live->cost, lock->kind, hold_ns, !is_abandoned);
    if (is_abandoned)
        kinds[lock->kind]->abandon(live, hold_ms(live));
    else
        kinds[lock->kind]->release(live);
    lock->grant = NULL;
}
