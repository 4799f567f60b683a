/* Leases of lockkit, in this process and in Redis. */
#include "store_live_internal.h"

#include "clock.h"
#include "lock_adapter.h"
#include "statement.h"

#include <assert.h>
#include <stdio.h>

#define NEED_MS         (SERVER_MS + 300)
#define LOCK_NAME_BYTES (UUID_TEXT + 24)

static void name_lock(char name[LOCK_NAME_BYTES], const struct product *product, int shard) {
    (void)snprintf(name, LOCK_NAME_BYTES, "stock:%s:%d", product->id, shard);
}

/* Nothing was sold: at fault are we or our memory, or else the lock's owner or server. */
static enum outcome not_acquired(struct sale *sale, enum lk_status status) {
    assert(status != LK_OK);
    (void)snprintf(sale->message, MESSAGE_BYTES, "lock: %s", lk_status_text(status));
    return status == LK_UNSUPPORTED || status == LK_INVALID || status == LK_NOMEM ? OUTCOME_FAILED
                                                                                  : OUTCOME_BUSY;
}

static enum outcome acquire(struct live_sale *live, lk_client *client, int shard,
                            unsigned *attempts) {
    int64_t wait_ms = live->lock_deadline_ms - clock_now_ms();
    char name[LOCK_NAME_BYTES];
    lk_lease *lease;
    enum lk_status status;

    name_lock(name, live->product, shard);
    status = lock_acquire_await(client, name, (uint32_t)live->sale.options->ttl_ms,
                                wait_ms > 0 ? (uint32_t)wait_ms : LK_TRY, &lease, attempts);
    live->lock.grant = lease;
    return status == LK_OK ? OUTCOME_OK : not_acquired(&live->sale, status);
}

static enum outcome acquire_local(struct live_sale *live, int shard, unsigned *attempts) {
    return acquire(live, live->store->local, shard, attempts);
}

static enum outcome acquire_redis(struct live_sale *live, int shard, unsigned *attempts) {
    live->product->is_locked_in_redis = true;
    return acquire(live, live->store->redis, shard, attempts);
}

/* So much that the server gives the write up before the lease ends, even when this instance or
 * Redis dies right after the sending. A short lease cannot have that: a third of it then, since
 * renewal begins when two thirds are left. */
int64_t live_need_ms(const struct live_sale *live) {
    return earlier(NEED_MS, live->sale.options->ttl_ms / 3);
}

static enum outcome check(struct live_sale *live, uint32_t need_ms) {
    if (lk_lease_check(live->lock.grant, need_ms) == LK_OK)
        return OUTCOME_OK;
    (void)snprintf(live->sale.message, MESSAGE_BYTES,
                   "the lease ended, or was about to, before the write");
    return OUTCOME_BUSY;
}

static enum outcome check_local(struct live_sale *live) {
    return check(live, 1);
}

static enum outcome check_redis(struct live_sale *live) {
    return check(live, (uint32_t)live_need_ms(live));
}

/* The customer need not wait for the confirmation. */
static void release(struct live_sale *live) {
    lk_release(live->lock.grant, NULL, NULL);
}

static void abandon(struct live_sale *live, int64_t hold_ms) {
    lk_abandon(live->lock.grant, (uint32_t)hold_ms);
}

static int64_t fence(const struct store_lock *lock) {
    return (int64_t)lk_lease_fence(lock->grant);
}

/* Tokens that fell would be refused by this row from now on. */
static void saw_fence(const struct store_lock *lock, int64_t seen) {
    lk_lease_saw_fence(lock->grant, (uint64_t)seen);
}

const struct lock_ops local_lock_ops = {
    .acquire = acquire_local, .check = check_local, .release = release, .abandon = abandon};

const struct lock_ops redis_lock_ops = {.acquire = acquire_redis,
                                        .check = check_redis,
                                        .release = release,
                                        .abandon = abandon,
                                        .fence = fence,
                                        .saw_fence = saw_fence};

void store_live_holder(struct store *store, const struct product *product,
                       char holder[INSTANCE_BYTES]) {
    char name[LOCK_NAME_BYTES];

    holder[0] = '\0';
    if (!product->is_locked_in_redis)
        return;
    name_lock(name, product, 0);
    lock_holder_await(store->redis, name, holder, INSTANCE_BYTES);
}
