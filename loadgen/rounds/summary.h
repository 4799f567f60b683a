/* The summary of a run: the content of the reports for people and for programs. */
#ifndef LOADGEN_SUMMARY_H
#define LOADGEN_SUMMARY_H

#include "expect.h"
#include "options.h"
#include "round.h"
#include "threshold.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RESULT_ROUNDS 20

struct spread {
    double median, min, max;
};

/* The result of one strategy: the sum of all its rounds, and their spread. */
struct result {
    const struct strategy_item *item;
    const struct expectation *expectation;
    size_t count; /* of rounds */
    const struct round *rounds[RESULT_ROUNDS];
    /* Sums of histograms and counts, without records. last_ns and sold_ns are sums over the
     * rounds, too. */
    struct recorder *total;
    struct verdict verdict; /* the worst kind; sums of counts; the first examples and reasons */
    struct spread p50_ms, p99_ms, rate; /* over the rounds with an answer */
    json_t *steps;                      /* of all rounds (steps_sum()), or NULL */
};

/* A threshold compared with the result of one strategy. */
struct threshold_outcome {
    const struct threshold *threshold;
    const struct result *result;
    double measured; /* of the round that misses it by the most, or comes nearest to it */
    bool holds;      /* in every round */
};

struct summary {
    const struct options *options;
    size_t count; /* of strategies with a finished round */
    struct result *results;
    size_t round_count; /* finished rounds, in the order of the run */
    const struct round *rounds;
    size_t outcome_count;
    struct threshold_outcome *outcomes;
    int exit_code;
    int64_t started_us, ended_us; /* wall clock */
    bool is_interrupted;
    bool is_left_down;    /* it ended early, because servers stayed down after a round */
    const char *folder;   /* the results folder, or NULL */
    int postgres_version; /* of the server: 150014 is 15.14; 0: unknown */
};

/* Sums up judged rounds, which must outlive the summary: results, outcomes, is_interrupted,
 * is_left_down and the exit code. The caller adds times and folder. Returns 0, or -1 without
 * memory; call summary_free() either way. */
__attribute__((warn_unused_result)) int summary_make(struct summary *summary,
                                                     const struct options *options,
                                                     const struct round *rounds, size_t count);
void summary_free(struct summary *summary);

/* Whether the threshold is neither kept nor missed: it holds, but the run proves nothing. */
bool threshold_outcome_is_open(const struct threshold_outcome *outcome);

/* The meaning of the exit code for this run: "each verdict is as expected". */
const char *summary_meaning(const struct summary *summary);

#endif
