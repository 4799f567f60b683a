/* The judgement of simulated runs, and of what a test plants in them. */
#ifndef LOADGEN_TEST_SIMULATED_JUDGE_H
#define LOADGEN_TEST_SIMULATED_JUDGE_H

#include "simulated_sale.h"

#define RUNS 4000 /* of each kind */

extern struct verdict simulated_verdict; /* of the last one judged */

/* Of a group of tests. */
int simulated_set_up(void **state);
int simulated_tear_down(void **state);

void simulated_judge(void);
void print_run(uint64_t seed);

/* A sale by lot, or NULL without any. */
struct ledger_sale *any_sale(void);
uint32_t item_of(const struct ledger_sale *sale);
/* A sale that its customer was told of, or NULL. */
struct ledger_sale *any_told(struct record **told);
/* Not a unit that had come back, and not the last one of its row, which may be. */
bool is_of_count(const struct ledger_sale *sale);
/* The yes that is the only request of its key, so that it is known when the sale began and ended;
 * or NULL. */
struct record *only_yes(const struct ledger_sale *sale);

/* Plant it in many runs, `least` at least: it is found in each. `plant` is false where it has no
 * place for it. */
void assert_planted_is_found(enum anomaly anomaly, bool (*plant)(void), int least);

#endif
