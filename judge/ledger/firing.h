/* What was armed to fail, how often it did, and whether that was in time to matter. */
#ifndef JUDGE_FIRING_H
#define JUDGE_FIRING_H

#include "event.h"

#define FIRINGS     32 /* of a round, at the most */
#define FIRING_TEXT 96

struct firing {
    enum event_kind kind;
    char what[FIRING_TEXT]; /* as it was armed: "after-read:pause=4s@100", "redis:kill@2s" */
    int64_t times;
    /* Of these, so many while there was something to sell: before the last unit was sold; or, where
     * units are left, before the last request was answered. */
    int64_t in_time;
    struct event first; /* when times > 0 */
};

struct firings {
    size_t count;
    struct firing items[FIRINGS];
};

/* One is armed; `what` has `length` bytes. A thing that is armed twice counts once. */
void firings_arm(struct firings *firings, enum event_kind kind, const char *what, size_t length);
/* The failpoints of a strategy's spec, `...,fail=after-read:pause=4s@100,...`. */
void firings_arm_spec(struct firings *firings, const char *spec);

/* Count the failpoints and faults of servers among the events; one that nobody armed is added.
 * `ends_ns` has for each product of the round the moment until which a firing is in time. */
void firings_count(struct firings *firings, const struct event_list *events, const int64_t *ends_ns,
                   size_t items);
/* Add those of another round. */
void firings_add(struct firings *total, const struct firings *round);

#endif
