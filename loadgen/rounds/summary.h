/* A run summed up: what the report prints, for people and for programs. */
#ifndef LOADGEN_SUMMARY_H
#define LOADGEN_SUMMARY_H

#include "options.h"
#include "result.h"
#include "round.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A threshold held against the result of one strategy. */
struct threshold_outcome {
    const struct threshold *threshold;
    const struct result *result;
    double measured;
    bool holds;
};

struct summary {
    const struct options *options;
    size_t count; /* of strategies with a finished round */
    struct result *results;
    size_t round_count; /* finished, in the order in which they were run */
    const struct round *rounds;
    size_t outcome_count;
    struct threshold_outcome *outcomes;
    int exit_code;
    int64_t started_us, ended_us; /* wall clock */
    bool is_interrupted;
    bool is_left_down;    /* it ended early: what failed in a round was not put up again */
    const char *folder;   /* the results folder, or NULL */
    int postgres_version; /* of the server: 150014 is 15.14; 0: not known */
};

/* From judged rounds, which must outlive it: results, outcomes, whether any round was interrupted
 * or left servers down, and the exit code; times and folder are the caller's to add. 0, or -1
 * without memory; summary_free() it either way. */
__attribute__((warn_unused_result)) int summary_make(struct summary *summary,
                                                     const struct options *options,
                                                     const struct round *rounds, size_t count);
void summary_free(struct summary *summary);

#endif
