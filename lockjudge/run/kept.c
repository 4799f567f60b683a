#include "kept.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

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

int kept_write(const struct report *report, const char *folder, struct why *why) {
    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        return why_set(why, "cannot make the folder %.900s: %s", folder, strerror(errno));
    for (size_t i = 0; i < report->count; i++)
        if (report->rows[i].history.count > 0 && row_write(&report->rows[i], folder, why) != 0)
            return -1;
    return 0;
}

int kept_judge(const char *path, int64_t slack_ms, FILE *to, struct why *why) {
    const struct report report = {.slack_ms = slack_ms};
    struct report_row row = {.name = "history"};
    FILE *file = fopen(path, "r");
    struct why reason;
    int code = -1;

    if (file == NULL)
        return why_set(why, "cannot read %.900s: %s", path, strerror(errno));
    if (history_read(&row.history, file, &reason) != 0)
        (void)why_set(why, "%.400s: %.900s", path, reason.text);
    else if (oracle_judge(&row.history, slack_ms, &row.oracle) != 0)
        (void)why_set(why, "out of memory");
    else
        code = 0;
    (void)fclose(file);
    if (code == 0) {
        row.verdict = row.oracle.verdict;
        report_progress(&row, to);
        code = report_found(&report, &row, to) != 0
                   ? why_set(why, "out of memory")
                   : row.verdict == ORACLE_TOLD || row.verdict == ORACLE_UNTOLD;
    }
    history_free(&row.history);
    return code;
}
