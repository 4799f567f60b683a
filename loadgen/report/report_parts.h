/* The parts of the report for people, in the order in which they are printed. */
#ifndef LOADGEN_REPORT_PARTS_H
#define LOADGEN_REPORT_PARTS_H

#include "report.h"

#include <stdio.h>

/* What was asked, which thresholds were kept, and whether the load was as planned. -1 without
 * memory. */
__attribute__((warn_unused_result)) int report_head(const struct report *report, FILE *to);
/* A line per strategy: the verdict and what it rests on. -1 without memory. */
__attribute__((warn_unused_result)) int report_verdicts(const struct report *report, FILE *to);
/* A line per strategy: the work behind an order, as the replies tell it; nothing when none does.
 * -1 without memory. */
__attribute__((warn_unused_result)) int report_cost(const struct report *report, FILE *to);
/* Sentences per strategy: what was found, how sure that is, and what bounds its rate. */
void report_why(const struct report *report, FILE *to);
/* Where the results are, and what the exit code means. */
void report_foot(const struct report *report, FILE *to);

#endif
