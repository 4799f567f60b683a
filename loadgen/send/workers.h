/* Several processes that send one plan between them, for a load that one core cannot make.
 *
 * Request n of the plan is sent by worker n modulo their number, and a repeat by who sends what it
 * repeats: what is sent, and when, is the same whatever their number. */
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

/* Zeroed by the caller, who owns it. */
struct workers {
    size_t count;     /* 0: none were wanted */
    struct why why;   /* which one died, and of what, or "" */
    bool is_realtime; /* all had real-time priority to the end of the last round */

    /* The workers' own. */
    struct worker_seat seats[SHARE_WORKERS];
    const struct sender *sender; /* of the round that is being sent */
    uv_timer_t timer;
    bool is_stopped;
    int rc;
    unsigned open_handles;
    struct fiber_event ready, done, closed;
};

/* Start them, before this process has threads or a fiber. Of `like` each has what is the same in
 * all rounds: the plan, which stays, the path and the limits, which are for all of them together.
 * 0, or -1 with errno. */
__attribute__((warn_unused_result)) int workers_open(struct workers *workers, size_t count,
                                                     const struct sender *like,
                                                     bool is_realtime_wanted);
/* They end, whatever they are doing. */
void workers_close(struct workers *workers);

/* sender_run(), by all of them: `sender` has a recorder of share_make(). The round ends early when
 * one of them dies: then workers->why says so, and none is to be sent any more. */
__attribute__((warn_unused_result)) int workers_send(struct workers *workers,
                                                     const struct sender *sender);
/* sender_stop(). */
void workers_stop(struct workers *workers, uint64_t grace_ms);

#endif
