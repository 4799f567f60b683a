/* The state of a trial, which its contenders share. */
#ifndef LOCKJUDGE_TRIAL_INTERNAL_H
#define LOCKJUDGE_TRIAL_INTERNAL_H

#include "fiber.h"
#include "plan.h"
#include "proxy.h"
#include "resource.h"
#include "trial.h"
#include "worker.h"

enum trial_phase { TRIAL_CALM, TRIAL_STRUCK, TRIAL_AFTER, TRIAL_SETTLED };

/* A worker and its life. */
struct contender {
    struct trial *trial;
    struct worker *worker;
    unsigned number, grants, asks;
    uint64_t fence;
    int64_t got_ns, wrote_ns;
    bool is_asking, is_holding, has_lost, has_wait_strike;
    bool is_awake; /* it was stopped just now */
};

struct trial {
    const struct trial_setup *setup;
    struct trial_outcome *outcome;
    struct plan plan;
    struct resource resource;
    struct contender contenders[TRIAL_WORKERS_MAX];
    struct fault_site site;
    struct proxy proxies[TRIAL_WORKERS_MAX]; /* a proxy for each worker, if the fault needs them */
    unsigned proxy_count, open_proxies;
    struct fiber_event proxies_closed;
    enum trial_phase phase;
    unsigned living; /* fibers of contenders, and of the strike */
    bool is_over;
    bool is_waking;                          /* the fault is about to end */
    int64_t struck_ns, ended_ns, settled_ns; /* when each phase began */
    unsigned settled_grants;
    uv_timer_t pulse; /* finds stalls of the judge itself */
    int64_t pulse_ns;
    struct why why; /* the first reason why the trial is no good; "" */
};

/* The trial cannot be judged. Only the first reason counts. */
void trial_spoil(struct trial *trial, const char *reason);
/* Append an item; without memory the trial is spoilt. */
void trial_note(struct trial *trial, const struct history_item *item);
/* Wait for `ms`, or until the trial is over. False: it is over. */
bool trial_pause(struct trial *trial, int64_t ms);
void trial_move(struct trial *trial, enum trial_phase phase);

/* The life of a contender, in a fiber of its own. */
void contender_live(void *contender);

#endif
