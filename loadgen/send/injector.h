/* Breaks servers at planned moments of a round, by way of scripts/stack, and puts them up again.
 *
 * Each command is started before the first request and waits for its moment on a pipe, so that no
 * process is made while requests are to leave on time, and a fault is not late by the start of a
 * script. A last one waits for the end of its pipe, to put up all that is down: it does so even
 * when loadgen is killed, and so does none of the others. */
#ifndef LOADGEN_INJECTOR_H
#define LOADGEN_INJECTOR_H

#include "fault_list.h"
#include "why.h"

#include <stddef.h>
#include <stdint.h>
#include <uv.h>

struct injector_step;

/* What a fault came to; times are of clock_now_ns(), 0 for what has not happened. */
struct injector_act {
    const struct fault *fault;
    int64_t began_ns, ended_ns; /* the command */
    int64_t until_ns; /* the server is up again; ended_ns for what leaves it up, as a cut does */
};

/* Zeroed by the caller, who owns it, and keeps what was given as long. */
struct injector {
    size_t act_count;
    struct injector_act acts[FAULT_LIST_MAX]; /* in the order of the list */
    struct why why; /* the first that failed, or ""; also why one could not be opened */

    /* The injector's own. */
    uv_loop_t *loop;
    size_t step_count;
    struct injector_step *steps;
    unsigned open_handles;
};

/* In a fiber: start a command of the script `stack` for each fault, and wait until they wait. 0; or
 * -1, and then nothing is left to close. */
__attribute__((warn_unused_result)) int injector_open(struct injector *injector, uv_loop_t *loop,
                                                      const char *stack,
                                                      const struct fault_list *faults);

/* The first request is planned for this moment of clock_now_ns(). */
void injector_start(struct injector *injector, int64_t start_ns);

/* In a fiber: leave out what has not begun, wait for what has, put up all that is down and wait
 * until it is ready. A server that does not come up is a fault that failed. */
void injector_close(struct injector *injector);

#endif
