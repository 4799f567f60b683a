/* Which verdicts a row may have. Without --expect the model decides, by what the worker says of its
 * lock; docs/lockjudge.md publishes it. */
#ifndef LOCKJUDGE_EXPECT_H
#define LOCKJUDGE_EXPECT_H

#include "report.h"
#include "why.h"

#include <stdint.h>

/* What a row must be. */
struct expectation {
    uint32_t verdicts; /* one of these, a bit 1U << ORACLE_... each */
    uint32_t must;     /* each of these words is found */
    uint32_t never;    /* none of these */
};

/* What the model allows a row.
 *
 * Verdicts: a lock without a fence cannot stop a write that is on its way when its holder is
 * stopped: nothing but the resource can. A server that forgets its locks makes two holders; the
 * library can only tell the older one. A pair may be what one of its faults may be.
 *
 * Words: not the ones that contradict what the worker says of its lock, or the words of its own
 * library. The others explain a verdict. In a pair, a holder that works may lose its lock to the
 * second fault. */
struct expectation expect_model(const struct fault_case cases[FAULT_PAIR], unsigned caps);

/* Read a line of --expect, "ROW=VERDICT", "ROW=VERDICT|VERDICT" or "ROW=VERDICT+WORD", for the row
 * `name`; ROW may be `all`. 1: it names this row, and *expectation is its; 0: another; -1 with the
 * reason. */
int expect_read(const char *line, const char *name, struct expectation *expectation,
                struct why *why);
bool expect_hold(const struct expectation *expectation, const struct report_row *row);

/* How bad a trial of the row is: the worst one tells the row. First one that is not allowed, then
 * the worse verdict, then more words. */
unsigned expect_rank(const struct expectation *expectation, const struct oracle *oracle);

/* "safe|fenced+STUCK", and "not" with the words that must not be found. */
void expect_text(const struct expectation *expectation, char *to, size_t size);

#endif
