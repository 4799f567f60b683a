/* The report for people: a head line, the table, and the evidence below it. */
#include "report.h"
#include "report_table.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define VERDICT_WIDTH 22
#define PUNCTUAL_NS   2000000
#define TEXT_EXAMPLES 1 /* of each anomaly; JSON has more */

double report_rate(const struct recorder *recorder) {
    return recorder->last_ns > 0 ? (double)recorder->answered * 1e9 / (double)recorder->last_ns : 0;
}

const char *report_duration(char text[DURATION_TEXT], int64_t ns) {
    static const struct {
        double ns;
        const char *unit;
    } units[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "µs"}, {1, "ns"}};
    size_t u = 0;
    double value;

    while (u + 1 < sizeof units / sizeof units[0] && (double)ns < units[u].ns * 0.9995)
        u++;
    value = (double)ns / units[u].ns;
    snprintf(text, DURATION_TEXT, "%.*f %s", value < 9.95 && u < 3 ? 1 : 0, value, units[u].unit);
    return text;
}

/* The state and as many anomalies as fit; the others as a number. */
static void fill_verdict(const struct verdict *verdict, char cell[TABLE_CELL]) {
    size_t used, hidden = 0;
    char more[TABLE_CELL];

    snprintf(cell, TABLE_CELL, "%s", verdict_kind_name(verdict->kind));
    for (int i = 0; i < ANOMALY_COUNT; i++) {
        const char *name = anomaly_name((enum anomaly)i);

        if (verdict->found[i].count == 0)
            continue;
        used = strlen(cell);
        if (hidden == 0 && used + 1 + strlen(name) <= VERDICT_WIDTH)
            snprintf(cell + used, TABLE_CELL - used, " %s", name);
        else
            hidden++;
    }
    used = strlen(cell);
    snprintf(more, sizeof more, " +%zu", hidden);
    if (hidden > 0)
        snprintf(cell + used, TABLE_CELL - used, "%s", more);
}

static const char *expected_text(const struct round *round) {
    if (round->verdict.kind == VERDICT_UNJUDGED)
        return "-";
    switch (expect_hold(round->expectation, &round->verdict)) {
    case EXPECT_MET:
        return "yes";
    case EXPECT_FAILED:
        return "no";
    case EXPECT_OPEN:
        break;
    }
    return "-";
}

__attribute__((format(printf, 2, 3))) static void fill(char cell[TABLE_CELL], const char *format,
                                                       ...) {
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(cell, TABLE_CELL, format, arguments);
    va_end(arguments);
}

static void fill_row(const struct report *report, const struct round *round,
                     struct table_row *row) {
    const struct recorder *recorder = round->recorder;
    const struct verdict *verdict = &round->verdict;
    char(*cell)[TABLE_CELL] = row->cell;
    char duration[DURATION_TEXT];

    fill(cell[0], "%.63s", round->item->given);
    fill_verdict(verdict, cell[1]);
    fill(cell[2], "%zu", recorder->count);
    fill(cell[3], "%" PRId64 "/%" PRId64, verdict->sold, report->options->stock);
    fill(cell[4], "%" PRId64, verdict->found[ANOMALY_OVERSELL].count);
    fill(cell[5], "%" PRId64, verdict->found[ANOMALY_TWIN].count);
    fill(cell[6], "%" PRId64, verdict->left);
    fill(cell[7], "%" PRId64, verdict->refused_early);
    fill(cell[8], "%zu", recorder->by_outcome[RECORD_BUSY]);
    fill(cell[9], "%zu", recorder->by_outcome[RECORD_UNKNOWN]);
    fill(cell[10], "%s", report_duration(duration, histogram_percentile(&recorder->latency, 50)));
    fill(cell[11], "%s", report_duration(duration, histogram_percentile(&recorder->latency, 99)));
    fill(cell[12], "%.0f", report_rate(recorder));
    fill(cell[13], "%s", expected_text(round));
}

static void hide_judgement(struct table_row *row) {
    for (int column = 3; column <= 7; column++)
        fill(row->cell[column], "-");
}

static int print_table(const struct report *report, FILE *to) {
    static const struct table_row head = {{"strategy", "verdict", "offered", "sold/stock",
                                           "oversold", "twins", "left", "early", "busy", "unknown",
                                           "p50", "p99", "rate", "expected"}};
    struct table_row *rows = calloc(report->count + 1, sizeof *rows);

    if (rows == NULL)
        return -1;
    rows[0] = head;
    for (size_t i = 0; i < report->count; i++) {
        fill_row(report, &report->rounds[i], &rows[i + 1]);
        if (report->rounds[i].verdict.distinct == 0 && report->rounds[i].verdict.left == 0)
            hide_judgement(&rows[i + 1]);
    }
    table_print(rows, report->count + 1, REPORT_COLUMNS, to);
    free(rows);
    return 0;
}

static void print_legend(const struct report *report, FILE *to) {
    fputc('\n', to);
    if (!report->options->is_unjudged)
        table_print_wrapped(
            "twins: sales of a unit that another order has, too; left: units not sold; early: told "
            "sold out before a later customer got a unit; busy: told that nothing was sold; "
            "unknown: not told.",
            2, REPORT_COLUMNS, to);
    table_print_wrapped("p50, p99: from the planned time of a request to its answer; rate: answers "
                        "per second.",
                        2, REPORT_COLUMNS, to);
    fputc('\n', to);
}

/* The worst of all rounds. */
static void print_schedule(const struct report *report, FILE *to) {
    double punctual = 1;
    int64_t late_ns = 0;
    uint64_t sent = 0;
    char late[DURATION_TEXT];
    bool is_realtime = true;

    for (size_t i = 0; i < report->count; i++) {
        const struct histogram *lateness = &report->rounds[i].recorder->lateness;
        double own = recorder_punctual(report->rounds[i].recorder, PUNCTUAL_NS);
        int64_t own_ns = histogram_percentile(lateness, 99.9);

        sent += lateness->count;
        is_realtime = is_realtime && report->rounds[i].is_realtime;
        punctual = lateness->count > 0 && own < punctual ? own : punctual;
        late_ns = own_ns > late_ns ? own_ns : late_ns;
    }
    if (sent == 0)
        fprintf(to, "schedule: no request was sent\n\n");
    else
        fprintf(to, "schedule: %.2f %% sent within 2 ms of plan, 99.9 %% within %s%s\n\n",
                100 * punctual, report_duration(late, late_ns),
                is_realtime ? ", with real-time priority" : "");
}

static void print_head(const struct report *report, FILE *to) {
    const struct options *options = report->options;
    char text[256];

    snprintf(text, sizeof text,
             "%.100s%s%" PRId64 " requests at %" PRId64 "/s, %s, seed %" PRId64 ", stock %" PRId64,
             options->name, options->name[0] != '\0' ? ": " : "", options->requests, options->rate,
             options->arrival, options->seed, options->stock);
    table_print_wrapped(text, 2, REPORT_COLUMNS, to);
}

static void print_anomalies(const struct round *round, FILE *to) {
    char text[2 * VERDICT_TEXT];

    for (int i = 0; i < ANOMALY_COUNT; i++) {
        const struct anomaly_found *found = &round->verdict.found[i];

        if (found->count == 0)
            continue;
        snprintf(text, sizeof text, "%s: %s, %" PRId64 " times: %s; for example",
                 round->item->given, anomaly_name((enum anomaly)i), found->count,
                 anomaly_text((enum anomaly)i));
        table_print_wrapped(text, 2, REPORT_COLUMNS, to);
        for (size_t e = 0; e < found->examples && e < TEXT_EXAMPLES; e++) {
            fputs("  ", to);
            table_print_wrapped(found->example[e], 4, REPORT_COLUMNS - 2, to);
        }
    }
}

static void print_bound(const struct round *round, FILE *to) {
    const struct verdict *verdict = &round->verdict;
    char text[2 * VERDICT_TEXT];

    if (verdict->overlapping == 0)
        snprintf(text, sizeof text,
                 "%s: no anomaly, and no two attempts overlapped: this says nothing about races",
                 round->item->given);
    else
        snprintf(text, sizeof text,
                 "%s: no anomaly in %" PRId64 " overlapping attempts: their true rate is at most "
                 "about %.2g %% (3/n)",
                 round->item->given, verdict->overlapping,
                 verdict->overlapping > 3 ? 300.0 / (double)verdict->overlapping : 100.0);
    table_print_wrapped(text, 2, REPORT_COLUMNS, to);
}

/* What has no column of its own. */
static void print_others(const struct round *round, FILE *to) {
    static const enum record_outcome others[] = {RECORD_REFUSED, RECORD_FAILED, RECORD_UNREACHED,
                                                 RECORD_UNSENT};

    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        size_t count = round->recorder->by_outcome[others[i]];

        if (count > 0)
            fprintf(to, "%s: %zu requests were %s\n", round->item->name, count,
                    record_outcome_text(others[i]));
    }
}

static void print_round(const struct round *round, FILE *to) {
    char text[2 * VERDICT_TEXT];

    print_others(round, to);
    print_anomalies(round, to);
    if (round->verdict.kind == VERDICT_VIOLATED)
        fprintf(to, "  all of it: psql \"$LOADGEN_INVENTORY_DB\" -v product=%s -f sql/audit.sql\n",
                round->product.id);
    for (size_t i = 0; i < round->verdict.reasons; i++) {
        snprintf(text, sizeof text, "%s: inconclusive: %s", round->item->given,
                 round->verdict.reason[i]);
        table_print_wrapped(text, 2, REPORT_COLUMNS, to);
    }
    if (round->verdict.kind == VERDICT_VALID)
        print_bound(round, to);
}

int report_text(const struct report *report, FILE *to) {
    print_head(report, to);
    print_schedule(report, to);
    if (print_table(report, to) != 0)
        return -1;
    print_legend(report, to);
    for (size_t i = 0; i < report->count; i++)
        print_round(&report->rounds[i], to);
    return fflush(to) == 0 && !ferror(to) ? 0 : -1;
}
