/* The history of a load that another program sent: docs/history.md. Its lines are a version of
 * their own, with fewer members than those of a run. The tables are load_lines (history_fields.h).
 *
 *     load      the first line: the version of the format, and a name
 *     product   its stock and the units that are left. In turn 0, 1, 2, ...
 *     request   one request, anywhere after the first line
 *     sale      one unit sold of the product line above
 *     order     one order of the product line above. A product without sale lines has a sale for
 *               each order, and a product without order lines has an order for each sale
 *
 * If the sales of all products tell `remaining`, units have numbers, as in a run. If none does, the
 * ledgers are unnumbered (ledger.h). */
#ifndef LOADGEN_HISTORY_LOAD_H
#define LOADGEN_HISTORY_LOAD_H

#include "history.h"
#include "history_line.h"

/* Reads all lines into the zeroed `history`; `first` is the first of `lines`. The lines are read
 * twice: a file that cannot be read twice is refused. Many requests go to a file in `folder`.
 * Returns 0; or
 * -1 with the reason in `why`, and lines->number is the line. */
__attribute__((warn_unused_result)) int load_read(struct history *history,
                                                  struct history_lines *lines,
                                                  const struct history_line *first,
                                                  const char *folder, struct why *why);

#endif
