/* A round: one strategy under the whole plan, sent once and then judged. */
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

#define ROUND_DOUBTS 6 /* the most of a round */

struct round {
    const struct strategy_item *item;
    const struct fault_list *faults; /* the faults of --fault, or NULL */
    size_t strategy;                 /* its place in --strategy */
    size_t repeat;                   /* 0 .. --repeat - 1 */
    size_t items;                    /* products */
    size_t part, parts;              /* it has the requests of part 1 .. `parts`; 0: of all */
    int64_t late_ns;                 /* --late */
    size_t sample_count;
    struct clock_sample *samples; /* of a part, in order of time; else NULL */
    int64_t stuck_ns;             /* --stuck-after */
    struct product *products;
    struct recorder *recorder; /* has records only until round_forget() */
    struct ledger *ledgers;    /* one per product, until round_forget(); NULL: not read */
    int64_t ledger_skew_us;    /* a ledger's time plus this is a time of our wall clock */
    struct event_list events;  /* in order of time, until round_forget() */
    struct verdict verdict;
    json_t *steps;      /* the steps of a shop's order and their times, or NULL (steps.h) */
    json_t *chart;      /* its drawing on the page, or NULL (chart.h) */
    int64_t started_us; /* wall clock at the recorder's start_ns; 0: not started */
    int64_t ended_us;   /* wall clock of the judgement */
    bool is_realtime;   /* sent with real-time priority */
    bool is_aborted;    /* by --abort-on-fail */
    bool is_keyless;    /* sent without keys */
    bool is_shop_named; /* an order's id is not its key (verdict.h) */
    bool are_keys_ids;  /* but it is if the reply names no order (verdict.h) */
    bool is_mended;     /* every server that its faults and failpoints stopped runs again */
    bool is_down;       /* at its start down_is_all() was true */
    bool is_left_down;  /* the run ended after it, because servers stayed down */
    /* Further input of the verdict (verdict.h). */
    bool is_interrupted, is_restless, are_events_lost;
    struct why problem; /* the reason if the ledgers could not be read, else "" */
    size_t doubt_count;
    struct why doubts[ROUND_DOUBTS]; /* further reasons why it proves nothing (verdict.h) */
    struct why fault_problem; /* the fault that could not be injected, with the reason; else "" */
};

/* Servers that failed in earlier rounds and may still be down. All zero: no server is down. */
struct down {
    size_t count;
    char names[RECORD_INSTANCES][RECORD_INSTANCE_TEXT]; /* instances that sold or failed */
    bool is_down[RECORD_INSTANCES];
    bool is_server_down; /* another server is down, and no sale works without it */
};

/* Whether every known instance is down, or a server without which no sale works. */
bool down_is_all(const struct down *down);

/* Judges it by its records and ledgers. `down` has the servers that earlier rounds left down; after
 * the call it is updated by this round. If it is NULL, the round's own is_down counts. Returns
 * 0, or -1 without memory. */
__attribute__((warn_unused_result)) int round_judge(struct round *round, struct down *down);
/* The next sample, zeroed; NULL without memory. */
struct clock_sample *round_add_sample(struct round *round);
/* Frees the records and the ledgers; keeps the counts, the verdict and the chart. */
void round_forget(struct round *round);
void round_free(struct round *round);

#endif
