/* One strategy under the whole plan, once: sent, then judged. */
#ifndef LOADGEN_ROUND_H
#define LOADGEN_ROUND_H

#include "audit.h"
#include "event.h"
#include "fault_list.h"
#include "ledger.h"
#include "record.h"
#include "strategy_list.h"
#include "verdict.h"
#include "why.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct round {
    const struct strategy_item *item;
    const struct fault_list *faults; /* that were asked for, or NULL */
    size_t strategy;                 /* its place in --strategy */
    size_t repeat;                   /* 0 .. --repeat - 1 */
    size_t items;                    /* products */
    int64_t late_ns;                 /* --late */
    int64_t stuck_ns;                /* --stuck-after */
    struct product *products;
    struct recorder *recorder; /* its records only until round_forget() */
    struct ledger *ledgers;    /* one per product, until round_forget(); NULL when not read */
    int64_t ledger_skew_us;    /* what to add to a ledger's time to have it on our wall clock */
    struct event_list events;  /* in order of time, until round_forget() */
    struct verdict verdict;
    json_t *chart;      /* what the page draws of it, or NULL (chart.h) */
    int64_t started_us; /* wall clock at the recorder's start_ns; 0: not begun */
    int64_t ended_us;   /* wall clock when it was judged */
    bool is_realtime;   /* sent with real-time priority */
    bool is_aborted;    /* by --abort-on-fail */
    bool is_keyless;    /* sent without keys */
    bool is_mended;     /* after it, all that its faults and failpoints put down was put up again */
    bool is_down;       /* when it began, each instance or a server was (struct down) */
    bool is_left_down;  /* the run ended after it: what failed was not put up again */
    /* What the verdict was given besides the records and ledgers (verdict.h). */
    bool is_interrupted, is_restless, are_events_lost;
    struct why problem;       /* why the ledgers could not be read, or "" */
    struct why fault_problem; /* which fault failed, and why, or "" */
};

/* The servers that failed in earlier rounds and are not known to be up again. Zeroed: nothing is
 * down. */
struct down {
    size_t count;
    char names[RECORD_INSTANCES][RECORD_INSTANCE_TEXT]; /* instances that sold or crashed */
    bool is_down[RECORD_INSTANCES];
    bool is_server_down; /* another server, without which nothing is sold */
};

/* Each instance that is known is down, or a server without which nothing is sold. */
bool down_is_all(const struct down *down);

/* Judge it from its records and ledgers. `down` has what earlier rounds of the run left down, and
 * then what this one leaves; without it (NULL) the round's own is_down counts. 0, or -1 without
 * memory. */
__attribute__((warn_unused_result)) int round_judge(struct round *round, struct down *down);
/* Free the records and the ledgers, and keep the counts, the verdict and the chart. */
void round_forget(struct round *round);
void round_free(struct round *round);

#endif
