/* The judgement of one round: from what clients were told and what the ledger says.
 *
 * Pure: it reads records and rows, and calls nothing that waits. */
#ifndef JUDGE_VERDICT_H
#define JUDGE_VERDICT_H

#include "anomaly.h"
#include "event.h"
#include "firing.h"
#include "record.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VERDICT_REASONS 8

#define VERDICT_KINDS(X)                                                                           \
    X(VALID, "VALID")                                                                              \
    X(VIOLATED, "VIOLATED")                                                                        \
    X(INCONCLUSIVE, "INCONCLUSIVE")                                                                \
    X(UNJUDGED, "not judged") /* nobody asked: only the schedule and the latency count */

enum verdict_kind {
#define X(id, name) VERDICT_##id,
    VERDICT_KINDS(X)
#undef X
};
const char *verdict_kind_name(enum verdict_kind kind);

struct verdict {
    enum verdict_kind kind;
    struct anomaly_found found[ANOMALY_COUNT];
    size_t reasons; /* why INCONCLUSIVE; kept when VIOLATED, too */
    char reason[VERDICT_REASONS][VERDICT_TEXT];
    size_t counterexamples; /* of different anomalies first */
    struct counterexample counterexample[VERDICT_COUNTEREXAMPLES];
    int64_t sold;          /* ledger rows */
    int64_t distinct;      /* units among them */
    int64_t left;          /* available + returned */
    int64_t refused_early; /* told sold out before a later buyer's request was sent */
    int64_t unsettled;     /* sales without an order */
    int64_t unknown_sold;  /* UNKNOWN replies that the ledger shows to be sales */
    int64_t pairs;         /* of attempts that overlapped in time, one of which got a unit */
    int64_t overlapping;   /* attempts in such a pair */
    struct firings firings;
    bool has_ended; /* the stock of a product: nothing is left, or someone was refused */
};

/* What is judged. `ledgers` has one per product of the round; it is NULL when they could not be
 * read, and `problem` then says why; without a problem either, nobody wants it judged. */
struct verdict_case {
    const struct ledger *ledgers;
    size_t items;
    const struct recorder *recorder;
    const struct event_list *events; /* of the round, sorted; NULL: none */
    bool are_events_lost;            /* those of inventory-svc could not all be read */
    const struct firings *armed;     /* what was armed, counted as never; NULL: nothing */
    const char *problem;
    const char *fault_problem; /* a fault that was asked for failed, or NULL */
    bool is_interrupted;
    bool is_keyless;  /* no key was sent: what could not be recorded, order-svc has given back */
    bool is_down;     /* when it began, since an earlier round: nothing could be sold */
    bool is_restless; /* outcomes are unknown, and the ledger may still be changing */
    int64_t pairs_wanted;    /* overlapping pairs below which it is INCONCLUSIVE */
    int64_t late_ns;         /* --late; 0: VERDICT_LATE_NS */
    bool is_aborted;         /* by --abort-on-fail */
    int64_t stuck_ns;        /* --stuck-after; 0: VERDICT_STUCK_NS */
    int64_t ledger_start_us; /* when the round began, by the ledgers' clock; 0: not known */
};

/* A race that strikes one pair in ten stays hidden in this many with a chance of 0.9^30 = 4 %. */
#define VERDICT_PAIRS   30

#define VERDICT_LATE_NS 10000000 /* a request sent later than this missed its schedule */
/* Requests that may miss their schedule. One that is late is honestly measured, because latency
 * counts from its planned time; but with many of them the arrivals are not the planned ones any
 * more, and strategies are no longer compared under the same load. At 800 requests in a second this
 * forgives the machine a single stop of 50 ms. */
#define VERDICT_PUNCTUAL 0.95

/* STUCK: nothing was sold in the last of the demand for so long, and in it so many attempts at
 * least were made. */
#define VERDICT_STUCK_NS 300000000
#define VERDICT_STUCK    30

/* 0, or -1 without memory. */
__attribute__((warn_unused_result)) int verdict_judge(const struct verdict_case *judged,
                                                      struct verdict *verdict);

/* What is said beside VALID of a run without such an end. */
#define VERDICT_NO_END "the stock never ran out: its last units were not tested"

/* The rate of anomalies that n attempts without one leave possible, 95 %: 3 / n (rule of three:
 * Hanley and Lippman-Hand 1983, "If nothing goes wrong, is everything all right?"); -1 when n is
 * too small to say. An attempt that overlapped with no other could show nothing, so n is
 * `overlapping`. */
double verdict_rate_bound(const struct verdict *verdict);

#endif
