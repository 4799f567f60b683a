/* The head and the foot of the report for people: what was asked, and how it ended. */
#include "duration.h"
#include "exit_code.h"
#include "recommendation.h"
#include "report.h"
#include "shell_word.h"
#include "table.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PUNCTUAL_NS 2000000
#define TEXT        1024

/* ---- what was asked */

/* "demo: 5 strategies in turn, 3 rounds of each, their order rotated" */
static void say_what(const struct options *options, FILE *text) {
    bool is_one = options->list.count == 1;

    if (options->name[0] != '\0')
        fprintf(text, "%.100s: ", options->name);
    if (!is_one)
        fprintf(text, "%zu strategies in turn, ", options->list.count);
    if (options->repeat > 1)
        fprintf(text, "%" PRId64 " rounds%s, ", options->repeat,
                is_one ? "" : " of each, their order rotated");
    if (!is_one || options->repeat > 1)
        fputs("each under the same ", text);
}

/* ", failing on purpose: redis:kill@2s, after-read:error@9" */
static void say_faults(const char *faults, FILE *text) {
    const char *before = ", failing on purpose: ";

    for (size_t length; *faults != '\0'; faults += length, faults += *faults != '\0') {
        length = strcspn(faults, ",\n");
        fprintf(text, "%s%.*s", before, (int)length, faults);
        before = ", ";
    }
}

static void say_load(const struct options *options, FILE *text) {
    fprintf(text, "%" PRId64 " requests", options->requests);
    if (options->stages[0] != '\0')
        fprintf(text, " in stages %.200s", options->stages);
    else
        fprintf(text, " at %" PRId64 "/s", options->rate);
    fprintf(text, ", %s, seed %" PRId64, options->arrival, options->seed);
    if (strtod(options->dup_rate, NULL) > 0)
        fprintf(text, ", %.20s of them sent twice", options->dup_rate);
    if (options->no_judge)
        return;
    fprintf(text, ", stock %" PRId64, options->stock);
    if (options->items > 1)
        fprintf(text, " of each of %" PRId64 " products (%s)", options->items, options->skew);
    if (options->work[0] != '\0')
        fprintf(text, ", work %.20s", options->work);
    say_faults(options->fault, text);
}

static int print_what(const struct options *options, FILE *to) {
    char *text = NULL;
    size_t size;
    FILE *line = open_memstream(&text, &size);
    int rc;

    if (line == NULL)
        return -1;
    say_what(options, line);
    say_load(options, line);
    rc = fclose(line);
    if (rc == 0)
        table_say(to, 0, "%s", text);
    free(text);
    return rc;
}

/* The worst of all rounds. */
static void print_schedule(const struct summary *summary, FILE *to) {
    double punctual = 1, kept = 1;
    int64_t late_ns = 0;
    uint64_t sent = 0;
    char late[DURATION_TEXT];
    bool is_realtime = true;

    for (size_t i = 0; i < summary->round_count; i++) {
        const struct recorder *recorder = summary->rounds[i].recorder;
        double own = recorder_punctual(recorder, PUNCTUAL_NS);
        double own_kept = recorder_punctual(recorder, VERDICT_LATE_NS);
        int64_t own_ns = histogram_percentile(&recorder->lateness, 99.9);

        sent += recorder->lateness.count;
        is_realtime = is_realtime && summary->rounds[i].is_realtime;
        punctual = recorder->lateness.count > 0 && own < punctual ? own : punctual;
        kept = recorder->lateness.count > 0 && own_kept < kept ? own_kept : kept;
        late_ns = own_ns > late_ns ? own_ns : late_ns;
    }
    if (sent == 0)
        table_say(to, 0, "schedule: no request was sent");
    else
        table_say(to, 0, "schedule: %.2f %% sent within 2 ms of plan, 99.9 %% within %s%s%s",
                  100 * punctual, duration_text(late, late_ns),
                  is_realtime ? ", with real-time priority" : "",
                  summary->round_count > 1 ? " (the worst round)" : "");
    if (kept < VERDICT_PUNCTUAL) /* whatever --late lets pass as a verdict */
        table_say(to, 2,
                  "it was not kept: %.1f %% were sent more than 10 ms late, and the response times "
                  "have this delay of loadgen's own in them",
                  100 * (1 - kept));
}

/* ---- thresholds */

/* An anomaly that was not found by a run that proves nothing may be there all the same. */
static bool report_head_is_open(const struct threshold_outcome *outcome) {
    return outcome->holds && threshold_needs_verdict(outcome->threshold) &&
           (outcome->result->verdict.kind == VERDICT_INCONCLUSIVE ||
            outcome->result->verdict.kind == VERDICT_UNJUDGED);
}

static void fill_outcome(const struct threshold_outcome *outcome, struct table_row *row) {
    char value[THRESHOLD_VALUE];

    row->colour[0] = outcome->holds ? TABLE_GREEN : TABLE_RED;
    table_fill(row->cell[0], "  %s", outcome->holds ? "✓ ok" : "✗ MISSED");
    if (report_head_is_open(outcome)) {
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
    table_print(rows, summary->outcome_count, 4, table_columns(to), to);
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
    assert(last->item != NULL);
    if (!summary->is_interrupted && !summary->is_left_down &&
        !(options->abort_on_fail && (summary->round_count < planned || last->is_aborted)))
        return;
    if (summary->is_left_down && !summary->is_interrupted)
        table_say(
            to, 0,
            "ended after round %zu of %zu, %s: a fault put servers down, they did not come up "
            "again, and the next round could sell nothing. Start them, or name with --stack "
            "the script that does, such as scripts/stack",
            summary->round_count, planned, last->item->given);
    else
        table_say(to, 0, "stopped by %s in round %zu of %zu, %s",
                  summary->is_interrupted ? "a signal" : "--abort-on-fail", summary->round_count,
                  planned, last->item->given);
}

int report_head(const struct summary *summary, FILE *to) {
    if (print_thresholds(summary, to) != 0 || print_what(summary->options, to) != 0)
        return -1;
    print_schedule(summary, to);
    print_stopped(summary, to);
    fputc('\n', to);
    return 0;
}

/* ---- how it ended */

static bool report_head_is_named(const struct summary *summary, const struct result *result) {
    enum expect_result expected = expect_hold(result->expectation, &result->verdict);

    return result->verdict.kind != VERDICT_UNJUDGED &&
           ((summary->exit_code == EXIT_UNEXPECTED && expected == EXPECT_FAILED) ||
            (summary->exit_code == EXIT_INCONCLUSIVE && expected == EXPECT_OPEN));
}

static const char *meaning(const struct summary *summary) {
    switch (summary->exit_code) {
    case EXIT_AS_EXPECTED:
        if (summary->options->no_judge)
            return "nothing was judged, as --no-judge asks";
        return summary->outcome_count > 0 ? "each verdict as expected, and every threshold kept"
                                          : "each verdict as expected";
    case EXIT_UNEXPECTED:
        return "a verdict is not the one expected";
    case EXIT_INCONCLUSIVE:
        return summary->is_left_down ? "a verdict is open or missing, for the run ended early"
                                     : "a verdict is open, for the run proves nothing";
    case EXIT_THRESHOLD:
        return "a threshold was missed; each verdict as expected";
    case EXIT_INTERRUPTED:
        return "interrupted; this is what there was until then";
    default:
        return "an internal error";
    }
}

/* Where `serve` finds it, when that is not where it looks anyway. */
static void print_root(const char *folder, FILE *to) {
    size_t length = strlen(folder);

    while (length > 1 && folder[length - 1] == '/')
        length--;
    while (length > 0 && folder[length - 1] != '/')
        length--;
    if (length == 0) {
        fputs(" .", to);
    } else if (length != strlen("results/") || strncmp(folder, "results/", length) != 0) {
        fputs(folder[0] == '-' ? " ./" : " ", to); /* it is no flag */
        shell_word_print(folder, length, to);
    }
}

static void print_folder(const char *folder, const char *program, FILE *to) {
    char page[1100];

    snprintf(page, sizeof page, "%s/report.html", folder);
    fputs("results: ", to);
    shell_word_print(folder, strlen(folder), to);
    fputc('\n', to);
    if (access(page, R_OK) != 0)
        return;
    fputs("report:  ", to);
    shell_word_print(page, strlen(page), to);
    fputs("\nbrowser: ", to);
    if (strchr(program, '/') == NULL) { /* in the image */
        fputs("docker compose up report\n", to);
        return;
    }
    shell_word_print(program, strlen(program), to);
    fputs(" serve", to);
    print_root(folder, to);
    fputc('\n', to);
}

/* With the strategies that the exit code is about. */
static void print_exit(const struct summary *summary, FILE *to) {
    char text[TEXT];
    int used =
        snprintf(text, sizeof text, "exit code %d: %s", summary->exit_code, meaning(summary));
    const char *before = ": ";

    for (size_t i = 0; i < summary->count && used + STRATEGY_SPEC_SIZE < TEXT; i++) {
        const struct result *result = &summary->results[i];

        if (!report_head_is_named(summary, result))
            continue;
        used += sprintf(text + used, "%s%s", before, result->item->given);
        before = ", ";
    }
    table_say(to, 0, "%s", text);
}

void report_foot(const struct summary *summary, FILE *to) {
    struct recommendation made;

    fputc('\n', to);
    recommendation_make(summary, &made);
    if (made.cheapest != NULL)
        table_say(to, 0, "%s", made.sentence);
    if (summary->folder != NULL)
        print_folder(summary->folder, summary->options->program, to);
    print_exit(summary, to);
}
