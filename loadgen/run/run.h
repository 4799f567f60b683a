/* What the parts of loadgen share: main.c opens and closes, fire.c makes the products, sends the
 * rounds and judges them, and past.c works on the results folders of earlier runs. */
#ifndef LOADGEN_RUN_H
#define LOADGEN_RUN_H

#include "audit.h"
#include "ci_files.h"
#include "complain.h"
#include "exit_code.h"
#include "folder.h"
#include "injector.h"
#include "interrupts.h"
#include "options.h"
#include "progress.h"
#include "round.h"
#include "sender.h"
#include "target.h"
#include "workers.h"

#include <stdio.h>
#include <uv.h>

/* For the answers to come when a round is stopped, and for each query then. */
#define RUN_GRACE_MS 1000

struct run {
    uv_loop_t *loop;
    struct options *options;
    FILE *to;
    struct ci_files *ci_files;
    int exit_code;
    struct product attacked; /* of --product; zero without */
    struct target target;
    struct auditor auditor;
    struct plan plan;
    struct folder folder;
    size_t round_count;
    struct round *rounds; /* in the order in which they are run */
    size_t finished;      /* rounds with a verdict */
    struct down down;     /* after these */
    struct progress progress;
    uv_timer_t watch;         /* of the thresholds, while a round is sent */
    struct injector injector; /* of the faults of that round; without steps when there are none */
    struct sender *sender;    /* of the round that is being sent, or NULL */
    struct workers workers;   /* that send it, with --workers; else none */
    bool has_begun;           /* a request was sent */
    bool is_interrupted;
    bool is_aborted; /* by --abort-on-fail */
    struct interrupts interrupts;
};

/* Say why on stderr; returns `exit_code`. */
static inline int run_fail(int exit_code, const char *why) {
    complain("loadgen", "%s", why);
    return exit_code;
}

/* The exit code for what the target answered. */
static inline int run_settle(enum target_result result, const char *why) {
    if (result == TARGET_OK)
        return 0;
    return run_fail(result == TARGET_REFUSED ? EXIT_USAGE : EXIT_UNREACHABLE, why);
}

/* All but fire_stop() return an exit code. */

/* Make the plan, and start the workers that are asked for. It comes first: a worker has a copy of
 * all that is there. */
__attribute__((warn_unused_result)) int fire_open(struct run *run);
/* Make the products of a round, unless one is attacked, and show them to the target. */
__attribute__((warn_unused_result)) int fire_products(struct run *run, struct round *round);
/* Run all rounds and report them. */
__attribute__((warn_unused_result)) int fire(struct run *run);
/* Send no more, and give up what is not answered in a moment. */
void fire_stop(struct run *run);

/* Without a target, on results folders; what is printed goes to `to`.
 *
 * check: judge DIR/history.ndjson again: print the report, and say where the verdict differs from
 * the one in summary.json. Exit codes as of a run; 2, too, when rounds are missing.
 * diff: compare the strategies of two folders. 0; 1 when a verdict became worse.
 * report: write the page of one or several folders to --output, or DIR/report.html. */
__attribute__((warn_unused_result)) int past(const struct options *options, FILE *to,
                                             struct ci_files *ci_files);

#endif
