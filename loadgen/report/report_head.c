/* The head and the foot of the report for people: what was asked, and how it ended. */
#include "duration.h"
#include "exit_code.h"
#include "report.h"
#include "table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PUNCTUAL_NS 2000000
#define TEXT        1024

static bool is_set(const char *text) {
    return text != NULL && text[0] != '\0';
}

/* ---- what was asked */

/* "demo: 5 strategies in turn, 3 rounds of each, their order rotated" */
static size_t say_what(const struct summary *summary, char *text) {
    const struct options *options = summary->options;
    size_t used = 0;

    if (is_set(options->name))
        used += (size_t)snprintf(text + used, TEXT - used, "%.100s: ", options->name);
    if (options->list.count > 1)
        used += (size_t)snprintf(text + used, TEXT - used, "%zu strategies in turn, ",
                                 options->list.count);
    if (options->repeat > 1)
        used +=
            (size_t)snprintf(text + used, TEXT - used, "%" PRId64 " rounds%s, ", options->repeat,
                             options->list.count > 1 ? " of each, their order rotated" : "");
    if (options->list.count > 1 || options->repeat > 1)
        used += (size_t)snprintf(text + used, TEXT - used, "each under the same ");
    return used;
}

static void say_load(const struct summary *summary, char *text, size_t used) {
    const struct options *options = summary->options;

    used += (size_t)snprintf(text + used, TEXT - used, "%" PRId64 " requests", options->requests);
    if (is_set(options->stages))
        used += (size_t)snprintf(text + used, TEXT - used, " in stages %.200s", options->stages);
    else
        used += (size_t)snprintf(text + used, TEXT - used, " at %" PRId64 "/s", options->rate);
    used +=
        (size_t)snprintf(text + used, TEXT - used, ", %s, seed %" PRId64,
                         is_set(options->arrival) ? options->arrival : "poisson", options->seed);
    if (is_set(options->dup_rate) && strtod(options->dup_rate, NULL) > 0)
        used += (size_t)snprintf(text + used, TEXT - used, ", %.20s of them sent twice",
                                 options->dup_rate);
    if (options->is_unjudged)
        return;
    used += (size_t)snprintf(text + used, TEXT - used, ", stock %" PRId64, options->stock);
    if (options->items > 1)
        used += (size_t)snprintf(text + used, TEXT - used, " of each of %" PRId64 " products (%s)",
                                 options->items, is_set(options->skew) ? options->skew : "uniform");
    if (is_set(options->work))
        snprintf(text + used, TEXT - used, ", work %.20s", options->work);
}

static void print_what(const struct summary *summary, FILE *to) {
    char text[TEXT];

    say_load(summary, text, say_what(summary, text));
    table_print_wrapped(text, 2, REPORT_COLUMNS, to);
}

/* The worst of all rounds. */
static void print_schedule(const struct summary *summary, FILE *to) {
    double punctual = 1;
    int64_t late_ns = 0;
    uint64_t sent = 0;
    char late[DURATION_TEXT];
    bool is_realtime = true;

    for (size_t i = 0; i < summary->round_count; i++) {
        const struct recorder *recorder = summary->rounds[i].recorder;
        double own = recorder_punctual(recorder, PUNCTUAL_NS);
        int64_t own_ns = histogram_percentile(&recorder->lateness, 99.9);

        sent += recorder->lateness.count;
        is_realtime = is_realtime && summary->rounds[i].is_realtime;
        punctual = recorder->lateness.count > 0 && own < punctual ? own : punctual;
        late_ns = own_ns > late_ns ? own_ns : late_ns;
    }
    if (sent == 0)
        fprintf(to, "schedule: no request was sent\n");
    else
        fprintf(to, "schedule: %.2f %% sent within 2 ms of plan, 99.9 %% within %s%s%s\n",
                100 * punctual, duration_text(late, late_ns),
                is_realtime ? ", with real-time priority" : "",
                summary->round_count > 1 ? " (the worst round)" : "");
}

/* ---- thresholds */

/* An anomaly that was not found by a run that proves nothing may be there all the same. */
static bool is_open(const struct threshold_outcome *outcome) {
    return outcome->holds && threshold_needs_verdict(outcome->threshold) &&
           (outcome->result->verdict.kind == VERDICT_INCONCLUSIVE ||
            outcome->result->verdict.kind == VERDICT_UNJUDGED);
}

static void fill_outcome(const struct threshold_outcome *outcome, struct table_row *row) {
    char value[THRESHOLD_VALUE];

    row->colour[0] = outcome->holds ? TABLE_GREEN : TABLE_RED;
    table_fill(row->cell[0], "  %s", outcome->holds ? "✓ ok" : "✗ MISSED");
    if (is_open(outcome)) {
        row->colour[0] = TABLE_YELLOW;
        table_fill(row->cell[0], "  ? open");
    }
    table_fill(row->cell[1], "%.63s", outcome->result->item->given);
    table_fill(row->cell[2], "%.*s", TABLE_CELL - 1, outcome->threshold->text);
    table_fill(row->cell[3], "%s %s", outcome->result->count > 1 ? "worst round:" : "measured:",
               threshold_value(outcome->threshold, outcome->measured, value));
}

static int print_thresholds(const struct summary *summary, FILE *to) {
    struct table_row *rows;

    if (summary->outcome_count == 0)
        return 0;
    rows = calloc(summary->outcome_count, sizeof *rows);
    if (rows == NULL)
        return -1;
    for (size_t i = 0; i < summary->outcome_count; i++)
        fill_outcome(&summary->outcomes[i], &rows[i]);
    fprintf(to, "thresholds\n");
    table_print(rows, summary->outcome_count, 4, REPORT_COLUMNS, to);
    free(rows);
    fputc('\n', to);
    return 0;
}

/* The round in which it ended before its time. */
static void print_stopped(const struct summary *summary, FILE *to) {
    const struct options *options = summary->options;
    size_t planned = options->list.count * (size_t)(options->repeat > 0 ? options->repeat : 1);
    const struct round *last;

    if (summary->round_count == 0)
        return;
    last = &summary->rounds[summary->round_count - 1];
    if (!summary->is_interrupted &&
        !(options->is_aborting && (summary->round_count < planned || last->is_aborted)))
        return;
    fprintf(to, "stopped by %s in round %zu of %zu, %s\n",
            summary->is_interrupted ? "a signal" : "--abort-on-fail", summary->round_count, planned,
            last->item->given);
}

int report_head(const struct summary *summary, FILE *to) {
    if (print_thresholds(summary, to) != 0)
        return -1;
    print_what(summary, to);
    print_schedule(summary, to);
    print_stopped(summary, to);
    fputc('\n', to);
    return 0;
}

/* ---- how it ended */

static bool is_named(const struct summary *summary, const struct result *result) {
    enum expect_result expected;

    if (result->verdict.kind == VERDICT_UNJUDGED)
        return false;
    expected = expect_hold(result->expectation, &result->verdict);
    return (summary->exit_code == EXIT_UNEXPECTED && expected == EXPECT_FAILED) ||
           (summary->exit_code == EXIT_INCONCLUSIVE && expected == EXPECT_OPEN);
}

/* The strategies that the exit code is about. */
static void say_names(const struct summary *summary, char *text, size_t used) {
    bool is_first = true;

    for (size_t i = 0; i < summary->count && used + STRATEGY_SPEC_SIZE < TEXT; i++) {
        const struct result *result = &summary->results[i];

        if (!is_named(summary, result))
            continue;
        used += (size_t)snprintf(text + used, TEXT - used, "%s%s", is_first ? ": " : ", ",
                                 result->item->given);
        is_first = false;
    }
}

static const char *meaning(const struct summary *summary) {
    switch (summary->exit_code) {
    case EXIT_AS_EXPECTED:
        if (summary->options->is_unjudged)
            return "nothing was judged, as --no-judge asks";
        return summary->outcome_count > 0 ? "each verdict as expected, and every threshold kept"
                                          : "each verdict as expected";
    case EXIT_UNEXPECTED:
        return "a verdict is not the one expected";
    case EXIT_INCONCLUSIVE:
        return "a verdict is open, for the run proves nothing";
    case EXIT_THRESHOLD:
        return "a threshold was missed; each verdict as expected";
    case EXIT_INTERRUPTED:
        return "interrupted; this is what there was until then";
    default:
        return "an internal error";
    }
}

static void print_folder(const char *folder, FILE *to) {
    static const char how[] = " (open it in a browser, or: loadgen serve)";
    char page[1100];
    bool is_short;

    snprintf(page, sizeof page, "%s/report.html", folder);
    is_short = strlen("report:  ") + table_width(page) + strlen(how) <= REPORT_COLUMNS;
    fprintf(to, "results: %s\n", folder);
    if (access(page, R_OK) == 0)
        fprintf(to, "report:  %s%s\n", page, is_short ? how : "");
}

void report_foot(const struct summary *summary, FILE *to) {
    char text[TEXT];
    int used =
        snprintf(text, sizeof text, "exit code %d: %s", summary->exit_code, meaning(summary));

    say_names(summary, text, (size_t)used);
    fputc('\n', to);
    if (summary->folder != NULL)
        print_folder(summary->folder, to);
    table_print_wrapped(text, 2, REPORT_COLUMNS, to);
}
