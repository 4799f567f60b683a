/* What a lock allows, beside what was offered and what was measured.
 *
 * A lock that is held for `hold` lets through at most 1 / hold orders a second, whatever the
 * machine does meanwhile; what is offered beyond that waits in a queue that grows for as long as
 * the offer lasts. All of this follows from the measured hold time; so a slow strategy can be told
 * from a slow machine. */
#ifndef LOADGEN_CAPACITY_H
#define LOADGEN_CAPACITY_H

#include "options.h"
#include "summary.h"

#include <stdbool.h>

enum capacity_bound {
    CAPACITY_UNTOLD, /* the replies told nothing of their cost: there is nothing to say */
    CAPACITY_LOCK,   /* orders take turns at a lock: all numbers below are set */
    CAPACITY_ROW     /* no lock: orders meet at the row itself; only the commit times are set */
};

#define CAPACITY_TEXT 500

struct capacity {
    enum capacity_bound bound;

    /* What it follows from. */
    double hold_ms;        /* mean time from winning the lock to giving it back, of sales */
    double unsold_hold_ms; /* of those that sold nothing; 0: none held it */
    unsigned lanes;    /* locks that can be held at a time: products x shards, x instances when the
                          lock is one process's own */
    double busiest;    /* the part of the orders that fall on the busiest lane: 1 / lanes when they
                          are spread evenly */
    double offered;    /* orders a second, the mean over the schedule */
    double duration_s; /* of the schedule */

    /* What it predicts; never less than what was measured. */
    double ceiling;      /* sales a second at which no lane is ever free */
    bool is_overlapping; /* more was measured than holds allow that come one after the other: the
                            ceiling is what was measured */
    double utilization;  /* of the busiest lane: at 1 and above its queue grows */
    double backlog;      /* the most orders that wait at a time, at the busiest lane alone when they
                            are not spread evenly */
    double backlog_s;    /* when that is */
    double longest_wait; /* seconds, if nobody gives up */

    /* What was measured. */
    double turns;                    /* sales under a lock a second, until the last */
    double sold;                     /* orders sold a second, likewise */
    double reached;                  /* turns / ceiling */
    double wait_p50_ms, wait_p99_ms; /* for the lock */
    double commit_p50_ms;  /* of the statement that sold, with its wait for a connection */
    double commit_p99_ms;  /* and for the row */
    double handover_ms;    /* from a turn's end to the next one's start on the busiest lane, if it
                              always had waiters: what is left of 1 / turns behind the hold */
    bool is_handover_slow; /* a queue, and yet `reached` below 0.9: the rest of the time
                              nobody held the lock, or not yet the next one */

    char sentence[CAPACITY_TEXT]; /* for people; "" when UNTOLD */
};

/* From the rounds of `result`. */
void capacity_make(const struct result *result, const struct options *options,
                   struct capacity *capacity);

#endif
