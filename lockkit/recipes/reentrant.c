/* Acquiring a lock again that one already holds: a count beside one lease. */
#include "lockkit.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>

struct lk_reentrant {
    lk_lock *lock;
    lk_lease *lease;
    unsigned depth;
    bool is_under_way; /* the first acquisition is */
    lk_acquire_cb on_acquired;
    void *data;
};

/* An outcome that needed no server, for a callback in the next turn of the loop. */
struct told {
    uv_timer_t timer;
    lk_acquire_cb on_acquired; /* else on_released runs */
    lk_release_cb on_released;
    enum lk_status status;
    lk_lease *lease;
    void *data;
};

static void on_told(uv_handle_t *timer) {
    free(timer->data);
}

static void reentrant_tell(uv_timer_t *timer) {
    struct told *told = timer->data;

    uv_close((uv_handle_t *)timer, on_told);
    if (told->on_acquired != NULL)
        told->on_acquired(NULL, told->status, told->lease, told->data);
    else
        told->on_released(told->status, told->data);
}

static enum lk_status reentrant_tell_later(uv_loop_t *loop, const struct told *what) {
    struct told *told = malloc(sizeof *told);

    if (told == NULL)
        return LK_NOMEM;
    *told = *what;
    (void)uv_timer_init(loop, &told->timer);
    told->timer.data = told;
    (void)uv_timer_start(&told->timer, reentrant_tell, 0, 0);
    return LK_OK;
}

enum lk_status lk_reentrant_open(lk_reentrant **out, lk_lock *lock) {
    struct lk_reentrant *owner = calloc(1, sizeof *owner);

    *out = owner;
    if (owner == NULL)
        return LK_NOMEM;
    owner->lock = lock;
    return LK_OK;
}

void lk_reentrant_close(lk_reentrant *owner) {
    assert(!owner || (owner->depth == 0 && !owner->is_under_way));
    free(owner);
}

static void reentrant_on_acquired(lk_request *request, enum lk_status status, lk_lease *lease,
                                  void *data) {
    struct lk_reentrant *owner = data;

    owner->is_under_way = false;
    owner->lease = lease;
    owner->depth = status == LK_OK;
    owner->on_acquired(request, status, lease, owner->data);
}

static uv_loop_t *loop_of(const struct lk_reentrant *owner) {
    return lk_client_loop(lk_lock_client(owner->lock));
}

static enum lk_status acquire_again(struct lk_reentrant *owner, lk_acquire_cb cb, void *data) {
    bool is_lost = lk_lease_check(owner->lease, 0) != LK_OK;
    enum lk_status status =
        reentrant_tell_later(loop_of(owner), &(struct told){.on_acquired = cb,
                                                            .status = is_lost ? LK_LOST : LK_OK,
                                                            .lease = is_lost ? NULL : owner->lease,
                                                            .data = data});

    if (status == LK_OK && !is_lost)
        owner->depth++;
    return status;
}

enum lk_status lk_reentrant_acquire(lk_reentrant *owner, uint32_t wait_ms, lk_acquire_cb cb,
                                    void *data) {
    enum lk_status status;

    if (owner->is_under_way)
        return LK_BUSY;
    if (owner->depth > 0)
        return acquire_again(owner, cb, data);
    owner->on_acquired = cb;
    owner->data = data;
    status = lk_acquire(owner->lock, wait_ms, reentrant_on_acquired, owner, NULL);
    owner->is_under_way = status == LK_OK;
    return status;
}

/* Out of memory its callback runs inside the call. */
void lk_reentrant_release(lk_reentrant *owner, lk_release_cb cb, void *data) {
    assert(owner->depth > 0);
    if (--owner->depth == 0)
        lk_release(owner->lease, cb, data);
    else if (cb != NULL &&
             reentrant_tell_later(loop_of(owner),
                                  &(struct told){.on_released = cb, .data = data}) != LK_OK)
        cb(LK_OK, data);
}

unsigned lk_reentrant_depth(const lk_reentrant *owner) {
    return owner->depth;
}
