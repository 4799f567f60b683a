/* violations.txt: what was found in each round, and the smallest proof of it, for people. */
#ifndef LOADGEN_VIOLATIONS_H
#define LOADGEN_VIOLATIONS_H

#include "summary.h"

#include <stdio.h>

/* Each strategy and round: its anomalies with counts and examples, and each counterexample in prose
 * with a timeline; or that there is none, and what that proves. Reads the verdicts alone, no
 * records. 0, or -1 when it could not be written, with errno. */
__attribute__((warn_unused_result)) int violations_write(const struct summary *summary, FILE *to);

#endif
