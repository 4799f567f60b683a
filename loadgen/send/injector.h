/* Breaks servers at planned moments of a round with scripts/stack, and starts them again.
 *
 * Each command starts before the first request, and waits for its moment on a pipe. So no process
 * is made while requests must leave on time, and no fault is late by the start of a script. One
 * more command waits for the end of its pipe, and then starts all servers that are down. If loadgen
 * is killed, that command still does its work; the others do nothing. */
#ifndef LOADGEN_INJECTOR_H
#define LOADGEN_INJECTOR_H

#include "fault_list.h"
#include "why.h"

#include <stddef.h>
#include <stdint.h>
#include <uv.h>

struct injector_step;

/* The result of a fault. Times are of clock_now_ns(); 0: has not happened. */
struct injector_act {
    const struct fault *fault;
    int64_t began_ns, ended_ns; /* of the command */
    int64_t until_ns; /* the server is up again; ended_ns if it stays up, for example after a cut */
};

/* The caller owns it, zeroes it, and keeps the arguments of injector_open() alive as long. */
struct injector {
    size_t act_count;
    struct injector_act acts[FAULT_LIST_MAX]; /* in the order of the list */
    struct why why; /* the first failure, also of injector_open(); or "" */

    /* Private. */
    uv_loop_t *loop;
    size_t step_count;
    struct injector_step *steps;
    unsigned open_handles;
};

/* In a fiber: starts a command of the script `stack` for each fault, and returns when all of them
 * wait. Returns 0; or -1, and then there is nothing to close. */
__attribute__((warn_unused_result)) int injector_open(struct injector *injector, uv_loop_t *loop,
                                                      const char *stack,
                                                      const struct fault_list *faults);

/* Starts the clock of the faults: `start_ns`, of clock_now_ns(), is the first planned moment. */
void injector_start(struct injector *injector, int64_t start_ns);

/* In a fiber: drops faults that have not started, waits for the others, starts all servers that are
 * down, and waits until they are ready. A server that does not come up is a failure in `why`. */
void injector_close(struct injector *injector);

#endif
