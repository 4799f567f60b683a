/* The report of a run, as --output-format says. */
#ifndef LOADGEN_REPORT_H
#define LOADGEN_REPORT_H

#include "summary.h"
#include "table.h"

#include <stdio.h>

/* "VIOLATED OVERSELL TWIN +1": the state, and as many anomalies as fit, the others as a number;
 * returns `text`. */
const char *report_verdict(const struct verdict *verdict, char text[TABLE_CELL]);

/* What was asked for, in a line: "5 strategies in turn, each under the same 800 requests at 800/s,
 * ..."; free() it. NULL without memory. */
__attribute__((warn_unused_result)) char *report_what(const struct options *options);

/* 0, or -1 when it could not be written. */
__attribute__((warn_unused_result)) int report_print(const struct summary *summary, FILE *to);

#endif
