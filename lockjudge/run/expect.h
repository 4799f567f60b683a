/* Which verdicts a row may have. Without --expect the model decides, by what the worker says of its
 * lock; docs/lockjudge.md publishes it. */
#ifndef LOCKJUDGE_EXPECT_H
#define LOCKJUDGE_EXPECT_H

#include "report.h"
#include "why.h"

#include <stdint.h>

/* The verdicts that the model allows, a bit 1U << ORACLE_... each. A lock without a fence cannot
 * stop a write that is on its way when its holder is stopped: nothing but the resource can. A server
 * that forgets its locks makes two holders; the library can only tell the older one. */
uint32_t expect_model(const struct fault *fault, enum fault_moment moment, unsigned caps);

/* The words that it does not allow, a bit 1U << ORACLE_... each: the ones that contradict what the
 * worker says of its lock, or the words of its own library. The others explain a verdict. */
uint32_t expect_model_words(unsigned caps);

/* What a row must be. */
struct expectation {
    uint32_t verdicts; /* one of these */
    uint32_t must;     /* each of these words is found */
    uint32_t never;    /* none of these */
};

/* Read a line of --expect, "ROW=VERDICT", "ROW=VERDICT|VERDICT" or "ROW=VERDICT+WORD", for the row
 * `name`; ROW may be `all`. 1: it names this row, and *expectation is its; 0: another; -1 with the
 * reason. */
int expect_read(const char *line, const char *name, struct expectation *expectation,
                struct why *why);
bool expect_hold(const struct expectation *expectation, const struct report_row *row);

/* "safe|fenced+STUCK", and "not" with the words that must not be found. */
void expect_text(const struct expectation *expectation, char *to, size_t size);

#endif
