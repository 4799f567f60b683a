/* The report for people. */
#include "duration.h"
#include "line.h"
#include "report_internal.h"
#include "shrink.h"

#include <inttypes.h>
#include <string.h>

#define NAME_WIDTH    16
#define PAIR_WIDTH    30
#define VERDICT_WIDTH 21

static bool has_length(enum oracle_word word) {
    return word == ORACLE_TWIN_UNAWARE || word == ORACLE_LATE_TOLD || word == ORACLE_STUCK ||
           word == ORACLE_STARVED;
}

/* "TWIN-UNAWARE 97 ms, STALE-WRITE" */
void report_put_words(const struct report_row *row, FILE *to) {
    const char *between = "";

    for (int i = 0; i < ORACLE_WORD_COUNT; i++) {
        const struct oracle_finding *finding = &row->oracle.findings[i];
        char length[DURATION_TEXT];

        if (finding->count == 0)
            continue;
        (void)fprintf(to, "%s%s", between, oracle_word_text((enum oracle_word)i));
        if (has_length((enum oracle_word)i))
            (void)fprintf(to, " %s", duration_text(length, finding->length_ns));
        between = ", ";
    }
}

static int row_width(const struct report_row *row) {
    return row->cases[1].fault != NULL ? PAIR_WIDTH : NAME_WIDTH;
}

static void print_row(const struct report_row *row, int width, FILE *to) {
    (void)fprintf(to, "%-*s  %-*s  ", width, row->name, VERDICT_WIDTH,
                  oracle_verdict_text(row->verdict));
    if (row->reason[0] != '\0')
        (void)fputs(row->reason, to);
    else
        report_put_words(row, to);
    if (row->is_unexpected)
        (void)fputs("  <- unexpected", to);
    if (row->is_more)
        (void)fputs("  <- more than each alone", to);
    (void)fputc('\n', to);
    (void)fflush(to);
}

void report_progress(const struct report_row *row, FILE *to) {
    print_row(row, row_width(row), to);
}

int report_tell(const struct report *report, const struct report_row *row, enum oracle_word word,
                prose_cb each, void *data) {
    struct history shortest;
    int code = shrink(&row->history, report->slack_ms, word, &shortest);

    if (code != 0)
        return code;
    code = prose_tell(&shortest, each, data);
    history_free(&shortest);
    return code;
}

static void on_line(const char *line, void *data) {
    (void)fprintf(data, "    %s\n", line);
}

static int print_finding(const struct report *report, const struct report_row *row,
                         enum oracle_word word, FILE *to) {
    char sentence[PROSE_LINE];

    (void)fprintf(to, "\n%s in %s: %s.\n  %s\n", oracle_word_text(word), row->name,
                  oracle_word_meaning(word),
                  prose_finding(word, &row->oracle.findings[word], sentence, sizeof sentence));
    return report_tell(report, row, word, on_line, to);
}

int report_found(const struct report *report, const struct report_row *row, FILE *to) {
    int code = 0;

    for (int word = 0; word < ORACLE_WORD_COUNT && code == 0; word++)
        if (row->oracle.findings[word].count > 0)
            code = print_finding(report, row, (enum oracle_word)word, to);
    return code;
}

static void print_again(const struct report *report, FILE *to) {
    (void)fprintf(to, "\nThe same faults at the same operations again: --seed %" PRIu64 "\n",
                  report->seed);
}

int report_text(const struct report *report, FILE *to) {
    int width = NAME_WIDTH;
    char caps[LINE_CAPS_TEXT];

    for (size_t i = 0; i < report->count; i++)
        width = width > row_width(&report->rows[i]) ? width : row_width(&report->rows[i]);
    line_caps_text(report->caps, caps, sizeof caps);
    (void)fputs("lockjudge:", to);
    for (size_t i = 0; report->command[i] != NULL; i++)
        (void)fprintf(to, " %s", report->command[i]);
    (void)fprintf(to,
                  "\nTTL %" PRId64 " ms; %u workers; seed %" PRIu64
                  "; the worker says of its lock: %s\n\n%-*s  %-*s  FOUND\n",
                  report->ttl_ms, report->workers, report->seed, caps[0] != '\0' ? caps : "nothing",
                  width, "FAULT", VERDICT_WIDTH, "VERDICT");
    for (size_t i = 0; i < report->count; i++)
        print_row(&report->rows[i], width, to);
    for (int word = 0; word < ORACLE_WORD_COUNT; word++)
        for (size_t i = 0; i < report->count; i++)
            if (report->rows[i].oracle.findings[word].count > 0) {
                if (print_finding(report, &report->rows[i], (enum oracle_word)word, to) != 0)
                    return -1;
                break;
            }
    print_again(report, to);
    return fflush(to) == 0 && !ferror(to) ? 0 : -1;
}
