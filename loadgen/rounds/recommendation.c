/* Compares the cost of a sold unit under the strategies that are VALID. */
#include "recommendation.h"

#include "duration.h"

#include <math.h>
#include <stdio.h>

#define ALIKE      0.05 /* round trips: the printed figures, with one decimal, are the same */
#define FAST_TIMES 3.0
#define FAST_MS    20.0

static bool is_eligible(const struct summary *summary, const struct result *result) {
    for (size_t i = 0; i < summary->outcome_count; i++)
        if (summary->outcomes[i].result == result && !summary->outcomes[i].holds)
            return false;
    return result->verdict.kind == VERDICT_VALID && result->verdict.sold > 0 &&
           expect_hold(result->expectation, &result->verdict) == EXPECT_MET;
}

/* A poll of a lock on this machine counts as a round trip: it costs as much. */
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

static double fast_ms(const struct summary *summary) {
    double lowest = HUGE_VAL;

    for (size_t i = 0; i < summary->count; i++)
        if (is_eligible(summary, &summary->results[i]))
            lowest = fmin(lowest, summary->results[i].p99_ms.median);
    return fmax(FAST_TIMES * lowest, lowest + FAST_MS);
}

static bool is_better(const struct recommendation *by, const struct result *a,
                      const struct result *b) {
    bool is_fast = a->p99_ms.median <= by->fast_ms, is_other_fast = b->p99_ms.median <= by->fast_ms;
    double more = by->is_by_trips ? trips_of(a) - trips_of(b) : 0;

    if (by->is_by_trips && is_fast != is_other_fast)
        return is_fast;
    if (more < -ALIKE || more > ALIKE)
        return more < 0;
    return a->p99_ms.median < b->p99_ms.median;
}

/* The best candidate except `except`, or NULL. */
static const struct result *recommendation_find(const struct recommendation *by,
                                                const struct summary *summary,
                                                const struct result *except) {
    const struct result *best = NULL;

    for (size_t i = 0; i < summary->count; i++) {
        const struct result *result = &summary->results[i];

        if (result != except && is_eligible(summary, result) &&
            (best == NULL || is_better(by, result, best)))
            best = result;
    }
    return best;
}

static void recommendation_describe(struct recommendation *made, const struct result *next) {
    char p99[DURATION_TEXT], next_p99[DURATION_TEXT], fast[DURATION_TEXT], than[160] = "";

    duration_ms(p99, made->p99_ms);
    duration_ms(fast, made->fast_ms);
    if (next != NULL)
        duration_ms(next_p99, next->p99_ms.median);
    if (next != NULL && made->is_by_trips)
        snprintf(than, sizeof than, "; next is %.60s: %.1f, p99 %s. Fast means a p99 of at most %s",
                 next->item->given, trips_of(next), next_p99, fast);
    else if (next != NULL)
        snprintf(than, sizeof than, "; next is %.60s: %s", next->item->given, next_p99);
    if (made->is_by_trips)
        snprintf(made->sentence, sizeof made->sentence,
                 "cheapest valid: %.60s: of the fast strategies it makes the fewest round trips to "
                 "Postgres and Redis per unit sold, %.1f, p99 %s%s",
                 made->cheapest->item->given, made->trips, p99, than);
    else
        snprintf(made->sentence, sizeof made->sentence,
                 "cheapest valid: %.60s, with the lowest p99: %s%s", made->cheapest->item->given,
                 p99, than);
}

void recommendation_make(const struct summary *summary, struct recommendation *recommendation) {
    const struct result *best;

    *recommendation = (struct recommendation){.is_by_trips = is_told_of_all(summary),
                                              .fast_ms = fast_ms(summary)};
    best = summary->count > 1 ? recommendation_find(recommendation, summary, NULL) : NULL;
    if (best == NULL)
        return;
    recommendation->cheapest = best;
    recommendation->trips = recommendation->is_by_trips ? trips_of(best) : 0;
    recommendation->p99_ms = best->p99_ms.median;
    recommendation_describe(recommendation, recommendation_find(recommendation, summary, best));
}
