/* The results folder of a run: results/<utc>-<name>/, and results/latest, a link to it.
 *
 *     summary.json      what the report says, for programs (loadgen/report/summary.schema.json)
 *     history.ndjson    each request, ledger row and fault: enough to judge the run again
 *     violations.txt    each counterexample in prose, with a timeline
 *     latency.hlog      the histograms in HdrHistogram's log format, in nanoseconds
 *     rounds.csv        a line per round
 *     env.json          machine, versions, revision, seed, the full command
 *     report.html       the page: one file, no network, for light, dark, phone and paper
 *
 * Files are written under another name and renamed, so that none is ever half of what it says. */
#ifndef LOADGEN_FOLDER_H
#define LOADGEN_FOLDER_H

#include "summary.h"
#include "why.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define FOLDER_PATH 1024

struct folder {
    char path[FOLDER_PATH]; /* of the folder; "" when none is wanted */
    FILE *history;
    size_t rounds;   /* in the history; a folder without any is removed again */
    bool is_written; /* folder_write() was called */
};

/* Make the folder and begin the history, so that a place that cannot be written is known before the
 * run. Does nothing with --no-results. 0; or -1, and `why` says what to do. */
__attribute__((warn_unused_result)) int folder_open(struct folder *folder,
                                                    const struct options *options,
                                                    int64_t started_us, struct why *why);
/* Append a judged round to the history, while it has its records and ledgers. 0; or -1 and `why`.
 */
__attribute__((warn_unused_result)) int folder_add(struct folder *folder, const struct round *round,
                                                   struct why *why);
/* Write all other files and point `latest` here. 0; or -1 and `why`: what could be written is. */
__attribute__((warn_unused_result)) int folder_write(struct folder *folder,
                                                     const struct summary *summary,
                                                     struct why *why);
void folder_close(struct folder *folder);

#endif
