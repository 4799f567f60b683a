/* The results folder of a run: results/<utc>-<name>/, and the link results/latest to it.
 *
 *     summary.json      the report for programs (loadgen/report/summary.schema.json)
 *     history.ndjson    each request, ledger row and fault: enough to judge the run again
 *     violations.txt    each counterexample in sentences, with a timeline
 *     latency.hlog      the histograms in HdrHistogram's log format, in nanoseconds
 *     rounds.csv        a line per round
 *     env.json          machine, versions, revision, seed, the full command
 *     report.html       the page: one file, no network, for light, dark, phone and paper
 *
 * Each file but the history is written under a temporary name and then renamed, so it is never half
 * written. */
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
    char path[FOLDER_PATH]; /* of the folder; "": none */
    FILE *history;
    size_t rounds;   /* rounds in the history; a folder without rounds is removed */
    bool is_written; /* folder_write() was called */
};

/* Makes the folder and starts the history, so that a bad place is found before the run. Does
 * nothing with --no-results. Returns 0; or -1, with the reason and the remedy in `why`. */
__attribute__((warn_unused_result)) int folder_open(struct folder *folder,
                                                    const struct options *options,
                                                    int64_t started_us, struct why *why);
/* Appends a judged round, which must still have its records and ledgers, to the history. Returns 0;
 * or -1 with the reason in `why`. */
__attribute__((warn_unused_result)) int folder_add(struct folder *folder, const struct round *round,
                                                   struct why *why);
/* Writes the other files, and points `latest` here. Tries all of them. Returns 0; or -1 with the
 * first error in `why`. */
__attribute__((warn_unused_result)) int folder_write(struct folder *folder,
                                                     const struct summary *summary,
                                                     struct why *why);
void folder_close(struct folder *folder);

#endif
