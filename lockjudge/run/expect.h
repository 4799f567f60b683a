/* Which verdicts a row may have. Without --expect the model decides, by what the worker says of its
 * lock; docs/lockjudge.md publishes it. */
#ifndef LOCKJUDGE_EXPECT_H
#define LOCKJUDGE_EXPECT_H

#include "report.h"
#include "why.h"

#include <stdint.h>

/* The verdicts that the model allows, a bit 1U << ORACLE_... each. A lock without a fence cannot
 * stop a write that is on its way when its holder is stopped: nothing but the resource can. */
uint32_t expect_model(const struct fault *fault, enum fault_moment moment, unsigned caps);

/* Read a line of --expect, "ROW=VERDICT" or "ROW=VERDICT|VERDICT", for the row `name`; ROW may be
 * `all`. 1: it names this row, and *verdicts are its; 0: another; -1 with the reason. */
int expect_read(const char *line, const char *name, uint32_t *verdicts, struct why *why);

/* "safe|fenced" */
void expect_text(uint32_t verdicts, char *to, size_t size);

#endif
