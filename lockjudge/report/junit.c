/* The report as tests, for Jenkins, GitLab and others: an unexpected verdict is a failure; a row
 * that was not judged or not asked is skipped. */
#include "report_internal.h"
#include "xml_text.h"

static void on_line(const char *line, void *data) {
    xml_text_put(line, false, data);
    (void)fputc('\n', data);
}

int report_put_finding(const struct report *report, const struct report_row *row,
                       enum oracle_word word, FILE *to) {
    char sentence[PROSE_LINE];

    on_line(prose_finding(word, &row->oracle.findings[word], sentence, sizeof sentence), to);
    return report_tell(report, row, word, on_line, to);
}

static int put_failure(const struct report *report, const struct report_row *row, FILE *to) {
    int code = 0;

    (void)fprintf(to, "      <failure message=\"%s; expected: %s\">",
                  oracle_verdict_text(row->verdict), row->expected);
    for (int word = 0; word < ORACLE_WORD_COUNT && code == 0; word++)
        if (row->oracle.findings[word].count > 0)
            code = report_put_finding(report, row, (enum oracle_word)word, to);
    (void)fputs("</failure>\n", to);
    return code;
}

static int put_row(const struct report *report, const struct report_row *row, FILE *to) {
    const bool is_skipped = row->verdict == ORACLE_UNJUDGED || row->verdict == ORACLE_UNASKED;
    int code = 0;

    (void)fprintf(to, "    <testcase classname=\"lockjudge\" name=\"%s\">\n", row->name);
    if (row->is_unexpected) {
        code = put_failure(report, row, to);
    } else if (is_skipped) {
        (void)fprintf(to, "      <skipped message=\"%s: ", oracle_verdict_text(row->verdict));
        xml_text_put(row->reason, true, to);
        (void)fputs("\"/>\n", to);
    } else {
        (void)fprintf(to, "      <system-out>%s</system-out>\n", oracle_verdict_text(row->verdict));
    }
    (void)fputs("    </testcase>\n", to);
    return code;
}

int report_junit(const struct report *report, FILE *to) {
    size_t failures = 0, skipped = 0;
    int code = 0;

    for (size_t i = 0; i < report->count; i++) {
        const enum oracle_verdict verdict = report->rows[i].verdict;

        failures += report->rows[i].is_unexpected;
        skipped += !report->rows[i].is_unexpected &&
                   (verdict == ORACLE_UNJUDGED || verdict == ORACLE_UNASKED);
    }
    (void)fprintf(to,
                  "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n"
                  "  <testsuite name=\"lockjudge\" tests=\"%zu\" failures=\"%zu\" "
                  "skipped=\"%zu\" errors=\"0\">\n",
                  report->count, failures, skipped);
    for (size_t i = 0; i < report->count && code == 0; i++)
        code = put_row(report, &report->rows[i], to);
    (void)fputs("  </testsuite>\n</testsuites>\n", to);
    return code == 0 && fflush(to) == 0 && !ferror(to) ? 0 : -1;
}
