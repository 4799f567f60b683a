/* The server's side of one lock, by a clock that is an argument. */
#include "sim_lock.h"

#include <string.h>

#define NS_PER_MS 1000000

static void sim_grant(struct sim_lock *lock, const struct sim_place *to) {
    lock->holder = *to;
    lock->fence = (lock->last > to->above ? lock->last : to->above) + 1;
    lock->last = lock->fence + to->more;
}

static void sim_remove(struct sim_lock *lock, unsigned at) {
    memmove(&lock->line[at], &lock->line[at + 1], (--lock->waiting - at) * sizeof lock->line[0]);
}

bool sim_lock_serve(struct sim_lock *lock, int64_t now_ns, int64_t ttl_ns) {
    struct sim_place first;

    if (lock->holder.owner[0] != '\0' && !lock->is_session && lock->holder.until_ns <= now_ns)
        lock->holder.owner[0] = '\0';
    while (lock->holder.owner[0] == '\0' && lock->waiting > 0) {
        first = lock->line[0];
        sim_remove(lock, 0);
        if (first.until_ns <= now_ns)
            continue;
        first.until_ns = now_ns + ttl_ns;
        sim_grant(lock, &first);
        return true;
    }
    return false;
}

static void sim_stand_in_line(struct sim_lock *lock, struct sim_ask *ask, struct sim_place *me,
                              int64_t now_ns) {
    unsigned at = 0;

    ask->status = LK_BUSY;
    ask->remaining_ms = lock->is_session ? -1 : (lock->holder.until_ns - now_ns) / NS_PER_MS;
    while (at < lock->waiting && strcmp(lock->line[at].owner, me->owner) != 0)
        at++;
    ask->is_queued = ask->patience_ns > 0 && at < SIM_LINE;
    me->until_ns = now_ns + ask->patience_ns;
    if (ask->is_queued)
        lock->line[at] = *me;
    lock->waiting += ask->is_queued && at == lock->waiting;
}

static void sim_acquire(struct sim_lock *lock, struct sim_ask *ask, int64_t now_ns) {
    struct sim_place me = {.client = ask->client,
                           .above = ask->above,
                           .more = ask->more,
                           .until_ns = now_ns + ask->ttl_ns};

    memcpy(me.owner, ask->owner, OWNER_SIZE);
    if (strcmp(lock->holder.owner, me.owner) == 0) {
        lock->holder.until_ns = me.until_ns;
    } else if (lock->holder.owner[0] == '\0') { /* then nobody is in line */
        sim_grant(lock, &me);
    } else {
        sim_stand_in_line(lock, ask, &me, now_ns);
        return;
    }
    ask->status = LK_OK;
    ask->fence = lock->fence;
}

static void sim_release(struct sim_lock *lock, const struct sim_ask *ask) {
    if (ask->status == LK_OK)
        lock->holder.owner[0] = '\0';
    for (unsigned i = lock->waiting; i-- > 0;)
        if (strcmp(lock->line[i].owner, ask->owner) == 0)
            sim_remove(lock, i);
}

void sim_lock_carry_out(struct sim_lock *lock, struct sim_ask *ask, int64_t now_ns) {
    ask->remaining_ms = -1;
    if (ask->verb == LK_ACQUIRE) {
        sim_acquire(lock, ask, now_ns);
        return;
    }
    ask->status = strcmp(lock->holder.owner, ask->owner) == 0 ? LK_OK : LK_LOST;
    if (ask->verb == LK_RENEW && ask->status == LK_OK)
        lock->holder.until_ns = now_ns + ask->ttl_ns;
    if (ask->verb == LK_RELEASE)
        sim_release(lock, ask);
}
