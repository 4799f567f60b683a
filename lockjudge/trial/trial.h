/* One trial: workers that contend for one lock, one fault at the moment that the plan chose, and
 * the history of all that.
 *
 *     calm     each worker acquires, checks and writes, releases, thinks, and begins again
 *     struck   the fault has begun; the others go on until one of them has written, or a limit
 *     after    the fault is over; its victim checks and writes for a while, and releases
 *     settled  until the lock was granted a few times more, or could be STUCK */
#ifndef LOCKJUDGE_TRIAL_H
#define LOCKJUDGE_TRIAL_H

#include "faults.h"
#include "history.h"
#include "why.h"

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

struct trial_setup {
    uv_loop_t *loop;
    char *const *command; /* of the worker, with {url} in it */
    const char *url;      /* of the server; "": none */
    unsigned workers;     /* 1..TRIAL_WORKERS_MAX */
    int64_t ttl_ms, slack_ms;
    int64_t start_ms; /* for how long a worker may start */
    uint64_t seed;
    const struct fault *fault;
    enum fault_moment moment;
    const char *lock_name;
    struct servers *servers; /* or NULL */
    const bool *is_stopped;  /* true: end the trial soon */
};

#define TRIAL_WORKERS_MAX 64

struct trial_outcome {
    struct history history; /* history_free() */
    unsigned caps;          /* of the workers: LINE_CAP_... */
    bool has_struck;        /* the fault began */
    bool has_caps;          /* a worker said them */
    bool is_unasked;        /* the fault needs what the worker has not */
};

/* Run it, in a fiber. All its processes have ended when it returns. 0; or -1 with the reason: a
 * worker is broken, or the fault could not strike, or cannot be asked. `outcome` holds a history in any case. */
__attribute__((warn_unused_result)) int trial_run(const struct trial_setup *setup,
                                                  struct trial_outcome *outcome, struct why *why);

/* Kill the workers of the trial that runs now, if any. For the end by a signal. */
void trial_kill(void);

#endif
