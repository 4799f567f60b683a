/* What the parts of a run share: run.c opens and closes, prepare.c makes the products, fire.c sends
 * and judges the rounds. */
#ifndef LOADGEN_RUN_INTERNAL_H
#define LOADGEN_RUN_INTERNAL_H

#include "audit.h"
#include "folder.h"
#include "live.h"
#include "options.h"
#include "round.h"
#include "run.h"
#include "sender.h"
#include "target.h"

#define RUN_GRACE_MS                                                                               \
    1000 /* for the answers to come when a round is stopped, and for each query then */

struct run {
    uv_loop_t *loop;
    const struct options *options;
    FILE *to;
    int exit_code;
    struct target target;
    struct auditor auditor;
    struct plan plan;
    struct folder folder;
    size_t round_count;
    struct round *rounds; /* in the order in which they are run */
    size_t finished;      /* rounds with a verdict */
    struct live live;
    uv_timer_t watch;      /* of the thresholds, while a round is sent */
    struct sender *sender; /* of the round that is being sent, or NULL */
    bool has_begun;        /* a request was sent */
    bool is_interrupted;
    bool is_aborted; /* by --abort-on-fail */
    uv_signal_t interrupt, terminate;
};

/* Say why on stderr; returns `exit_code`. */
int run_fail(int exit_code, const char *why);

/* Hold the strategies against what the target knows. These return an exit code. */
__attribute__((warn_unused_result)) int prepare_check(struct run *run);
/* Make the products of a round and show them to the target. */
__attribute__((warn_unused_result)) int prepare_products(struct run *run, struct round *round);
/* Print what the target knows; or make the products of a round, and print their ids. */
__attribute__((warn_unused_result)) int prepare_list(struct run *run);
__attribute__((warn_unused_result)) int prepare_create(struct run *run);

/* Run all rounds and report them. */
__attribute__((warn_unused_result)) int fire(struct run *run);

#endif
