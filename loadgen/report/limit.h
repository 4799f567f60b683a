/* The limits of `diff`, --limit 'p(99)<+20%': each is checked for each strategy that both runs
 * have. threshold.h has their grammar.
 *
 * p(50), p(99) and rate are medians of the rounds, as `diff` prints them. Other times are of all
 * rounds together, and counts are their sums. A limit of anomalies does not hold if B is
 * INCONCLUSIVE. */
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
    bool is_unproven; /* it does not hold only because B is INCONCLUSIVE, and may lack an anomaly */
};

struct limit_outcomes {
    size_t count;
    struct limit_outcome *items;
};

/* Checks all limits; the limits and the summaries must outlive `outcomes`. Returns 0; or -1, with
 * the run and its missing metric in `why`. Call limit_outcomes_free() either way. */
__attribute__((warn_unused_result)) int limit_outcomes_make(struct limit_outcomes *outcomes,
                                                            const struct threshold_list *limits,
                                                            const json_t *a, const json_t *b,
                                                            struct why *why);
void limit_outcomes_free(struct limit_outcomes *outcomes);

/* [{"text", "strategy", "a", "b", "allowed", "holds"}], with values in the form of the thresholds
 * in summary.json. A new reference, or NULL without memory. */
__attribute__((warn_unused_result)) json_t *limit_outcomes_json(
    const struct limit_outcomes *outcomes);
/* Prints a line for each: kept or missed, the values, and the distance of a miss. */
void limit_outcomes_print(const struct limit_outcomes *outcomes, FILE *to);

#define LIMIT_TEXT 160
/* Writes "A 4 ms, B 164 ms; limit 4.8 ms, missed by 159.2 ms" to `text`, and returns it. */
const char *limit_outcome_text(const struct limit_outcome *outcome, char text[LIMIT_TEXT]);

#endif
