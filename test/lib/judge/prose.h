/* The sentences of a verdict, each number of them counted again in the run that was judged. */
#ifndef JUDGE_TEST_PROSE_H
#define JUDGE_TEST_PROSE_H

#include "simulated_sale.h"

/* A sentence of the verdict that the rows of `sim` contradict, or NULL. `read` grows by the
 * sentences that were understood and compared. */
const char *prose_contradiction(const struct verdict *verdict, size_t *read);

#endif
