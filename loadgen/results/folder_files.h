/* Writes the files of a results folder, except its history.
 *
 * violations.txt: the anomalies of each round, with the smallest proof of each, for people.
 *
 * latency.hlog: every histogram of a run in HdrHistogram's log format, version 1.3, for its
 * plotters and libraries (hdrhistogram.org; HistogramLogWriter and the V2 encoding of
 * AbstractHistogram in github.com/HdrHistogram/HdrHistogram). Two lines a round, in the order of
 * the rounds: Tag=<strategy> from planned to answered, and Tag=<strategy>.service from sent to
 * answered. Values are nanoseconds. In a tag commas are semicolons.
 *
 * rounds.csv: a line per round with its main numbers, for spreadsheets (RFC 4180).
 *
 *     strategy          as in --strategy
 *     repeat, position  number of the round in its strategy, and in the run; from 1
 *     started_at        wall clock of its start, UTC
 *     verdict           VALID, VIOLATED, INCONCLUSIVE, or "not judged"
 *     offered           requests that were due
 *     sold, sold_out, busy, unknown, refused, failed, unreached, unsent    by outcome
 *     ledger_sold, ledger_left    units, by the ledgers; empty if not judged
 *     oversell, twin, ... stale   anomalies, by name; empty if not judged
 *     rate              answers a second
 *     p50_ms, p99_ms, max_ms      from planned to answered
 *     service_p50_ms, service_p99_ms, service_max_ms    from sent to answered
 *     late_launches     requests that --max-in-flight delayed
 *     within_10ms       part of the requests sent within 10 ms of plan, 0..1 */
#ifndef LOADGEN_FOLDER_FILES_H
#define LOADGEN_FOLDER_FILES_H

#include "summary.h"

#include <stdio.h>

/* Each returns 0; or -1 with errno if it could not be written. */

/* For each round of each strategy: its anomalies with counts and examples, and each counterexample
 * in sentences with a timeline; without anomalies, the bound of their rate. Needs the verdicts, but
 * no records. */
__attribute__((warn_unused_result)) int violations_write(const struct summary *summary, FILE *to);
/* The same for one round, and for one counterexample by its place in the verdict. */
void violations_print_round(const struct round *round, FILE *to);
void violations_print_counterexample(const struct round *round, size_t number, FILE *to);
__attribute__((warn_unused_result)) int hlog_write(const struct summary *summary, FILE *to);
__attribute__((warn_unused_result)) int rounds_csv_write(const struct summary *summary, FILE *to);

#endif
