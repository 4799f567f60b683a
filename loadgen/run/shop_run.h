/* The rounds of a run against the shop of --shop (run.h): before the first one its check, then for
 * each round a new product, prepared customers, their orders, and the books of the shop. */
#ifndef LOADGEN_SHOP_RUN_H
#define LOADGEN_SHOP_RUN_H

#include "round.h"
#include "run.h"

struct shop_run;

/* Each function except the last two returns an exit code. */

/* Reads the file, checks the shop unless a green check is kept, and sets run->shop and a rate that
 * was not given. Before any fiber. Call shop_run_free() either way. */
__attribute__((warn_unused_result)) int shop_run_open(struct run *run);
void shop_run_free(struct run *run);

/* The rest in a fiber. Before the first round: tells the options what the shop is. */
__attribute__((warn_unused_result)) int shop_run_meet(struct run *run);
/* Makes the product of a round, and prepares the customers. */
__attribute__((warn_unused_result)) int shop_run_prepare(struct run *run, struct round *round);
/* Sends their orders. */
__attribute__((warn_unused_result)) int shop_run_send(struct run *run, struct round *round);
/* Reads the books once they are quiet, and notes each doubt about a verdict. */
void shop_run_read(struct run *run, struct round *round);
/* The teardown, after which a next round may be prepared. Also if a function before failed. */
void shop_run_leave(struct run *run);

/* Stops the orders, or the setup; at any time. */
void shop_run_stop(struct run *run);

#endif
