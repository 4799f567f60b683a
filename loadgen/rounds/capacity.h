/* The rate that a lock allows, beside the offered rate and the measured rate.
 *
 * A lock that is held for `hold` serves at most 1 / hold orders a second, on any machine. Further
 * orders wait in a queue that grows as long as the offer lasts. All of this follows from the
 * measured hold time, so it tells a slow strategy from a slow machine. */
#ifndef LOADGEN_CAPACITY_H
#define LOADGEN_CAPACITY_H

#include "options.h"
#include "summary.h"

#include <stdbool.h>

enum capacity_bound {
    CAPACITY_UNTOLD, /* the replies had no cost, so nothing is known */
    CAPACITY_LOCK,   /* orders take turns at a lock: all numbers below are set */
    CAPACITY_ROW     /* no lock: orders compete for the row; only the commit times are set */
};

#define CAPACITY_TEXT 500

struct capacity {
    enum capacity_bound bound;

    /* The input. */
    double hold_ms;        /* mean time from acquire to release of the lock, of sales */
    double unsold_hold_ms; /* the same of orders that sold nothing; 0: none held it */
    unsigned lanes;    /* locks that can be held at a time: products x shards, x instances if each
                          process has its own lock */
    double busiest;    /* part of the orders at the busiest lane: 1 / lanes if they spread evenly */
    double offered;    /* orders a second, the mean over the schedule */
    double duration_s; /* of the schedule */

    /* The prediction; its ceiling is never below the measurement. */
    double ceiling;      /* sales a second at which no lane is ever free */
    bool is_overlapping; /* the measured rate is above the rate of holds in sequence; the
                            ceiling is then the measured rate */
    double utilization;  /* of the busiest lane: at 1 and above its queue grows */
    double backlog;      /* most orders that wait at a time; if the lanes are uneven, only those of
                            the busiest */
    double backlog_s;    /* the moment of that */
    double longest_wait; /* seconds, if nobody gives up */

    /* The measurement. */
    double turns;                    /* sales under a lock a second, until the last */
    double sold;                     /* orders sold a second, until the last */
    double reached;                  /* turns / ceiling */
    double wait_p50_ms, wait_p99_ms; /* for the lock */
    double commit_p50_ms;            /* of the statement that sold, including its wait for a */
    double commit_p99_ms;            /* connection and for the row */
    double handover_ms;    /* from a turn's end to the next turn's start on the busiest lane, if it
                              always has waiters: 1 / turns less the hold */
    bool is_handover_slow; /* `reached` is below 0.9 in spite of a queue: the rest of the time no
                              order held the lock */

    char sentence[CAPACITY_TEXT]; /* for people; "" if UNTOLD */
};

/* Computes it from the rounds of `result`. */
void capacity_make(const struct result *result, const struct options *options,
                   struct capacity *capacity);

#endif
