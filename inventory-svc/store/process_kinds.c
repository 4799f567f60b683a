/* Locks of this process, as kinds of lock of the live store.
 *
 * A stamp is how often the product's stamped locks had been won: it counts for all its rows
 * together, so a stamp may be out of date by what happened to another one. */
#include "process_lock.h"
#include "store_live_internal.h"

#include <stdio.h>

#define NAME_BYTES (UUID_TEXT + 24)

static void name_lock(char name[NAME_BYTES], const struct live_sale *live, enum lock_kind kind,
                      int shard) {
    (void)snprintf(name, NAME_BYTES, "%d:%s:%d", (int)kind, live->product->id, shard);
}

static enum outcome won(struct live_sale *live, struct process_lock *lock, int err) {
    if (err == 0) {
        live->lock.grant = lock;
        return OUTCOME_OK;
    }
    (void)snprintf(live->sale.message, MESSAGE_BYTES, "lock: %s",
                   err == UV_ENOMEM ? "out of memory" : "another sale has it");
    return err == UV_ENOMEM ? OUTCOME_FAILED : OUTCOME_BUSY;
}

static enum outcome acquire(struct live_sale *live, int shard, unsigned *attempts) {
    const enum process_lock_mode mode =
        live->lock.is_shared ? PROCESS_LOCK_SHARED : PROCESS_LOCK_EXCLUSIVE;
    struct process_lock *lock;
    char name[NAME_BYTES];
    int err;

    (void)attempts;
    name_lock(name, live, live->lock.kind, shard);
    err = process_lock_acquire(live->store->loop, name, mode, live->lock_deadline_ms, &lock);
    return won(live, lock, err);
}

static enum outcome acquire_spin(struct live_sale *live, int shard, unsigned *attempts) {
    struct process_lock *lock;
    char name[NAME_BYTES];
    int err;

    name_lock(name, live, LOCK_SPIN, shard);
    err = process_lock_spin(live->store->loop, name, live->lock_deadline_ms, &lock, attempts);
    return won(live, lock, err);
}

uint64_t live_stamp(const struct live_sale *live, int shard) {
    char name[NAME_BYTES];

    name_lock(name, live, LOCK_STAMPED, shard);
    return process_lock_is_free(name) ? live->product->stamped + 1 : 0;
}

static enum outcome acquire_if_unchanged(struct live_sale *live, int shard) {
    struct process_lock *lock;
    char name[NAME_BYTES];
    int err;

    if (live->lock.stamp != live_stamp(live, shard))
        return OUTCOME_CONFLICT;
    name_lock(name, live, LOCK_STAMPED, shard);
    err = process_lock_try(name, &lock);
    return won(live, lock, err);
}

static enum outcome acquire_stamped(struct live_sale *live, int shard, unsigned *attempts) {
    enum outcome outcome =
        live->lock.stamp != 0 ? acquire_if_unchanged(live, shard) : acquire(live, shard, attempts);

    live->product->stamped += outcome == OUTCOME_OK;
    return outcome;
}

static void release(struct live_sale *live) {
    process_lock_release(live->lock.grant);
}

static void release_later(struct store *store, void *lock) {
    (void)store;
    process_lock_release(lock);
}

static void abandon(struct live_sale *live, int64_t hold_ms) {
    live_hold_on(live->store, live->lock.grant, hold_ms, release_later);
}

const struct lock_ops process_lock_ops = {
    .acquire = acquire, .release = release, .abandon = abandon};

const struct lock_ops stamped_lock_ops = {
    .acquire = acquire_stamped, .release = release, .abandon = abandon};

const struct lock_ops spin_lock_ops = {
    .acquire = acquire_spin, .release = release, .abandon = abandon};
