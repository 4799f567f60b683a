/* What a run of a claim has shown, from its summary.json, in a few lines. */
#ifndef LOADGEN_EVIDENCE_H
#define LOADGEN_EVIDENCE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

/* The verdict of each strategy, whether it is what the claim says, the thresholds, and the first
 * counterexample. */
void evidence_print(const json_t *summary, size_t indent, size_t width, FILE *to);

#endif
