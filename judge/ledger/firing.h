/* The failpoints and faults that were armed: how often each fired, and whether in time to
 * matter. */
#ifndef JUDGE_FIRING_H
#define JUDGE_FIRING_H

#include "event.h"

#define FIRINGS     32 /* the most in a round */
#define FIRING_TEXT 96

struct firing {
    enum event_kind kind;
    char what[FIRING_TEXT]; /* as it was armed: "after-read:pause=4s@100", "redis:kill@2s" */
    int64_t times;
    /* How many of `times` were before the last unit was sold or, if units are left, before the last
     * request was answered. */
    int64_t in_time;
    struct event first; /* when times > 0 */
};

struct firings {
    size_t count;
    struct firing items[FIRINGS];
};

/* Add an armed one; `what` has `length` bytes. If it is armed twice, it is listed once. */
void firings_arm(struct firings *firings, enum event_kind kind, const char *what, size_t length);
/* Add the failpoints of a strategy's spec, `...,fail=after-read:pause=4s@100,...`. */
void firings_arm_spec(struct firings *firings, const char *spec);

/* Count the failpoints and the faults of servers among the events, and list each one that was
 * not armed. A firing is in time until `ends_ns`, which has a moment for each product of the
 * round. */
void firings_count(struct firings *firings, const struct event_list *events, const int64_t *ends_ns,
                   size_t items);
/* Add the firings of another round. */
void firings_add(struct firings *total, const struct firings *round);

#endif
