/* The limits of `diff`, --limit 'p(99)<+20%': each is held against each strategy that both runs
 * have. threshold.h has their grammar.
 *
 * p(50), p(99) and rate are medians of the rounds, as `diff` prints them. Other times are of all
 * rounds together, and counts are their sums. */
#ifndef LOADGEN_LIMIT_H
#define LOADGEN_LIMIT_H

#include "threshold.h"
#include "why.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct limit_outcome {
    const struct threshold *limit;
    const char *strategy; /* in the summary of A */
    double a, b;          /* in the threshold's unit; `a` is NAN for a limit of B alone */
    double allowed;       /* the value of B at the limit */
    bool holds;
};

struct limit_outcomes {
    size_t count;
    struct limit_outcome *items;
};

/* Hold all limits; the limits and the summaries must outlive it. 0; or -1, and `why` says which run
 * lacks which metric. limit_outcomes_free() it either way. */
__attribute__((warn_unused_result)) int limit_outcomes_make(struct limit_outcomes *outcomes,
                                                            const struct threshold_list *limits,
                                                            const json_t *a, const json_t *b,
                                                            struct why *why);
void limit_outcomes_free(struct limit_outcomes *outcomes);

/* [{"text", "strategy", "a", "b", "allowed", "holds"}], values as summary.json has those of
 * thresholds. A new reference, or NULL without memory. */
__attribute__((warn_unused_result)) json_t *limit_outcomes_json(
    const struct limit_outcomes *outcomes);
/* A line for each: whether it was kept, the values, and by how much it was missed. */
void limit_outcomes_print(const struct limit_outcomes *outcomes, FILE *to);

#define LIMIT_TEXT 160
/* "A 4 ms, B 164 ms; limit 4.8 ms, missed by 159.2 ms"; returns `text`. */
const char *limit_outcome_text(const struct limit_outcome *outcome, char text[LIMIT_TEXT]);

#endif
