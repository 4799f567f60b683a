/* A worker: the program that uses the lock library under judgement. It is a process in a cgroup or
 * group of its own, and speaks lines (docs/lockjudge.md):
 *
 *     judge                            worker
 *                                      ready caps=ttl,fence
 *     acquire NAME TTL_MS WAIT_MS      held FENCE | held - | busy | error TEXT
 *     check                            held | lost
 *     release                          released | lost | error TEXT
 *     fork                             forked PID       (its child says ready, and goes on)
 *     load NAME COUNT TTL_MS FOR_MS    loaded | error TEXT
 *                                      !lost | !suspect | !held        (unasked, at any time)
 *
 * A worker that breaks this protocol, is silent, floods or dies is broken: each later request
 * fails at once, with the reason. All functions that wait run in a fiber. */
#ifndef LOCKJUDGE_WORKER_H
#define LOCKJUDGE_WORKER_H

#include "line.h"
#include "why.h"

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

struct worker;

/* What a worker does unasked. `on_told` gets LINE_LOST, LINE_SUSPECT or LINE_HELD; `on_death` runs
 * once when the process has ended. Both run on the loop, and must not wait. */
struct worker_events {
    void (*on_told)(struct worker *worker, enum line_word word, void *data);
    void (*on_death)(struct worker *worker, void *data);
    void *data;
};

struct worker_options {
    char *const *variables; /* NAME=VALUE, for its environment; NULL: none */
    /* It gets two more descriptors, 3 and 4, which become the standard input and output of a child
     * that it forks. The child is the worker of this number. 0: it cannot fork. */
    unsigned child_number;
};

/* Start `argv` (NULL at its end, copied by the kernel). `number` counts from 0. `options` may be
 * NULL. 0; or -1 with the reason, and there is nothing to close. */
__attribute__((warn_unused_result)) int worker_start(struct worker **worker, uv_loop_t *loop,
                                                     char *const *argv, unsigned number,
                                                     const struct worker_events *events,
                                                     const struct worker_options *options,
                                                     struct why *why);
/* Wait for its `ready` line, for at most `ms`. 0; or -1 with the reason. */
__attribute__((warn_unused_result)) int worker_await_ready(struct worker *worker, uint64_t ms,
                                                           struct why *why);
/* The LINE_CAP_... bits of its ready line. */
unsigned worker_caps(const struct worker *worker);
unsigned worker_number(const struct worker *worker);
/* Its process group. */
int worker_group(const struct worker *worker);

struct worker_answer {
    int64_t sent_ns, answered_ns; /* clock.h; before the request was written, after it was read */
    struct line line;
};
/* Send `request`, a line without its newline, and wait for the answer. The wait ends `ms` after
 * the worker last could run: while it is stopped, the time does not count. 0; or -1 with the
 * reason: the worker is broken, or was killed. Requests of several fibers follow each other. */
__attribute__((warn_unused_result)) int worker_ask(struct worker *worker, const char *request,
                                                   uint64_t ms, struct worker_answer *answer,
                                                   struct why *why);

/* Tell it to fork, and wait for the `ready` of its child. `child` is one more worker, in the group
 * of `worker`, and is closed before it; it can be asked and killed, not stopped. 0; or -1 with the
 * reason. Once for each worker with a child_number. */
__attribute__((warn_unused_result)) int worker_fork(struct worker *worker, uint64_t ms,
                                                    struct worker **child, struct why *why);
/* Close the input of a child, which ends at that, and wait for at most `ms`, then kill it. */
void worker_end_child(struct worker *child, uint64_t ms);
/* It is broken because it did not answer. */
bool worker_is_silent(const struct worker *worker);

/* Stop its processes (cgroup.h), and wait until they stand still. -1: it has ended. */
int worker_stop(struct worker *worker);
/* They go on. */
void worker_continue(struct worker *worker);
/* SIGKILL for all of them. on_death runs later. May be called again. */
void worker_kill(struct worker *worker);
bool worker_is_alive(const struct worker *worker);
/* It closed its output, and has not ended: in a second at most it has, or it is broken. */
bool worker_is_ending(const struct worker *worker);
/* Why it is broken; NULL: it is not. A worker that the judge killed is not broken. */
const char *worker_broken(const struct worker *worker);

/* Kill its processes, wait for the end of all its handles, and free it. No request may be under way.
 */
void worker_close(struct worker *worker);

#endif
