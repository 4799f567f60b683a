/* Shared by the parts of loadgen: main.c opens and closes, fire.c makes the products, sends the
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

#include <stdio.h>
#include <uv.h>

/* After a stop: limit for the last answers, and for each query. */
#define RUN_GRACE_MS 1000

struct crew;
struct shop_run;
struct split;

struct run {
    uv_loop_t *loop;
    struct options *options;
    FILE *to;
    struct ci_files *ci_files;
    int exit_code;
    struct shop_run *shop;   /* of --shop, and then no target and no auditor is open; or NULL */
    struct split *split;     /* of `send` and `merge`; or NULL (split.h) */
    struct product attacked; /* of --product; zero without */
    struct target target;
    struct auditor auditor;
    struct plan plan;
    struct folder folder;
    size_t round_count;
    struct round *rounds; /* in the order of the run */
    size_t finished;      /* rounds with a verdict */
    struct down down;     /* after the finished rounds */
    struct progress progress;
    uv_timer_t watch;         /* checks the thresholds while a round is sent */
    struct injector injector; /* of the faults of that round; no faults: no steps */
    struct sender *sender;    /* of the round that is being sent, or NULL */
    struct crew *crew;        /* the processes that send it; or NULL */
    bool has_lost;            /* one of them died: no further round is sent */
    bool has_begun;           /* a request was sent */
    bool is_interrupted;
    bool is_aborted; /* by --abort-on-fail */
    struct interrupts interrupts;
};

/* Prints the reason to stderr, and returns `exit_code`. */
static inline int run_fail(int exit_code, const char *why) {
    complain("loadgen", "%s", why);
    return exit_code;
}

/* The exit code for an answer of the target. */
static inline int run_settle(enum target_result result, const char *why) {
    if (result == TARGET_OK)
        return 0;
    return run_fail(result == TARGET_REFUSED ? EXIT_USAGE : EXIT_UNREACHABLE, why);
}

/* Each function except fire_stop() returns an exit code. */

/* Makes the plan, before the fiber. */
__attribute__((warn_unused_result)) int fire_open(struct run *run);
/* Makes the products of a round (or takes the attacked one), and shows them to the target. */
__attribute__((warn_unused_result)) int fire_products(struct run *run, struct round *round);
/* Sends a round, by this process or by those of --parts and --hosts. */
__attribute__((warn_unused_result)) int fire_send(struct run *run, struct round *round);
/* Runs all rounds and reports them. */
__attribute__((warn_unused_result)) int fire(struct run *run);
/* Stops sending, and gives up requests without an answer after RUN_GRACE_MS. */
void fire_stop(struct run *run);

/* The commands on results folders, without a target. They print to `to`.
 *
 * check: judges DIR/history.ndjson again, prints the report, and each difference from summary.json.
 * Exit codes are those of a run, and 2 if rounds are missing.
 * diff: compares the strategies of two folders. 0; 1 if a verdict became worse or an anomaly
 * appeared; EXIT_THRESHOLD if only a --limit was passed.
 * report: writes the page of one or several folders to --output, or to DIR/report.html.
 * export: writes a round for a checker of other people. */
__attribute__((warn_unused_result)) int past(const struct options *options, FILE *to,
                                             struct ci_files *ci_files);

#endif
