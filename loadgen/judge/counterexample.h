/* The smallest counterexample of each anomaly that was found, told in prose.
 *
 * What it says of reads is deduced: a sale that left 57 in its row had read 58 there. */
#ifndef LOADGEN_COUNTEREXAMPLE_H
#define LOADGEN_COUNTEREXAMPLE_H

#include "judge.h"

/* The candidates of all products. */
struct counterexamples {
    bool has[ANOMALY_COUNT];
    struct counterexample first[ANOMALY_COUNT];
    size_t twins; /* beyond the first */
    struct counterexample twin[VERDICT_COUNTEREXAMPLES];
};

/* Those of a product that has been judged, before judge_close(). */
void counterexamples_add(struct counterexamples *all, const struct judge *judge);
/* Into the verdict: of different anomalies first, then more twins. */
void counterexamples_choose(const struct counterexamples *all, struct verdict *verdict);

#endif
