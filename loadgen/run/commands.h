/* The commands that work on results folders, without a target. Each prints to `to` and returns an
 * exit code. */
#ifndef LOADGEN_COMMANDS_H
#define LOADGEN_COMMANDS_H

#include "options.h"

#include <stdio.h>

/* Judge DIR/history.ndjson again: prints the report, and says where the verdict differs from the
 * one in summary.json. Exit codes as of a run; 2, too, when rounds are missing. */
__attribute__((warn_unused_result)) int command_check(const struct options *options, FILE *to);
/* Compare the strategies of two folders. 0; 1 when a verdict became worse. */
__attribute__((warn_unused_result)) int command_diff(const struct options *options, FILE *to);
/* Write the page of one or several folders to --output, or DIR/report.html. */
__attribute__((warn_unused_result)) int command_report(const struct options *options, FILE *to);

#endif
