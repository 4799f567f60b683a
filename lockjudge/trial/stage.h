/* The stage of a trial: the state that its strikes and its contenders share. */
#ifndef LOCKJUDGE_STAGE_H
#define LOCKJUDGE_STAGE_H

#include "plan.h"
#include "proxy.h"
#include "resource.h"
#include "setup.h"
#include "why.h"
#include "worker.h"

/* See trial.h. */
enum stage_phase { STAGE_CALM, STAGE_STRUCK, STAGE_AFTER, STAGE_SETTLED };

/* A worker and its life (contender.h). */
struct contender {
    struct stage *stage;
    struct worker *worker; /* NULL before it starts and after it was closed */
    unsigned number, grants, asks;
    uint64_t fence;
    int64_t asked_ns, got_ns, wrote_ns;
    bool is_asking, is_holding, has_lost;
    bool is_awake;   /* it was stopped just now */
    bool is_watched; /* a fault hit it, and it has still to show what it believes */
};

/* A fault of the trial (strike.h). */
struct strike {
    struct stage *stage;
    struct fault_case kind;
    struct fault_site site;
    enum strike_state { STRIKE_AWAITED, STRIKE_DUE, STRIKE_LASTS, STRIKE_OVER } state;
    struct contender *target; /* NULL before it begins */
    int64_t begun_ns, ended_ns;
    int64_t struck_ns; /* it took effect before; INT64_MAX until that is known */
    bool is_waking;    /* it is about to end */
};

struct stage {
    const struct trial_setup *setup;
    struct trial_outcome *outcome;
    struct plan plan;
    struct resource resource;
    struct contender contenders[TRIAL_WORKERS_MAX];
    struct strike strikes[FAULT_PAIR];
    unsigned strike_count;
    struct proxy proxies[TRIAL_WORKERS_MAX]; /* one for each worker, if a fault needs them */
    unsigned proxy_count;
    enum stage_phase phase;
    unsigned living; /* fibers of contenders and of strikes */
    bool is_over;
    int64_t settled_ns; /* when the last phase began */
    unsigned settled_grants;
    struct why why; /* the first reason why the trial is no good; "" */
};

/* The trial cannot be judged. Only the first reason counts. */
void stage_spoil(struct stage *stage, const char *reason);
/* Append an item; without memory the trial is spoilt. */
void stage_note(struct stage *stage, const struct history_item *item);
/* Wait for `ms`, or until the trial is over. False: it is over. */
bool stage_pause(struct stage *stage, int64_t ms);
void stage_move(struct stage *stage, enum stage_phase phase);
/* Run `fn(arg)` in a fiber for which the trial waits; `fn` ends with stage->living--. Without memory
 * the trial is spoilt. */
void stage_start(struct stage *stage, void (*fn)(void *arg), void *arg);

#endif
