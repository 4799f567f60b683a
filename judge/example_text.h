/* The words and the picture of a counterexample's operations, which it calls A, B and C. */
#ifndef JUDGE_EXAMPLE_TEXT_H
#define JUDGE_EXAMPLE_TEXT_H

#include "judge.h"

#define PART_TEXT 80

/* What the operation about this order, which was told, is called: 'A'. */
char example_name(const struct counterexample *example, const char *order_id);

/* Without operations or lines; `sale`, if any, tells the shard. */
struct counterexample example_begin(const struct judge *judge, enum anomaly anomaly,
                                    const struct ledger_sale *sale);
/* Add a line, while there is room. */
__attribute__((format(printf, 2, 3))) void example_say(struct counterexample *example,
                                                       const char *format, ...);
/* Add an operation and the line about it: "A = order … via inventory-1: sent …, read 58, wrote 57
 * at …, answered …" */
void example_tell_sale(struct counterexample *example, const struct judge *judge,
                       const struct ledger_sale *sale);
/* "A = request …: sent …, <told> at …" */
void example_tell_request(struct counterexample *example, const struct record *record,
                          const char *id, const char *told);
void example_tell_refusal(struct counterexample *example, const struct record *refusal);
/* The refusal and the sales that there are. */
void example_tell_pair(struct counterexample *example, const struct judge *judge,
                       const struct pair *pair);

/* example_leak.c: the counterexample of a LEAK that was found. True. */
bool example_tell_leak(struct counterexample *example, const struct judge *judge);

/* The two sales of one unit that held a lock together, and the one before them that freed it, if it
 * did, which then is A. */
void example_tell_chain(struct counterexample *example, const struct judge *judge,
                        const struct overlap *overlap);

/* Add the events that belong to it, when its operations are told. */
void example_weave(struct counterexample *example, const struct judge *judge);

/* "Of those who wanted a unit from … to the end of the demand at … nobody got one: 238 busy"
 */
void example_tell_turned_away(struct counterexample *example, const struct stuck *stuck);

/* The reply that counts: the first yes, else one that is missing, else that to the first request.
 */
const struct record *example_told(const struct purchase *purchase);

#endif
