#include "kept.h"

#include "expect.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_BYTES 1024

static int row_write(const struct report_row *row, const char *folder, struct why *why) {
    char path[PATH_BYTES];
    FILE *file;
    int code;

    if (snprintf(path, sizeof path, "%s/%s.ndjson", folder, row->name) >= (int)sizeof path)
        return why_set(why, "the path of --history is too long");
    file = fopen(path, "w");
    if (file == NULL)
        return why_set(why, "cannot write %.900s: %s", path, strerror(errno));
    code = history_write(&row->history, file);
    return fclose(file) == 0 && code == 0 ? 0 : why_set(why, "cannot write %.900s", path);
}

int kept_open(const char *folder, struct why *why) {
    char inside[PATH_BYTES];

    if (snprintf(inside, sizeof inside, "%s/.", folder) >= (int)sizeof inside)
        return why_set(why, "the path of --history is too long");
    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        return why_set(why, "cannot make the folder %.900s: %s", folder, strerror(errno));
    return access(inside, W_OK | X_OK) == 0
               ? 0
               : why_set(why, "cannot write in %.900s: %s", folder, strerror(errno));
}

int kept_write(const struct report *report, const char *folder, struct why *why) {
    for (size_t i = 0; i < report->count; i++)
        if (report->rows[i].history.count > 0 && row_write(&report->rows[i], folder, why) != 0)
            return -1;
    return 0;
}

/* A file names no worker and no row, so the model is that of a row without a fault. */
static enum kept_code row_judge(struct report_row *row, int64_t slack_ms, FILE *to) {
    const struct report report = {.slack_ms = slack_ms};
    struct expectation model;

    row->cases[0] = (struct fault_case){fault_at(0), FAULT_AT_NONE};
    row->verdict = row->oracle.verdict;
    if (row->oracle.grants == 0) {
        row->verdict = ORACLE_UNJUDGED;
        (void)snprintf(row->reason, sizeof row->reason, "no worker got the lock");
    }
    model = expect_model(row->cases, 0);
    report_progress(row, to);
    if (report_found(&report, row, to) != 0)
        return KEPT_BAD;
    return row->verdict == ORACLE_UNJUDGED ? KEPT_NOTHING
           : expect_hold(&model, row)      ? KEPT_SAFE
                                           : KEPT_UNSAFE;
}

enum kept_code kept_judge(const char *path, int64_t slack_ms, FILE *to, struct why *why) {
    struct report_row row = {.name = "history"};
    FILE *file = fopen(path, "r");
    enum kept_code code = KEPT_BAD;
    struct why reason;

    if (file == NULL) {
        (void)why_set(why, "cannot read %.900s: %s", path, strerror(errno));
        return KEPT_BAD;
    }
    (void)why_set(why, "out of memory");
    if (history_read(&row.history, file, &reason) != 0)
        (void)why_set(why, "%.400s: %.900s", path, reason.text);
    else if (oracle_judge(&row.history, slack_ms, &row.oracle) == 0)
        code = row_judge(&row, slack_ms, to);
    (void)fclose(file);
    history_free(&row.history);
    return code;
}
