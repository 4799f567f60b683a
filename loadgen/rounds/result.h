/* What came out for one strategy: all its rounds together, and how far they lie apart. */
#ifndef LOADGEN_RESULT_H
#define LOADGEN_RESULT_H

#include "expect.h"
#include "round.h"
#include "threshold.h"

#include <stdbool.h>
#include <stddef.h>

#define RESULT_ROUNDS 20

struct spread {
    double median, min, max;
};

struct result {
    const struct strategy_item *item;
    const struct expectation *expectation;
    size_t count; /* of rounds */
    const struct round *rounds[RESULT_ROUNDS];
    /* Histograms and counts added up; no records. Its last_ns and sold_ns are sums of all
     * rounds'. */
    struct recorder *total;
    struct verdict verdict; /* the worst kind; counts added up; the first examples and reasons */
    struct spread p50_ms, p99_ms, rate; /* over the rounds that had an answer */
};

/* From the rounds of strategy number `strategy` among `rounds`, which must outlive it. 0, or -1
 * without memory; result_free() it either way. */
__attribute__((warn_unused_result)) int result_make(struct result *result,
                                                    const struct round *rounds, size_t count,
                                                    size_t strategy,
                                                    const struct expectation *expectation);
void result_free(struct result *result);

/* Whether every round keeps the threshold. `measured` is that of the round which misses it by the
 * most, or comes nearest to it. */
bool result_holds(const struct result *result, const struct threshold *threshold, double *measured);

#endif
