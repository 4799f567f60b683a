/* What the parts of loadgen share: run.c opens and closes, prepare.c makes the products, fire.c
 * sends and judges the rounds, and each command works on results folders. */
#ifndef LOADGEN_RUN_H
#define LOADGEN_RUN_H

#include "audit.h"
#include "exit_code.h"
#include "folder.h"
#include "injector.h"
#include "interrupts.h"
#include "live.h"
#include "options.h"
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
    struct live live;
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
int run_fail(int exit_code, const char *why);

/* What is the same in all rounds, for a plan that stays. */
struct sender fire_sender(struct run *run);
/* Send no more, and give up what is not answered in a moment. */
void fire_stop(struct run *run);

/* Hold the strategies against what the target knows. These return an exit code. */
__attribute__((warn_unused_result)) int prepare_check(struct run *run);
/* Find the product that is to be attacked. */
__attribute__((warn_unused_result)) int prepare_attack(struct run *run);
/* Make the products of a round, unless one is attacked, and show them to the target. */
__attribute__((warn_unused_result)) int prepare_products(struct run *run, struct round *round);
/* Print what the target knows; or make the products of a round, and print their ids. */
__attribute__((warn_unused_result)) int prepare_list(struct run *run);
__attribute__((warn_unused_result)) int prepare_create(struct run *run);

/* Have the faults of servers ready for the next round: an exit code. */
__attribute__((warn_unused_result)) int faults_open(struct run *run);
/* The schedule of run->finished, a struct run's `data`, is settled. */
void faults_start(void *data);
/* Put up again what is down, and tell the round what became of the faults. 0, or -1 without memory.
 */
__attribute__((warn_unused_result)) int faults_close(struct run *run, struct round *round);

/* After the round run->finished, with another to come: the target cannot sell in that one, and does
 * not come up again within --drain. */
bool faults_left_down(struct run *run);

/* Run all rounds and report them. */
__attribute__((warn_unused_result)) int fire(struct run *run);

/* ---- without a target: each prints to `to` and returns an exit code */

/* Judge DIR/history.ndjson again: prints the report, and says where the verdict differs from the
 * one in summary.json. Exit codes as of a run; 2, too, when rounds are missing. */
__attribute__((warn_unused_result)) int command_check(const struct options *options, FILE *to);
/* Compare the strategies of two folders. 0; 1 when a verdict became worse. */
__attribute__((warn_unused_result)) int command_diff(const struct options *options, FILE *to);
/* Write the page of one or several folders to --output, or DIR/report.html. */
__attribute__((warn_unused_result)) int command_report(const struct options *options, FILE *to);

/* Do what `options` say on `loop`, print the report to `to`, and return the exit code. */
__attribute__((warn_unused_result)) int run(uv_loop_t *loop, struct options *options, FILE *to);

#endif
