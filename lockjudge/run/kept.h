/* Histories in files: kept by a run, and judged again without a worker. */
#ifndef LOCKJUDGE_KEPT_H
#define LOCKJUDGE_KEPT_H

#include "report.h"
#include "why.h"

/* Make the folder if it is not there. 0; or -1 with the reason, also if no file can be made in it. */
__attribute__((warn_unused_result)) int kept_open(const char *folder, struct why *why);
/* Write the history of each row that was judged to FOLDER/ROW.ndjson. 0, or -1 with the reason. */
__attribute__((warn_unused_result)) int kept_write(const struct report *report, const char *folder,
                                                   struct why *why);

enum kept_code {
    KEPT_BAD = -1, /* it cannot be read: with the reason */
    KEPT_SAFE,
    KEPT_UNSAFE,  /* two holders, or a word that no lock may have */
    KEPT_NOTHING, /* nobody got the lock */
};

/* Judge the history in this file, and print its verdict and its words. */
enum kept_code kept_judge(const char *path, int64_t slack_ms, FILE *to, struct why *why);

#endif
