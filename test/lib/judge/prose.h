/* Checks the sentences of a verdict: counts each of their numbers again in the judged run. */
#ifndef JUDGE_TEST_PROSE_H
#define JUDGE_TEST_PROSE_H

#include "simulated_sale.h"

/* The first sentence of the verdict that the rows of `sim` contradict, or NULL. `read` grows by the
 * number of sentences that were understood and compared. */
const char *prose_contradiction(const struct verdict *verdict, size_t *read);

#endif
