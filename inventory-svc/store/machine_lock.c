/* Locks on this machine's disk, as kinds of lock of the live store. It cannot be told when one is
 * free, so it is tried again and again. */
#include "file_lock.h"
#include "store_live_internal.h"

#include "clock.h"
#include "log.h"

#include <errno.h>
#include <stdio.h>

#define NAME_BYTES (UUID_TEXT + 24)

/* What the system says is for the log. */
static enum outcome refuse(struct live_sale *live, int err) {
    static struct log_limit limit;
    const bool may_pass =
        err == UV_ENOSPC || err == -EDQUOT || err == UV_EMFILE || err == UV_ENFILE;
    unsigned left_out;

    if (log_limit_pass(&limit, clock_now_ms(), &left_out))
        log_warn("lock directory", "dir=%s left_out=%u why=%s", live->store->lock_dir, left_out,
                 uv_err_name(err));
    (void)snprintf(live->sale.message, MESSAGE_BYTES, "the directory of locks cannot be used");
    return may_pass ? OUTCOME_BUSY : OUTCOME_FAILED;
}

static enum outcome acquire(struct live_sale *live, enum file_lock_way way, int shard) {
    struct file_lock *lock;
    char name[NAME_BYTES];
    int err;

    (void)snprintf(name, sizeof name, "%s-%d.%s", live->product->id, shard,
                   way == FILE_MKDIR ? "d" : "lock");
    while ((err = file_lock_try(live->store->loop, live->store->lock_dir, way, name, &lock)) ==
           UV_EBUSY) {
        enum outcome outcome = store_pause(&live->sale);

        if (outcome != OUTCOME_OK)
            return outcome;
    }
    live->lock.grant = lock;
    return err == 0 ? OUTCOME_OK : refuse(live, err);
}

static enum outcome acquire_mkdir(struct live_sale *live, int shard, unsigned *attempts) {
    (void)attempts;
    return acquire(live, FILE_MKDIR, shard);
}

static enum outcome acquire_flock(struct live_sale *live, int shard, unsigned *attempts) {
    (void)attempts;
    return acquire(live, FILE_FLOCK, shard);
}

static void release(struct live_sale *live) {
    file_lock_release(live->store->loop, live->lock.grant);
}

static void abandon_mkdir(struct live_sale *live, int64_t hold_ms) {
    (void)hold_ms; /* nobody will ever free it */
    log_warn("lock left for ever", "dir=%s product=%s", live->store->lock_dir, live->product->id);
    file_lock_leave(live->lock.grant);
}

static void release_later(struct store *store, void *lock) {
    file_lock_release(store->loop, lock);
}

static void abandon_flock(struct live_sale *live, int64_t hold_ms) {
    live_hold_on(live->store, live->lock.grant, hold_ms, release_later);
}

const struct lock_ops mkdir_lock_ops = {
    .acquire = acquire_mkdir, .release = release, .abandon = abandon_mkdir};

const struct lock_ops flock_lock_ops = {
    .acquire = acquire_flock, .release = release, .abandon = abandon_flock};
