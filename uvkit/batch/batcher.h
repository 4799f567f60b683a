/* Calls that come while others are under way go together: group commit, for fibers of one loop.
 *
 * The first call goes at once, alone. Those that come while it is under way wait, and go together
 * when it is back: as one batch, in the fiber of the one that came first (its leader). So nobody
 * waits for a timer, and the batches are as large as the load makes them.
 *
 * A batch that costs as much as many calls do may gather some first: it goes when `enough` are
 * there, or when its leader has waited for `gather_ms`. */
#ifndef UVKIT_BATCHER_H
#define UVKIT_BATCHER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <uv.h>

/* One call, a part of what the caller wants done; it may lie on the fiber's stack. */
struct batcher_call {
    TAILQ_ENTRY(batcher_call) entry;
    int64_t deadline_ms;
    struct fiber_event *is_over;
    bool is_leader, is_late;
};
TAILQ_HEAD(batcher_calls, batcher_call);

/* The caller fills in the first part, and batcher_init() does the rest. */
struct batcher {
    unsigned lanes;  /* batches under way at a time */
    unsigned most;   /* calls of a batch */
    unsigned limit;  /* calls that may wait */
    unsigned enough; /* calls that a batch gathers, with one lane; may change; 0: as they come */
    uint64_t gather_ms;
    uv_loop_t *loop; /* to gather on */
    /* Do what the calls ask for, in a fiber; returns when all is done. The calls, in the order in
     * which they came, stay where they are. */
    void (*run)(void *data, const struct batcher_calls *batch, unsigned count);
    void *data;

    unsigned running, waiting;
    struct fiber_event *is_enough; /* when the leader gathers */
    struct batcher_calls queue;
};

void batcher_init(struct batcher *batcher);

/* In a fiber: returns true when `run` has had this call. False when it was not to have it: too many
 * wait, or `deadline_ms` (clock_now_ms()) had passed when its turn came. */
bool batcher_await(struct batcher *batcher, struct batcher_call *call, int64_t deadline_ms);

#endif
