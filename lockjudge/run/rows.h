/* The rows of a run: the faults and the pairs of faults that it asks for. */
#ifndef LOCKJUDGE_ROWS_H
#define LOCKJUDGE_ROWS_H

#include "report.h"
#include "why.h"

#include <stdbool.h>
#include <stdint.h>

struct rows_wish {
    const char *names; /* as of --faults: rows and pairs, with commas; "": each row */
    bool has_pairs;    /* then also the pairs of its rows, each once, in the order of the table */
    int64_t sample;    /* of these pairs: so many, which the seed chooses; 0: all */
    unsigned needs;    /* FAULT_NEEDS_... that are there; a pair with another need is left out */
};

/* Make the rows of the report, with its seed: single rows in the order of the table, named pairs,
 * and then the pairs of `has_pairs`. 0; or -1 with the reason. rows_free() in any case. */
__attribute__((warn_unused_result)) int rows_plan(struct report *report,
                                                  const struct rows_wish *wish, struct why *why);
void rows_free(struct report *report);

/* How many of them are pairs. */
size_t rows_pairs(const struct report *report);
/* How long all trials take, about, if the server restarts in no time. */
int64_t rows_ms(const struct report *report);

#endif
