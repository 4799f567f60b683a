/* Several processes send one plan, on any hosts: the commands plan, send and merge, and the run of
 * --parts and --hosts (crew.h).
 *
 * `plan` makes the products and writes the plan; `send` is a run without a judgement, which sends
 * one part; `merge` is a run without sending, which judges the ledger. */
#ifndef LOADGEN_SPLIT_H
#define LOADGEN_SPLIT_H

#include "run.h"

struct split;

/* Each function except the last ones returns an exit code. */

/* For `send` and `merge`: reads the plan or the parts, sets run->options to the settings of the plan,
 * and lays out its round. Call split_free() either way. */
__attribute__((warn_unused_result)) int split_open(struct run *run);
void split_free(struct run *run);

/* The rest in a fiber. */
__attribute__((warn_unused_result)) int split_plan(struct run *run);
__attribute__((warn_unused_result)) int split_send(struct run *run);
/* Adds the requests of all parts to the recorder of the round. */
__attribute__((warn_unused_result)) int split_gather(struct run *run, struct round *round);
/* Sends a round by the processes of --parts or --hosts, and does the same. */
__attribute__((warn_unused_result)) int split_crew(struct run *run, struct round *round,
                                                   void (*on_start)(void *data));

/* False: a `send` of --parts, which has the clock of its run. */
bool split_asks_clock(const struct run *run);
/* When `send` has its connections: waits for the moment of the start, and returns it. */
int64_t split_start(void *run);
/* Ends that wait. */
void split_stop(struct run *run);
/* When the parts that are merged began; 0: nothing is merged. */
int64_t split_started_us(const struct run *run);

#endif
