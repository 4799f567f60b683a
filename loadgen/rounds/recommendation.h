/* Which strategy to choose, by the figures of the run.
 *
 * Only one that is VALID, was expected to be, and missed no threshold. The cheapest of them makes
 * the fewest round trips to Postgres and Redis for each unit that it sold, where a poll of a lock
 * on the machine's disk, or a spin, counts as one; and of those alike has the lowest p99; where one
 * of them told nothing of its cost, the p99 alone decides. */
#ifndef LOADGEN_RECOMMENDATION_H
#define LOADGEN_RECOMMENDATION_H

#include "summary.h"

#define RECOMMENDATION_TEXT 640

struct recommendation {
    const struct result *cheapest; /* NULL: none is valid, or one strategy had no other beside it */
    bool is_by_trips;              /* else by p99 */
    double trips;                  /* per unit sold */
    double p99_ms;
    char sentence[RECOMMENDATION_TEXT]; /* for people; "" without a cheapest */
};

void recommendation_make(const struct summary *summary, struct recommendation *recommendation);

#endif
