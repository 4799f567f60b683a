/* What a trial is asked, and what comes out of it. */
#ifndef LOCKJUDGE_SETUP_H
#define LOCKJUDGE_SETUP_H

#include "faults.h"
#include "history.h"

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#define TRIAL_WORKERS_MAX 64

struct trial_setup {
    uv_loop_t *loop;
    char *const *command; /* of the worker, with {url} in it */
    const char *url;      /* of the server; "": none */
    unsigned workers;     /* 1..TRIAL_WORKERS_MAX */
    int64_t ttl_ms, slack_ms;
    int64_t start_ms; /* for how long a worker may start */
    uint64_t seed;
    struct fault_case cases[FAULT_PAIR]; /* the second has no fault, unless it is a pair */
    const char *lock_name;
    struct servers *servers; /* or NULL */
    const bool *is_stopped;  /* true: end the trial soon */
};

struct trial_outcome {
    struct history history; /* history_free() */
    unsigned caps;          /* of the workers: LINE_CAP_... */
    bool has_struck;        /* each fault began */
    bool has_missed;        /* a fault of the network waited for a reply, and none came */
    bool has_caps;          /* a worker said them */
    bool is_unasked;        /* a fault needs what the worker has not */
    bool has_second_hit;    /* the second fault of a pair hit a worker: `second_victim` */
    unsigned second_victim;
};

#endif
