/* The report for people: the load, tables with a row for each strategy, the reasons of each
 * verdict, and the exit code. */
#include "report.h"

#include "capacity.h"
#include "duration.h"
#include "exit_code.h"
#include "reasons.h"
#include "recommendation.h"
#include "sentence.h"
#include "shell_word.h"
#include "shop_lines.h"
#include "summary_json.h"
#include "table.h"
#include "user_command.h"

#include <assert.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define VERDICT_WIDTH 22
#define PUNCTUAL_NS   2000000
#define EXIT_TEXT     1024

/* ---- the load */

/* "demo: 5 strategies in turn, 3 rounds of each in rotating order, " */
static void say_what(const struct options *options, FILE *text) {
    bool is_one = options->list.count == 1;

    if (options->name[0] != '\0')
        fprintf(text, "%.100s: ", options->name);
    if (!is_one)
        fprintf(text, "%zu strategies in turn, ", options->list.count);
    if (options->repeat > 1)
        fprintf(text, "%" PRId64 " rounds%s, ", options->repeat,
                is_one ? "" : " of each in rotating order");
    if (!is_one || options->repeat > 1)
        fputs("each under the same ", text);
}

/* ", with faults: redis:kill@2s, after-read:error@9" */
static void say_faults(const char *faults, FILE *text) {
    const char *before = ", with faults: ";

    for (size_t length; *faults != '\0'; faults += length, faults += *faults != '\0') {
        length = strcspn(faults, ",\n");
        fprintf(text, "%s%.*s", before, (int)length, faults);
        before = ", ";
    }
}

static void say_load(const struct options *options, FILE *text) {
    const bool is_shop = options->about.name != NULL;

    fprintf(text, "%" PRId64 " %s", options->requests, is_shop ? "customers" : "requests");
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
    if (is_shop)
        fprintf(text, ", by %.200s", options->about.file);
    else if (options->work[0] != '\0')
        fprintf(text, ", work %.20s", options->work);
    say_faults(options->fault, text);
}

char *report_what(const struct options *options) {
    char *text = NULL;
    size_t size;
    FILE *line = open_memstream(&text, &size);

    if (line == NULL)
        return NULL;
    say_what(options, line);
    if (options->is_load) /* its file tells neither rate nor plan */
        fprintf(line, "%" PRId64 " requests of another program", options->requests);
    else
        say_load(options, line);
    if (fclose(line) == 0)
        return text;
    free(text);
    return NULL;
}

static int print_what(const struct options *options, FILE *to) {
    char *text = report_what(options);

    if (options->about.name != NULL && shop_lines_head(options, to) != 0) {
        free(text);
        return -1;
    }
    if (text != NULL)
        table_say(to, 0, "%s", text);
    free(text);
    return text != NULL ? 0 : -1;
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
    if (kept < VERDICT_PUNCTUAL) /* even if a larger --late gives a verdict */
        table_say(
            to, 2,
            "the schedule was missed: %.1f %% were sent more than 10 ms late, and the response "
            "times include this delay of loadgen",
            100 * (1 - kept));
}

/* ---- thresholds */

static void fill_outcome(const struct threshold_outcome *outcome, struct table_row *row) {
    char value[THRESHOLD_VALUE];

    row->colour[0] = outcome->holds ? TABLE_GREEN : TABLE_RED;
    table_fill(row->cell[0], "  %s", outcome->holds ? "✓ ok" : "✗ MISSED");
    if (threshold_outcome_is_open(outcome)) {
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

/* The round in which the run ended early. */
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
            "ended after round %zu of %zu, %s: servers that a fault stopped did not come up "
            "again, so the next round could sell nothing. Start them, or give --stack the path of "
            "a script that starts them, such as %s",
            summary->round_count, planned, last->item->given, user_command(USER_STACK));
    else
        table_say(to, 0, "stopped by %s in round %zu of %zu, %s",
                  summary->is_interrupted ? "a signal" : "--abort-on-fail", summary->round_count,
                  planned, last->item->given);
}

/* ---- the tables */

/* One of the tables. On a narrow terminal it loses columns in the order of `drop`. */
struct part {
    struct table_row head;
    const char *meanings[TABLE_COLUMNS];
    const unsigned char *drop; /* 0 ends it */
    unsigned quiet;            /* bits of columns that are hidden if every value is 0 */
    size_t left;
    /* Fills the columns with a known value; the others keep their "-". */
    void (*fill)(const struct summary *summary, const struct result *result, struct table_row *row);
    /* Fills a second line with the spread of several rounds; NULL: no such line. */
    void (*spread)(const struct result *result, struct table_row *row);
    /* Prints a remark below the legend; NULL: none. */
    void (*remark)(const struct summary *summary, FILE *to);
};

static int print_part(const struct summary *summary, const struct part *part, FILE *to) {
    const bool is_shop = summary->options->about.name != NULL;
    struct table_row *rows = calloc(2 * summary->count + 1, sizeof *rows);
    const size_t width = table_columns(to);
    const char *note = NULL;
    size_t count = 1;

    if (rows == NULL)
        return -1;
    rows[0] = part->head;
    if (is_shop && strcmp(rows[0].cell[0], "strategy") == 0)
        table_fill(rows[0].cell[0], "shop");
    for (size_t i = 0; i < summary->count; i++) {
        const struct result *result = &summary->results[i];

        table_fill(rows[count].cell[0], "%.63s", result->item->given);
        for (size_t column = 1; part->head.cell[column][0] != '\0'; column++)
            table_fill(rows[count].cell[column], "-");
        part->fill(summary, result, &rows[count++]);
        if (strstr(rows[count - 1].cell[1], " +") != NULL) /* see report_verdict() */
            note = "+N: N more anomalies, told above";
        if (result->count < 2 || part->spread == NULL)
            continue;
        part->spread(result, &rows[count++]);
        note = "counts add up all rounds; p50, p99 and rate are the median of the rounds; below "
               "it stand the lowest and the highest, in the same unit";
    }
    assert(count <= 2 * summary->count + 1);
    for (size_t column = 1; column < TABLE_COLUMNS; column++)
        table_hide_empty(rows, count, column, (part->quiet >> column & 1) != 0);
    table_narrow(rows, count, part->left, width, part->drop);
    table_print(rows, count, part->left, width, to);
    table_print_legend(&rows[0], part->meanings, note, width, to);
    free(rows);
    if (part->remark != NULL)
        part->remark(summary, to);
    fputc('\n', to);
    return 0;
}

/* ---- the verdicts */

const char *report_verdict(const struct verdict *verdict, char text[TABLE_CELL]) {
    size_t used, hidden = 0;

    table_fill(text, "%s", verdict_kind_name(verdict->kind));
    for (int i = 0; i < ANOMALY_COUNT; i++) {
        const char *name = anomaly_name((enum anomaly)i);

        if (verdict->found[i].count == 0)
            continue;
        used = strlen(text);
        if (hidden == 0 && used + 1 + strlen(name) <= VERDICT_WIDTH)
            snprintf(text + used, TABLE_CELL - used, " %s", name);
        else
            hidden++;
    }
    used = strlen(text);
    if (hidden > 0)
        snprintf(text + used, TABLE_CELL - used, " +%zu", hidden);
    return text;
}

static const char *const colours[] = {[VERDICT_VALID] = TABLE_GREEN,
                                      [VERDICT_VIOLATED] = TABLE_RED,
                                      [VERDICT_INCONCLUSIVE] = TABLE_YELLOW,
                                      [VERDICT_UNJUDGED] = NULL};

enum { STRATEGY, VERDICT, SOLD, OVERSOLD, TWINS, LEFT, EARLY, EXPECTED };

static void fill_verdict(const struct summary *summary, const struct result *result,
                         struct table_row *row) {
    const struct verdict *verdict = &result->verdict;
    const enum expect_result expected = expect_hold(result->expectation, verdict);
    const int64_t products = summary->options->items > 0 ? summary->options->items : 1;

    (void)report_verdict(verdict, row->cell[VERDICT]);
    row->colour[VERDICT] = colours[verdict->kind];
    if (verdict->kind != VERDICT_UNJUDGED && expected != EXPECT_OPEN &&
        options_expects(summary->options))
        table_fill(row->cell[EXPECTED], expected == EXPECT_MET ? "yes" : "no");
    row->colour[EXPECTED] = strcmp(row->cell[EXPECTED], "no") == 0 ? TABLE_RED : NULL;
    if (verdict->distinct == 0 && verdict->left == 0) /* no ledger was read */
        return;
    table_fill(row->cell[SOLD], "%lld/%lld", (long long)verdict->sold,
               (long long)(summary->options->stock * products * (int64_t)result->count));
    table_fill(row->cell[OVERSOLD], "%lld", (long long)verdict->found[ANOMALY_OVERSELL].count);
    if (verdict->not_asked[ANOMALY_TWIN] == NULL)
        table_fill(row->cell[TWINS], "%lld", (long long)verdict->found[ANOMALY_TWIN].count);
    table_fill(row->cell[LEFT], "%lld", (long long)verdict->left);
    table_fill(row->cell[EARLY], "%lld", (long long)verdict->refused_early);
}

static const struct part verdicts = {
    .head = {.cell = {"strategy", "verdict", "sold/stock", "oversold", "twins", "left", "early",
                      "expected"}},
    .meanings = {[OVERSOLD] = "oversold: units sold beyond the stock",
                 [TWINS] = "twins: sold although another order has the unit",
                 [LEFT] = "left: units not sold",
                 [EARLY] = "early: told sold out before a later customer got a unit"},
    .drop = (const unsigned char[]){EARLY, LEFT, TWINS, OVERSOLD, EXPECTED, SOLD, 0},
    .quiet = 1U << EARLY,
    .left = 2,
    .fill = fill_verdict};

/* ---- the answers, and their times */

enum { ANSWERS, OFFERED, SOLD_OUT, BUSY, UNKNOWN, P50, P99, RATE };

/* An endpoint that sells nothing is never sold out, but it may be busy. */
static void fill_answers(const struct summary *summary, const struct result *result,
                         struct table_row *row) {
    const struct recorder *total = result->total;
    const size_t busy = total->by_outcome[RECORD_BUSY];
    bool is_judged = result->verdict.kind != VERDICT_UNJUDGED;

    (void)summary;
    table_fill(row->cell[OFFERED], "%zu", total->count);
    if (is_judged)
        table_fill(row->cell[SOLD_OUT], "%zu", total->by_outcome[RECORD_SOLD_OUT]);
    if (is_judged || busy > 0)
        table_fill(row->cell[BUSY], "%zu", busy);
    table_fill(row->cell[UNKNOWN], "%zu", total->by_outcome[RECORD_UNKNOWN]);
    if (total->latency.count == 0) /* stopped before the first answer */
        return;
    (void)duration_ms(row->cell[P50], result->p50_ms.median);
    (void)duration_ms(row->cell[P99], result->p99_ms.median);
    table_fill(row->cell[RATE], "%.0f", result->rate.median);
}

static void fill_spread(const struct result *result, struct table_row *row) {
    const struct spread *p50 = &result->p50_ms, *p99 = &result->p99_ms;

    (void)duration_range(row->cell[P50], p50->median, p50->min, p50->max);
    (void)duration_range(row->cell[P99], p99->median, p99->min, p99->max);
    table_fill(row->cell[RATE], "%.0f–%.0f", result->rate.min, result->rate.max);
}

/* So more answers can be a yes than units were sold. */
static void remark_repeats(const struct summary *summary, FILE *to) {
    const struct recorder *total = summary->count > 0 ? summary->results[0].total : NULL;

    if (total != NULL && total->repeats > 0 && !summary->options->no_judge)
        table_say(to, 2,
                  "%zu of the %zu requests repeat a key: a repeat gets the first yes again, and "
                  "buys no second unit",
                  total->repeats, total->count);
}

static const struct part answers = {
    .head = {.cell = {"answers", "offered", "sold out", "busy", "unknown", "p50", "p99", "rate"}},
    .meanings =
        {[OFFERED] = "offered: requests or orders that were due, with repeats",
         [SOLD_OUT] =
             "sold out, busy: sold nothing, because nothing was left or too many asked at once",
         [UNKNOWN] = "unknown: got neither a yes nor a no",
         [P99] =
             "p50, p99: 50 % and 99 % were answered within this time after their planned moment",
         [RATE] = "rate: answers per second"},
    .drop = (const unsigned char[]){OFFERED, RATE, P50, UNKNOWN, BUSY, SOLD_OUT, P99, 0},
    .quiet = 1U << UNKNOWN,
    .left = 1,
    .fill = fill_answers,
    .spread = fill_spread,
    .remark = remark_repeats};

/* ---- the cost of an order: two strategies may differ in their work */

static void fill_percentile(char cell[TABLE_CELL], const struct histogram *histogram,
                            double percent) {
    if (histogram->count > 0)
        (void)duration_text(cell, histogram_percentile(histogram, percent));
}

static void report_fill_ratio(char cell[TABLE_CELL], uint64_t sum, size_t count) {
    if (count > 0)
        table_fill(cell, "%.1f", (double)sum / (double)count);
}

enum { COST, WAIT_P50, WAIT_P99, HOLD, COMMIT, POSTGRES, REDIS, RETRIES, CEILING, REACHED };

static void fill_cost(const struct summary *summary, const struct result *result,
                      struct table_row *row) {
    const struct recorder *total = result->total;
    char(*cell)[TABLE_CELL] = row->cell;
    struct capacity capacity;

    capacity_make(result, summary->options, &capacity);
    fill_percentile(cell[WAIT_P50], &total->wait, 50);
    fill_percentile(cell[WAIT_P99], &total->wait, 99);
    fill_percentile(cell[HOLD], &total->hold, 50);
    fill_percentile(cell[COMMIT], &total->commit, 50);
    report_fill_ratio(cell[POSTGRES], total->postgres, total->costed);
    report_fill_ratio(cell[REDIS], total->redis, total->costed);
    report_fill_ratio(cell[RETRIES], total->retries,
                      total->costed > 0 ? total->by_outcome[RECORD_SOLD] : 0);
    if (capacity.bound == CAPACITY_LOCK && !capacity.is_overlapping)
        table_fill(cell[CEILING], "%.0f/s", capacity.ceiling);
    if (capacity.bound == CAPACITY_LOCK)
        table_fill(cell[REACHED], "%.0f/s", capacity.turns);
}

static const struct part costs = {
    .head = {.cell = {"cost", "wait p50", "wait p99", "hold p50", "commit p50", "PG", "Redis",
                      "retries", "ceiling", "reached"}},
    .meanings = {[WAIT_P50] = "wait: time until a sale got the lock",
                 [HOLD] = "hold: time that a sale held the lock",
                 [COMMIT] = "commit: time of the statement that sold",
                 [POSTGRES] = "PG, Redis: round trips to Postgres and Redis per answer",
                 [RETRIES] = "retries: further attempts per sale",
                 [CEILING] = "ceiling: most sales a second that such holds allow",
                 [REACHED] = "reached: measured sales a second"},
    .drop = (const unsigned char[]){COMMIT, RETRIES, POSTGRES, REDIS, WAIT_P50, HOLD, REACHED,
                                    CEILING, WAIT_P99, 0},
    .left = 1,
    .fill = fill_cost};

/* ---- the exit code */

static bool is_named(const struct summary *summary, const struct result *result) {
    enum expect_result expected = expect_hold(result->expectation, &result->verdict);

    return result->verdict.kind != VERDICT_UNJUDGED &&
           ((summary->exit_code == EXIT_UNEXPECTED && expected == EXPECT_FAILED) ||
            (summary->exit_code == EXIT_INCONCLUSIVE && expected == EXPECT_OPEN));
}

/* The argument of `serve`: none if the run is in its default folder. */
static void print_root(const char *folder, FILE *to) {
    size_t length = strlen(folder);

    while (length > 1 && folder[length - 1] == '/')
        length--;
    while (length > 0 && folder[length - 1] != '/')
        length--;
    if (length == 0) {
        fputs(" .", to);
    } else if (length != strlen("results/") || strncmp(folder, "results/", length) != 0) {
        fputs(folder[0] == '-' ? " ./" : " ", to); /* or it would be a flag */
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
    if (strchr(program, '/') == NULL && !user_command_is_known(USER_LOADGEN)) { /* in the image */
        fputs("docker compose up report\n", to);
        return;
    }
    shell_word_print(program, strlen(program), to);
    fputs(" serve", to);
    print_root(folder, to);
    fputc('\n', to);
}

/* With the strategies that cause the exit code. */
static void print_exit(const struct summary *summary, FILE *to) {
    char text[EXIT_TEXT];
    int used = snprintf(text, sizeof text, "exit code %d: %s", summary->exit_code,
                        summary_meaning(summary));
    const char *before = ": ";

    for (size_t i = 0; i < summary->count && used + STRATEGY_SPEC_SIZE < EXIT_TEXT; i++) {
        const struct result *result = &summary->results[i];

        if (!is_named(summary, result))
            continue;
        used += sprintf(text + used, "%s%s", before, result->item->given);
        before = ", ";
    }
    table_say(to, 0, "%s", text);
}

/* ---- all of it */

int report_print(const struct summary *summary, FILE *to) {
    char sentence[SENTENCE_TEXT];
    struct recommendation made;
    size_t costed = 0; /* replies with a cost */

    if (strcmp(summary->options->output_format, "json") == 0)
        return summary_json_write(summary, to);
    if (print_what(summary->options, to) != 0)
        return -1;
    if (!summary->options->is_load || summary->rounds[0].recorder->lateness.max > 0)
        print_schedule(summary, to);
    print_stopped(summary, to);
    fputc('\n', to);
    for (size_t i = 0; i < summary->count; i++) {
        table_say(to, 0, "%s", sentence_make(&summary->results[i], summary->options, sentence));
        costed += summary->results[i].total->costed;
    }
    fputc('\n', to);
    if (print_part(summary, &answers, to) != 0 ||
        (costed > 0 && print_part(summary, &costs, to) != 0))
        return -1;
    for (size_t i = 0; i < summary->count; i++)
        if (shop_lines_steps(&summary->results[i], to) != 0)
            return -1;
    for (size_t i = 0; i < summary->count; i++)
        reasons_print(&summary->results[i], summary->options, to);
    fputc('\n', to);
    /* The end stays on the screen: the results and the next steps. */
    if (print_thresholds(summary, to) != 0 || print_part(summary, &verdicts, to) != 0)
        return -1;
    recommendation_make(summary, &made);
    if (made.cheapest != NULL)
        table_say(to, 0, "%s", made.sentence);
    if (summary->folder != NULL)
        print_folder(summary->folder, summary->options->program, to);
    print_exit(summary, to);
    return fflush(to) == 0 && !ferror(to) ? 0 : -1;
}
