/* Several processes that share the sending of one plan, for a load that one core cannot make.
 *
 * Request n of the plan goes to worker n modulo their number; a repeat goes to the worker of its
 * original. Requests and moments are the same for any number of workers. */
#ifndef LOADGEN_WORKERS_H
#define LOADGEN_WORKERS_H

#include "fiber.h"
#include "sender.h"
#include "share.h"
#include "why.h"

#include <stdbool.h>
#include <sys/types.h>
#include <uv.h>

struct workers;

struct worker_seat {
    struct workers *workers;
    pid_t pid;
    int socket;
    uv_poll_t poll;
    enum { SEAT_OPENING, SEAT_READY, SEAT_DONE, SEAT_DEAD } state;
};

/* The caller owns it and zeroes it. */
struct workers {
    size_t count;     /* 0: no workers */
    struct why why;   /* the worker that died, with the cause; or "" */
    bool is_realtime; /* all kept real-time priority to the end of the last round */

    /* Private. */
    struct worker_seat seats[SHARE_WORKERS];
    const struct sender *sender; /* of the current round */
    uv_timer_t timer;
    bool is_stopped;
    int rc;
    unsigned open_handles;
    struct fiber_event ready, done, closed;
};

/* Starts them, before this process has threads or a fiber. `like` has the constants of all rounds:
 * the plan, which must live on, the path, and the limits of all workers together. Returns 0, or -1
 * with errno. */
__attribute__((warn_unused_result)) int workers_open(struct workers *workers, size_t count,
                                                     const struct sender *like,
                                                     bool is_realtime_wanted);
/* Ends them at once. */
void workers_close(struct workers *workers);

/* Does sender_run() in all workers; the recorder of `sender` is from share_make(). If a worker
 * dies, the round ends early, workers->why has the reason, and no further round may be sent. */
__attribute__((warn_unused_result)) int workers_send(struct workers *workers,
                                                     const struct sender *sender);
/* Does sender_stop() in all workers. */
void workers_stop(struct workers *workers, uint64_t grace_ms);

#endif
