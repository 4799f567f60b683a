/* Several locks, all or none: one by one, in an order that all programs keep (Dijkstra's resource
 * hierarchy), under one deadline. */
#include "lockkit.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define COUNT_MOST 64

struct member {
    lk_lock *lock;
    size_t place; /* in the caller's list */
    lk_lease *lease;
};

struct lk_set {
    lk_set_cb on_acquired;
    lk_release_cb on_released;
    void *data;
    uv_loop_t *loop;
    uint32_t wait_ms;
    uint64_t until_ms;
    lk_request *request; /* of members[taken], while it is under way */
    enum lk_status status;
    bool is_canceled;
    size_t count, taken, releasing;
    struct member members[];
};

static int by_name(const void *a, const void *b) {
    const struct member *one = a, *other = b;
    int order = strcmp(lk_lock_name(one->lock), lk_lock_name(other->lock));

    return order != 0 ? order : one->place < other->place ? -1 : 1;
}

static bool is_twice(const struct member *a, const struct member *b) {
    return lk_lock_client(a->lock) == lk_lock_client(b->lock) &&
           strcmp(lk_lock_name(a->lock), lk_lock_name(b->lock)) == 0;
}

/* No lock of the set is left. */
static void set_end(struct lk_set *set) {
    if (set->on_acquired != NULL)
        set->on_acquired(set->status, NULL, set->data);
    else if (set->on_released != NULL)
        set->on_released(set->status, set->data);
    free(set);
}

static bool set_is_worse(enum lk_status status, enum lk_status than) {
    return status != LK_OK && than != LK_UNKNOWN;
}

static void set_on_released(enum lk_status status, void *data) {
    struct lk_set *set = data;

    if (set->on_acquired == NULL && set_is_worse(status, set->status))
        set->status = status;
    if (--set->releasing == 0)
        set_end(set);
}

/* The last one first, because locks nest. The callback of the last release may free `set`, but not
 * before the loop has released all of them. */
static void set_give_back(struct lk_set *set) {
    set->releasing = set->taken;
    for (size_t i = set->taken; i-- > 0;)
        lk_release(set->members[i].lease, set_on_released, set);
}

static void set_fail(struct lk_set *set, enum lk_status status) {
    set->status = status;
    if (set->taken > 0)
        set_give_back(set);
    else
        set_end(set);
}

static void take_next(struct lk_set *set);

static void set_on_acquired(lk_request *request, enum lk_status status, lk_lease *lease,
                            void *data) {
    struct lk_set *set = data;
    lk_set_cb cb = set->on_acquired;

    (void)request;
    set->request = NULL;
    /* the wait was over, and the lock was not free */
    if (status == LK_BUSY && set->wait_ms != LK_TRY)
        status = LK_TIMEOUT;
    if (status != LK_OK) {
        set_fail(set, status);
        return;
    }
    set->members[set->taken++].lease = lease;
    if (set->is_canceled && set->taken < set->count) {
        set_fail(set, LK_CANCELED);
    } else if (set->taken < set->count) {
        take_next(set);
    } else if (lk_set_check(set, 1) != LK_OK) {
        set_fail(set, LK_LOST);
    } else {
        set->on_acquired = NULL;
        cb(LK_OK, set, set->data);
    }
}

static uint32_t set_left_ms(const struct lk_set *set) {
    const uint64_t now_ms = uv_now(set->loop);

    if (set->wait_ms == LK_TRY || set->wait_ms == LK_FOREVER)
        return set->wait_ms;
    /* LK_TRY after the wait: a free lock may still be had. */
    return set->until_ms > now_ms ? (uint32_t)(set->until_ms - now_ms) : LK_TRY;
}

static enum lk_status start_next(struct lk_set *set) {
    return lk_acquire(set->members[set->taken].lock, set_left_ms(set), set_on_acquired, set,
                      &set->request);
}

static void take_next(struct lk_set *set) {
    const enum lk_status status = start_next(set);

    if (status != LK_OK)
        set_fail(set, status);
}

/* Sort the locks. False: a name is there twice. */
static bool set_fill(struct lk_set *set, lk_lock *const *locks) {
    for (size_t i = 0; i < set->count; i++)
        set->members[i] = (struct member){.lock = locks[i], .place = i};
    qsort(set->members, set->count, sizeof *set->members, by_name);
    for (size_t i = 0; i < set->count; i++)
        for (size_t j = i + 1; j < set->count; j++)
            if (is_twice(&set->members[i], &set->members[j]))
                return false;
    return true;
}

enum lk_status lk_acquire_all(lk_lock *const *locks, size_t count, uint32_t wait_ms, lk_set_cb cb,
                              void *data, lk_set **out) {
    struct lk_set *set;
    enum lk_status status = LK_INVALID;

    if (count == 0 || count > COUNT_MOST)
        return LK_INVALID;
    set = calloc(1, sizeof *set + count * sizeof *set->members);
    if (set == NULL)
        return LK_NOMEM;
    set->count = count;
    set->on_acquired = cb;
    set->data = data;
    set->loop = lk_client_loop(lk_lock_client(locks[0]));
    set->wait_ms = wait_ms;
    uv_update_time(set->loop);
    set->until_ms = uv_now(set->loop) + wait_ms;
    if (set_fill(set, locks))
        status = start_next(set);
    if (status != LK_OK)
        free(set);
    else if (out != NULL)
        *out = set;
    return status;
}

/* A request under way may have its lock already. A set that is failing has no request. */
void lk_set_cancel(lk_set *set) {
    set->is_canceled = true;
    if (set->request != NULL)
        lk_cancel(set->request);
}

lk_lease *lk_set_lease(const lk_set *set, size_t index) {
    size_t i = 0;

    assert(index < set->count && set->taken == set->count);
    while (set->members[i].place != index)
        i++;
    return set->members[i].lease;
}

enum lk_status lk_set_check(const lk_set *set, uint32_t need_ms) {
    for (size_t i = 0; i < set->count; i++)
        if (lk_lease_check(set->members[i].lease, need_ms) != LK_OK)
            return LK_LOST;
    return LK_OK;
}

void lk_set_release(lk_set *set, lk_release_cb cb, void *data) {
    assert(!set->on_acquired);
    set->on_released = cb;
    set->data = data;
    set->status = LK_OK;
    set_give_back(set);
}
