/* Compares what a unit cost under the strategies that sold it rightly. */
#include "recommendation.h"

#include "duration.h"

#include <stdio.h>

#define ALIKE 0.05 /* round trips: what is printed with one decimal is the same */

static bool is_eligible(const struct summary *summary, const struct result *result) {
    for (size_t i = 0; i < summary->outcome_count; i++)
        if (summary->outcomes[i].result == result && !summary->outcomes[i].holds)
            return false;
    return result->verdict.kind == VERDICT_VALID && result->verdict.sold > 0 &&
           expect_hold(result->expectation, &result->verdict) == EXPECT_MET;
}

/* Another look at a lock of this machine counts as a round trip: it is no less work. */
static uint64_t polls_of(const struct recorder *total) {
    static const enum record_lock polled[] = {RECORD_LOCK_MKDIR, RECORD_LOCK_FLOCK,
                                              RECORD_LOCK_SPIN};

    for (size_t i = 0; i < sizeof polled / sizeof *polled; i++)
        if (total->locks[polled[i]] > 0)
            return total->retries;
    return 0;
}

static double trips_of(const struct result *result) {
    const struct recorder *total = result->total;

    return (double)(total->postgres + total->redis + polls_of(total)) /
           (double)result->verdict.sold;
}

static bool is_told_of_all(const struct summary *summary) {
    for (size_t i = 0; i < summary->count; i++)
        if (is_eligible(summary, &summary->results[i]) && summary->results[i].total->costed == 0)
            return false;
    return true;
}

static bool is_cheaper(const struct result *a, const struct result *b, bool is_by_trips) {
    double more = is_by_trips ? trips_of(a) - trips_of(b) : 0;

    if (more < -ALIKE || more > ALIKE)
        return more < 0;
    return a->p99_ms.median < b->p99_ms.median;
}

/* The cheapest, of all but `except`. */
static const struct result *recommendation_find(const struct summary *summary, bool is_by_trips,
                                                const struct result *except) {
    const struct result *best = NULL;

    for (size_t i = 0; i < summary->count; i++) {
        const struct result *result = &summary->results[i];

        if (result != except && is_eligible(summary, result) &&
            (best == NULL || is_cheaper(result, best, is_by_trips)))
            best = result;
    }
    return best;
}

static void recommendation_describe(struct recommendation *made, const struct result *next) {
    char p99[DURATION_TEXT], next_p99[DURATION_TEXT], than[128] = "";

    duration_ms(p99, made->p99_ms);
    if (next != NULL)
        duration_ms(next_p99, next->p99_ms.median);
    if (next != NULL && made->is_by_trips)
        snprintf(than, sizeof than, "; next is %.60s: %.1f, p99 %s", next->item->given,
                 trips_of(next), next_p99);
    else if (next != NULL)
        snprintf(than, sizeof than, "; next is %.60s: %s", next->item->given, next_p99);
    if (made->is_by_trips)
        snprintf(made->sentence, sizeof made->sentence,
                 "cheapest valid: %.60s, with %.1f round trips to Postgres "
                 "and Redis per unit sold, p99 %s%s",
                 made->cheapest->item->given, made->trips, p99, than);
    else
        snprintf(made->sentence, sizeof made->sentence, "cheapest valid: %.60s, with a p99 of %s%s",
                 made->cheapest->item->given, p99, than);
}

void recommendation_make(const struct summary *summary, struct recommendation *recommendation) {
    bool is_by_trips = is_told_of_all(summary);
    const struct result *best =
        summary->count > 1 ? recommendation_find(summary, is_by_trips, NULL) : NULL;

    *recommendation = (struct recommendation){.cheapest = best, .is_by_trips = is_by_trips};
    if (best == NULL)
        return;
    recommendation->trips = is_by_trips ? trips_of(best) : 0;
    recommendation->p99_ms = best->p99_ms.median;
    recommendation_describe(recommendation, recommendation_find(summary, is_by_trips, best));
}
