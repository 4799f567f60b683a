/* What a run of a claim has shown, from its summary.json, in a few lines. */
#ifndef LOADGEN_EVIDENCE_H
#define LOADGEN_EVIDENCE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

/* Whether each fault that was armed struck before the last unit was sold. */
bool evidence_has_struck(const json_t *summary);

/* Whether a counterexample tells who freed whose lock. */
bool evidence_has_chain(const json_t *summary);

/* The verdict of each strategy, whether it is what the claim says, the first
 * counterexample, what failed on purpose, and the thresholds. */
void evidence_print(const json_t *summary, size_t indent, size_t width, FILE *to);

#endif
