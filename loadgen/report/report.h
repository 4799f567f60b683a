/* The report of a run, as --output-format says. */
#ifndef LOADGEN_REPORT_H
#define LOADGEN_REPORT_H

#include "summary.h"

#include <stdio.h>

/* 0, or -1 when it could not be written. */
__attribute__((warn_unused_result)) int report_print(const struct summary *summary, FILE *to);

#endif
