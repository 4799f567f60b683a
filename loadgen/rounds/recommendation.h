/* The strategy to choose, by the figures of the run: the cheapest of the fast ones.
 *
 * A candidate is VALID, was expected to be VALID, and missed no threshold. It is fast when its p99
 * is at most three times the lowest p99 of all candidates, or at most 20 ms above it. The cheapest
 * makes the fewest round trips to Postgres and Redis for each unit that it sold; a poll of a lock
 * on the machine's disk, or a spin, counts as one. The lower p99 decides between equal costs. It
 * decides alone if a candidate told no cost. */
#ifndef LOADGEN_RECOMMENDATION_H
#define LOADGEN_RECOMMENDATION_H

#include "summary.h"

#define RECOMMENDATION_TEXT 640

struct recommendation {
    const struct result *cheapest; /* NULL: no candidate, or the run had only one strategy */
    bool is_by_trips;              /* else by p99 */
    double trips;                  /* per unit sold */
    double p99_ms;
    double fast_ms;                     /* the highest p99 of a fast candidate */
    char sentence[RECOMMENDATION_TEXT]; /* for people; "" without a cheapest */
};

void recommendation_make(const struct summary *summary, struct recommendation *recommendation);

#endif
