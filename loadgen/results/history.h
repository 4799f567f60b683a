/* history.ndjson: all data for a judgement, a JSON object per line, each with its `type`. Members
 * may have any order. history_fields.c has all members; the reader refuses others.
 *
 *     run       the first line: the settings, the strategies and the expected verdicts; the shop
 *     round     begins a round; the lines up to the next round belong to it
 *     request   one record (record.h). Usual values are left out: item 0, unit -1, no instance, no
 *               order_id, is_repeat false, a cost that the reply lacks. `instance` is a place in
 *               the round's `instances`, `item` in its `products`
 *     event     a failpoint that fired, the result of a raw lock command, or a fault of a server
 *               (event.h)
 *     clock     of a part: a look at the clock of the ledger's database (offsets.h)
 *     product   the final stock of one product (ledger.h); row, returned, sale, order: its rows
 *     doubt     a reason why the round proves nothing, which the ledger and the requests do not show
 *     end       the last line of a round: its verdict, further input of the verdict, and the times
 *               of a shop's steps
 *
 * Times are nanoseconds from the round's start; ledger times are the database's wall clock. Names
 * with _us at the end are microseconds; started_us and ended_us count from 1970.
 *
 * The history of a load that another program sent begins with the line `load` instead of `run`. It
 * has one round, without the lines `round` and `end`. docs/history.md has its lines and members. */
#ifndef LOADGEN_HISTORY_H
#define LOADGEN_HISTORY_H

#include "options.h"
#include "round.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Each returns 0; or -1 with errno if it could not be written. */
__attribute__((warn_unused_result)) int history_write_run(FILE *to, const struct options *options,
                                                          int64_t started_us);
__attribute__((warn_unused_result)) int history_write_round(FILE *to, const struct round *round);

/* A history, read back: rounds with their records, histograms and ledgers. Its verdict has only the
 * kind; round_judge() makes a new one. */
struct history {
    struct options options; /* settings that reports print; the others are zero */
    int64_t started_us;
    size_t count;
    struct round *rounds;
    bool is_cut;  /* the last round is not whole: the run ended while it was written */
    bool is_file; /* its path was that of a file, not of a results folder */
    bool is_load; /* another program sent the load and wrote the lines (docs/history.md) */
};

/* Reads PATH/history.ndjson, or PATH if that is no folder. Returns 0; or -1, with the file, the
 * line, the member and what it must be in `why`. Call history_free() either way. */
__attribute__((warn_unused_result)) int history_load(struct history *history, const char *path,
                                                     struct why *why);
void history_free(struct history *history);

#endif
