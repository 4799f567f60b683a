/* The live store's locks. */
#include "store_live_internal.h"

#include "clock.h"
#include "lock_adapter.h"
#include "metrics.h"
#include "statement.h"

#include <assert.h>
#include <stdio.h>

/* The lease that a write should have left: so much that the server gives the write up before the
 * lease ends, even when this instance or Redis dies right after the sending. A short lease cannot
 * have that: a third of it then, since renewal begins when two thirds are left. */
#define NEED_MS (SERVER_MS + 300)

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

int64_t live_fence(const struct store_lock *lock) {
    if (lock == NULL || lock->kind == LOCK_LOCAL)
        return 0;
    return lock->kind == LOCK_TABLE ? lock->fence : (int64_t)lk_lease_fence(lock->lease);
}

enum outcome live_check_lock(struct sale *sale, const struct store_lock *lock) {
    uint32_t need_ms =
        lock->kind == LOCK_LOCAL ? 1 : (uint32_t)earlier(NEED_MS, sale->options->ttl_ms / 3);

    if (lock->kind == LOCK_TABLE ? clock_now_ms() + need_ms <= lock->ends_ms
                                 : lk_lease_check(lock->lease, need_ms) == LK_OK)
        return OUTCOME_OK;
    (void)snprintf(sale->message, MESSAGE_BYTES,
                   "the lease ended, or was about to, before the write");
    return OUTCOME_BUSY;
}

/* When nothing was sold, at fault are we or our memory, or else the lock's owner or server. */
static enum outcome outcome_of(struct sale *sale, enum lk_status status) {
    if (status == LK_OK)
        return OUTCOME_OK;
    (void)snprintf(sale->message, MESSAGE_BYTES, "lock: %s", lk_status_text(status));
    return status == LK_UNSUPPORTED || status == LK_INVALID || status == LK_NOMEM ? OUTCOME_FAILED
                                                                                  : OUTCOME_BUSY;
}

/* The customer need not wait for the confirmation. */
static void release(struct store_lock *lock) {
    lk_release(lock->lease, NULL, NULL);
    lock->lease = NULL;
}

#define LOCK_NAME_BYTES (UUID_TEXT + 24)

static void name_lock(char name[LOCK_NAME_BYTES], const struct product *product, int shard) {
    (void)snprintf(name, LOCK_NAME_BYTES, "stock:%s:%d", product->id, shard);
}

/* The lease; and for a lock in a table, when it is this sale's turn here, the row as well. */
static enum outcome acquire(struct live_sale *live, enum lock_kind kind, int shard,
                            unsigned *attempts) {
    lk_client *client = kind == LOCK_REDIS ? live->store->redis : live->store->local;
    int64_t wait_ms = live->lock_deadline_ms - clock_now_ms();
    char name[LOCK_NAME_BYTES];
    enum outcome outcome;

    name_lock(name, live->product, shard);
    live->product->is_locked_in_redis |= kind == LOCK_REDIS;
    outcome = outcome_of(&live->sale,
                         lock_acquire_await(client, name, (uint32_t)live->sale.options->ttl_ms,
                                            wait_ms > 0 ? (uint32_t)wait_ms : LK_TRY,
                                            &live->lock.lease, attempts));
    if (kind != LOCK_TABLE)
        return outcome;
    *attempts = 0;
    if (outcome != OUTCOME_OK)
        return outcome;
    outcome = live_table_poll(live, shard, attempts);
    if (outcome != OUTCOME_OK)
        release(&live->lock);
    return outcome;
}

enum outcome live_lock(struct sale *sale, enum lock_kind kind, int shard, struct store_lock **out) {
    struct live_sale *live = live_of(sale);
    int64_t begun_ns = clock_now_ns(), wait_ns;
    enum outcome outcome;
    unsigned attempts;

    assert(live->lock.lease == NULL);
    outcome = acquire(live, kind, shard, &attempts);
    wait_ns = clock_now_ns() - begun_ns;
    metric_time(&times[kind].wait, wait_ns);
    sale_cost_lock(&live->cost, kind, wait_ns, attempts);
    if (outcome != OUTCOME_OK)
        return outcome;
    live->lock.kind = kind;
    live->lock.acquired_ns = clock_now_ns();
    *out = &live->lock;
    return OUTCOME_OK;
}

/* How long its lock stays taken when the sale is not sure what became of its write. */
static uint32_t hold_ms(const struct live_sale *live) {
    int64_t left_ms = live->lands_until_ms - clock_now_ms();

    return left_ms > 0 ? (uint32_t)left_ms : 0;
}

void live_unlock(struct sale *sale, struct store_lock *lock, enum outcome outcome) {
    struct live_sale *live = live_of(sale);
    const bool is_abandoned = outcome == OUTCOME_UNKNOWN;
    int64_t hold_ns = clock_now_ns() - lock->acquired_ns;

    assert(lock == &live->lock && lock->lease != NULL);
    metric_time(&times[lock->kind].hold, hold_ns);
    sale_cost_unlock(&live->cost, lock->kind, hold_ns, !is_abandoned);
    if (lock->kind == LOCK_TABLE && !is_abandoned)
        live_table_give_back(live); /* else it ends by itself: the fence refuses what lands later */
    if (is_abandoned && lock->kind != LOCK_TABLE) {
        lk_abandon(lock->lease, hold_ms(live));
        lock->lease = NULL;
    } else {
        release(lock);
    }
}

void store_live_holder(struct store *store, const struct product *product,
                       char holder[INSTANCE_BYTES]) {
    char name[LOCK_NAME_BYTES];

    holder[0] = '\0';
    if (!product->is_locked_in_redis)
        return;
    name_lock(name, product, 0);
    lock_holder_await(store->redis, name, holder, INSTANCE_BYTES);
}
