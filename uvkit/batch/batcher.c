/* A call that finds a free lane leads. When its batch is done, the leader first gives its lane to
 * the first waiting call, so the next batch goes or gathers at once. Then it wakes the calls of its
 * own batch. */
#include "batcher.h"

#include "clock.h"
#include "fiber.h"

#include <assert.h>

void batcher_init(struct batcher *batcher) {
    assert(batcher->lanes > 0 && batcher->most > 0 && batcher->run != NULL);
    batcher->running = batcher->waiting = 0;
    batcher->is_enough = NULL;
    TAILQ_INIT(&batcher->queue);
}

static void batcher_move(struct batcher *batcher, struct batcher_call *call,
                         struct batcher_calls *to) {
    assert(batcher->waiting > 0);
    TAILQ_REMOVE(&batcher->queue, call, entry);
    batcher->waiting--;
    TAILQ_INSERT_TAIL(to, call, entry);
}

static void take_late(struct batcher *batcher, struct batcher_calls *late) {
    int64_t now_ms = clock_now_ms();
    struct batcher_call *call = TAILQ_FIRST(&batcher->queue), *next;

    for (; call != NULL; call = next) {
        next = TAILQ_NEXT(call, entry);
        call->is_late = call->deadline_ms <= now_ms;
        if (call->is_late)
            batcher_move(batcher, call, late);
    }
}

/* A call is gone once its fiber runs on. */
static void batcher_let_go(struct batcher_calls *calls, const struct batcher_call *but) {
    struct batcher_call *call;

    while ((call = TAILQ_FIRST(calls)) != NULL) {
        TAILQ_REMOVE(calls, call, entry);
        if (call != but)
            fiber_event_set(call->is_over);
    }
}

static void pass_lane(struct batcher *batcher) {
    struct batcher_calls late = TAILQ_HEAD_INITIALIZER(late);
    struct batcher_call *next;

    take_late(batcher, &late);
    next = TAILQ_FIRST(&batcher->queue);
    if (next == NULL) {
        batcher->running--;
    } else {
        next->is_leader = true;
        fiber_event_set(next->is_over);
    }
    batcher_let_go(&late, NULL);
}

static void batcher_gather(struct batcher *batcher) {
    struct fiber_event is_enough = FIBER_EVENT_INIT;

    if (batcher->waiting >= batcher->enough)
        return;
    assert(batcher->lanes == 1);
    batcher->is_enough = &is_enough;
    (void)fiber_event_wait_for(batcher->loop, &is_enough, batcher->gather_ms);
    batcher->is_enough = NULL;
}

static void batcher_lead(struct batcher *batcher, struct batcher_call *leader) {
    struct batcher_calls batch = TAILQ_HEAD_INITIALIZER(batch);
    unsigned count = 0;

    assert(TAILQ_FIRST(&batcher->queue) == leader && batcher->running <= batcher->lanes);
    batcher_gather(batcher);
    for (; count < batcher->most && !TAILQ_EMPTY(&batcher->queue); count++)
        batcher_move(batcher, TAILQ_FIRST(&batcher->queue), &batch);
    batcher->run(batcher->data, &batch, count);
    pass_lane(batcher);
    batcher_let_go(&batch, leader);
}

static void batcher_follow(struct batcher *batcher, struct fiber_event *is_over) {
    if (batcher->is_enough != NULL && batcher->waiting >= batcher->enough)
        fiber_event_set(batcher->is_enough);
    fiber_event_wait(is_over);
}

bool batcher_await(struct batcher *batcher, struct batcher_call *call, int64_t deadline_ms) {
    struct fiber_event is_over = FIBER_EVENT_INIT;

    *call = (struct batcher_call){.deadline_ms = deadline_ms,
                                  .is_over = &is_over,
                                  .is_leader = batcher->running < batcher->lanes};
    if (!call->is_leader && batcher->waiting >= batcher->limit)
        return false;
    TAILQ_INSERT_TAIL(&batcher->queue, call, entry);
    batcher->waiting++;
    if (call->is_leader)
        batcher->running++;
    else
        batcher_follow(batcher, &is_over);
    if (call->is_leader)
        batcher_lead(batcher, call);
    return !call->is_late;
}
