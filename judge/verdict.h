/* The judgement of one round, from the answers to the clients and the rows of the ledger.
 * docs/verdict.md has the rules.
 *
 * Pure: it reads records and rows, and calls nothing that waits. */
#ifndef JUDGE_VERDICT_H
#define JUDGE_VERDICT_H

#include "anomaly.h"
#include "event.h"
#include "firing.h"
#include "record.h"
#include "why.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VERDICT_REASONS 12

#define VERDICT_KINDS(X)                                                                           \
    X(VALID, "VALID")                                                                              \
    X(VIOLATED, "VIOLATED")                                                                        \
    X(INCONCLUSIVE, "INCONCLUSIVE")                                                                \
    X(UNJUDGED, "not judged") /* by --no-judge: only schedule and latency count */

enum verdict_kind {
#define X(id, name) VERDICT_##id,
    VERDICT_KINDS(X)
#undef X
};
const char *verdict_kind_name(enum verdict_kind kind);

struct verdict {
    enum verdict_kind kind;
    struct anomaly_found found[ANOMALY_COUNT];
    size_t reasons; /* why it is INCONCLUSIVE; filled for VIOLATED, too */
    char reason[VERDICT_REASONS][VERDICT_TEXT];
    size_t counterexamples; /* one of each anomaly first */
    struct counterexample counterexample[VERDICT_COUNTEREXAMPLES];
    int64_t sold;          /* ledger rows */
    int64_t distinct;      /* units among them */
    int64_t left;          /* available + returned */
    int64_t refused_early; /* refusals that arrived before a later buyer's request was sent */
    int64_t unsettled;     /* sales without an order */
    int64_t unknown_sold;  /* UNKNOWN requests that have a sale in the ledger */
    int64_t pairs;         /* of attempts that overlapped in time; one of the two got a unit */
    int64_t overlapping;   /* attempts in such a pair */
    int64_t unsure_pairs;  /* further pairs: the clocks do not tell whether they overlapped */
    int64_t slack_ns;      /* the moments are known to this, up and down; 0: of one clock */
    struct firings firings;
    const char *not_asked[ANOMALY_COUNT]; /* why it could not be found; NULL: it was asked */
    bool has_ended; /* a product has no unit left, or a customer was told sold out */
};

/* A round to judge. `ledgers` has one per product. NULL: `problem` says why they could not be read;
 * or, if that is NULL as well, the round is not to be judged. */
struct verdict_case {
    const struct ledger *ledgers;
    size_t items;
    const struct recorder *recorder;
    const struct event_list *events; /* of the round, sorted; NULL: none */
    bool are_events_lost;            /* some events of inventory-svc could not be read */
    const struct firings *armed;     /* each with 0 firings; NULL: nothing was armed */
    const char *problem;
    const char *fault_problem; /* why a --fault could not be carried out, or NULL */
    const struct why *doubts;  /* further reasons why the round proves nothing */
    size_t doubt_count;
    bool is_interrupted;
    bool is_keyless;      /* no key was sent: order-svc gave back units that it could not record */
    bool is_shop_named;   /* an order's id is not its key: the replies name the orders */
    bool are_keys_ids;    /* but without a name in the reply the key is the order's id */
    bool is_down;         /* servers were down from an earlier round on: nothing could be sold */
    bool is_restless;     /* outcomes are unknown, and the ledger may still be changing */
    int64_t pairs_wanted; /* with fewer overlapping pairs it is INCONCLUSIVE */
    int64_t late_ns;      /* --late; 0: VERDICT_LATE_NS */
    bool is_aborted;      /* by --abort-on-fail */
    int64_t stuck_ns;     /* --stuck-after; 0: VERDICT_STUCK_NS */
    int64_t ledger_start_us; /* when the round began, by the ledgers' clock; 0: not known */
};

/* A race that strikes one pair in ten stays hidden in so many pairs with a chance of 0.9^30 = 4
 * %. */
#define VERDICT_PAIRS   30

#define VERDICT_LATE_NS 10000000 /* a request sent later than this missed its schedule */
/* So many requests must keep their schedule. A late one is measured honestly, because latency
 * counts from its planned time. But with many late ones the arrivals are no longer the planned
 * ones, and strategies are no longer compared under the same load. At 800 requests in a second
 * this forgives the machine a single stop of 50 ms. */
#define VERDICT_PUNCTUAL 0.95

/* STUCK: the last part of the demand, in which nothing was sold, and the fewest attempts in it. */
#define VERDICT_STUCK_NS 300000000
#define VERDICT_STUCK    30

/* 0, or -1: out of memory. */
__attribute__((warn_unused_result)) int verdict_judge(const struct verdict_case *judged,
                                                      struct verdict *verdict);

/* The words beside VALID when no stock ran out. */
#define VERDICT_NO_END    "the stock never ran out: its last units were not tested"

#define VERDICT_NOT_ASKED 1024

/* Writes the anomalies that were not asked, with the reasons: "TWIN and STALE, because the sales do
 * not tell how many units they left". Returns `text`; NULL: all were asked. */
const char *verdict_not_asked(const struct verdict *verdict, char text[VERDICT_NOT_ASKED]);

/* With 95 % confidence the rate of anomalies is below this bound if n attempts show none: 3 / n
 * (rule of three: Hanley and Lippman-Hand 1983, "If nothing goes wrong, is everything all right?").
 * -1: n is too small. An attempt that overlapped with no other could show nothing, so n is
 * `overlapping`. */
double verdict_rate_bound(const struct verdict *verdict);

#endif
