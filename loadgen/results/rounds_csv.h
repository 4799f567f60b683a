/* rounds.csv: a line per round with its main numbers, for spreadsheets (RFC 4180).
 *
 *     strategy          as in --strategy
 *     repeat, position  which round of its strategy, and which of the run; from 1
 *     started_at        wall clock of its start, UTC
 *     verdict           VALID, VIOLATED, INCONCLUSIVE, or "not judged"
 *     offered           requests that were due
 *     sold, sold_out, busy, unknown, refused, failed, unreached, unsent    by what was told
 *     ledger_sold, ledger_left    units, as the ledgers say; empty when not judged
 *     oversell, twin, ... stale   anomalies, by name; empty when not judged
 *     rate              answers a second
 *     p50_ms, p99_ms, max_ms      from planned to answered
 *     service_p50_ms, service_p99_ms, service_max_ms    from sent to answered
 *     late_launches     held back by --max-in-flight
 *     within_10ms       part of the requests sent within 10 ms of plan, 0..1 */
#ifndef LOADGEN_ROUNDS_CSV_H
#define LOADGEN_ROUNDS_CSV_H

#include "summary.h"

#include <stdio.h>

/* 0, or -1 when it could not be written, with errno. */
__attribute__((warn_unused_result)) int rounds_csv_write(const struct summary *summary, FILE *to);

#endif
