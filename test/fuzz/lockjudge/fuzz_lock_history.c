/* The history of a lock, from a file: read, judged, told in all formats, and written again. */
#include "fuzz.h"
#include "report.h"
#include "why.h"

#include <assert.h>
#include <stdio.h>

static char worker[] = "worker";
static char *const command[] = {worker, NULL};

static void tell(const struct history *history, FILE *to) {
    struct report_row row = {
        .name = "none", .cases = {{fault_at(0), FAULT_AT_NONE}}, .history = *history, .trials = 1};
    const struct report report = {.command = command, .slack_ms = 1000, .rows = &row, .count = 1};
    json_t *json;

    if (oracle_judge(history, report.slack_ms, &row.oracle) != 0)
        abort();
    row.verdict = row.oracle.verdict;
    row.is_unexpected = row.verdict != ORACLE_SAFE;
    json = report_json(&report);
    if (json == NULL || report_text(&report, to) != 0 || report_junit(&report, to) != 0 ||
        report_page(&report, to) != 0)
        abort();
    json_decref(json);
}

static void read_again(const struct history *history) {
    struct history again = {NULL, 0, 0};
    struct why why;
    char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);

    if (file == NULL || history_write(history, file) != 0 || fclose(file) != 0)
        abort();
    file = fmemopen(text, size, "r");
    if (file == NULL || history_read(&again, file, &why) != 0)
        abort();
    assert(again.count == history->count);
    (void)fclose(file);
    free(text);
    history_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static FILE *nowhere;
    struct history history = {NULL, 0, 0};
    struct why why;
    char *text = fuzz_text(data, size);
    FILE *file = size > 0 ? fmemopen(text, size, "r") : NULL;

    if (nowhere == NULL && (nowhere = fopen("/dev/null", "w")) == NULL)
        abort();
    if (file != NULL && history_read(&history, file, &why) == 0 && history.count > 0) {
        tell(&history, nowhere);
        read_again(&history);
    }
    if (file != NULL)
        (void)fclose(file);
    history_free(&history);
    free(text);
    return 0;
}
