/* Shared by the files that tell counterexamples. */
#ifndef JUDGE_COUNTEREXAMPLE_INTERNAL_H
#define JUDGE_COUNTEREXAMPLE_INTERNAL_H

#include "judge.h"

/* Add a line, if there is room. */
__attribute__((format(printf, 2, 3))) void counterexample_say(struct counterexample *example,
                                                              const char *format, ...);
/* Add an operation, and a line that tells it. A pair is its refusal, then its sales. */
void counterexample_tell_sale(struct counterexample *example, const struct judge *judge,
                              const struct ledger_sale *sale);
void counterexample_tell_pair(struct counterexample *example, const struct judge *judge,
                              const struct pair *pair);

/* Tell these anomalies, which were found. */
void counterexample_tell_leak(struct counterexample *example, const struct judge *judge);
void counterexample_tell_unbacked(struct counterexample *example, const struct judge *judge);

#endif
