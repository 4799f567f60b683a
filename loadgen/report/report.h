/* The report of a run, in the form that --output-format names. */
#ifndef LOADGEN_REPORT_H
#define LOADGEN_REPORT_H

#include "summary.h"
#include "table.h"

#include <stdio.h>

/* "VIOLATED OVERSELL TWIN +1": the verdict, the anomalies that fit, and the number of the others.
 * Returns `text`. */
const char *report_verdict(const struct verdict *verdict, char text[TABLE_CELL]);

/* The load in a line: "5 strategies in turn, each under the same 800 requests at 800/s, ...". The
 * caller frees it. NULL without memory. */
__attribute__((warn_unused_result)) char *report_what(const struct options *options);

/* Returns 0, or -1 if it could not be written. */
__attribute__((warn_unused_result)) int report_print(const struct summary *summary, FILE *to);

#endif
