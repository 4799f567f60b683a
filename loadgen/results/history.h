/* history.ndjson: all that a judgement needs, a JSON object a line, each with its `type`. Members
 * may stand in any order; history_fields.c has them all, and no others are taken.
 *
 *     run       first: the settings, the strategies and what was expected of them
 *     round     begins a round; the lines up to the next belong to it
 *     request   one record (record.h); what has the value of most is left out: item 0, unit -1,
 *               no instance, no order_id, is_repeat false, each cost that the reply did not tell.
 *               `instance` counts in the round's `instances`, `item` in its `products`
 *     event     a failpoint that fired, the result of a raw lock command, or a fault of a server
 *               (event.h)
 *     product   one product's stock at the end (ledger.h); row, returned, sale, order: its rows
 *     end       last of a round: the verdict that was given, and what it was given besides
 *
 * Times are nanoseconds from the round's start, ledger times the database's wall clock, and names
 * ending in _us microseconds; of started_us and ended_us since 1970. */
#ifndef LOADGEN_HISTORY_H
#define LOADGEN_HISTORY_H

#include "options.h"
#include "round.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* 0, or -1 when it could not be written, with errno. */
__attribute__((warn_unused_result)) int history_write_run(FILE *to, const struct options *options,
                                                          int64_t started_us);
__attribute__((warn_unused_result)) int history_write_round(FILE *to, const struct round *round);

/* A history read back: rounds with their records, histograms and ledgers. Of the verdict a
 * round has only the kind that was given: round_judge() judges it again. */
struct history {
    struct options options; /* the settings that reports print; the others are zero */
    int64_t started_us;
    size_t count;
    struct round *rounds;
    bool is_cut; /* the last line was not whole: the run ended in the middle of writing */
};

/* Read DIR/history.ndjson. 0; or -1, and `why` names the file, the line and what is wrong.
 * history_free() it either way. */
__attribute__((warn_unused_result)) int history_load(struct history *history, const char *folder,
                                                     struct why *why);
void history_free(struct history *history);

#endif
