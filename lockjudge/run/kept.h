/* Histories in files: kept by a run, and judged again without a worker. */
#ifndef LOCKJUDGE_KEPT_H
#define LOCKJUDGE_KEPT_H

#include "report.h"
#include "why.h"

/* Write the history of each row that was judged to FOLDER/ROW.ndjson; the folder is made if it is
 * not there. 0, or -1 with the reason. */
__attribute__((warn_unused_result)) int kept_write(const struct report *report, const char *folder,
                                                   struct why *why);

/* Judge the history in this file, and print its verdict and its words. 0; 1: there are two holders;
 * -1 with the reason. */
int kept_judge(const char *path, int64_t slack_ms, FILE *to, struct why *why);

#endif
