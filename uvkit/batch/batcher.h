/* Group commit for fibers of one loop: calls that come while a batch is under way go together in
 * the next one.
 *
 * The first call goes at once, alone. Calls that come meanwhile wait. When it is done they go as
 * one batch, in the fiber of the first of them (the leader). So no call waits for a timer, and the
 * load decides the size of the batches.
 *
 * If a batch costs as much as many calls, it may gather some first: it goes when `enough` are
 * there, or when its leader has waited for `gather_ms`. */
#ifndef UVKIT_BATCHER_H
#define UVKIT_BATCHER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <uv.h>

/* One call, a member of the caller's request; it may lie on the fiber's stack. */
struct batcher_call {
    TAILQ_ENTRY(batcher_call) entry;
    int64_t deadline_ms;
    struct fiber_event *is_over;
    bool is_leader, is_late;
};
TAILQ_HEAD(batcher_calls, batcher_call);

/* The caller fills in the first part, batcher_init() the rest. */
struct batcher {
    unsigned lanes;  /* batches under way at once */
    unsigned most;   /* most calls of a batch */
    unsigned limit;  /* most calls that may wait */
    unsigned enough; /* calls to gather for a batch, with one lane; may change; 0: do not gather */
    uint64_t gather_ms;
    uv_loop_t *loop; /* to gather on */
    /* Do the work of all calls, in a fiber, and return when it is done. The calls are in the order
     * of their arrival. They must stay in the list. */
    void (*run)(void *data, const struct batcher_calls *batch, unsigned count);
    void *data;

    unsigned running, waiting;
    struct fiber_event *is_enough; /* set while the leader gathers */
    struct batcher_calls queue;
};

void batcher_init(struct batcher *batcher);

/* In a fiber. True: `run` has had this call. False: too many waited, or `deadline_ms`
 * (clock_now_ms()) had passed when its turn came; `run` never gets it. */
bool batcher_await(struct batcher *batcher, struct batcher_call *call, int64_t deadline_ms);

/* Whether a call would go without waiting for a batch under way: a lane is free, or gathers. */
static inline bool batcher_is_open(const struct batcher *batcher) {
    return batcher->running < batcher->lanes || batcher->is_enough != NULL;
}

#endif
