/* The report for people, whole; its own parts are the tables, which have a row for each strategy.
 */
#include "report.h"

#include "capacity.h"
#include "duration.h"
#include "sentence.h"
#include "summary_json.h"
#include "table.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define VERDICT_WIDTH 22

/* One of the tables. Where a line is narrow, columns go in the order of `drop`. */
struct part {
    struct table_row head;
    const char *const *meanings;
    const unsigned char *drop; /* 0 ends it */
    unsigned quiet;            /* columns, as bits, in which 0 says nothing */
    size_t left;
    void (*fill)(const struct summary *summary, const struct result *result, struct table_row *row);
    /* The line below, of several rounds; NULL: none. */
    void (*spread)(const struct result *result, struct table_row *row);
};

static void hide_empty(const struct part *part, struct table_row *rows, size_t count) {
    for (size_t column = 1; column < TABLE_COLUMNS; column++)
        table_hide_empty(rows, count, column, (part->quiet >> column & 1) != 0);
}

static int print_part(const struct summary *summary, const struct part *part, FILE *to) {
    struct table_row *rows = calloc(2 * summary->count + 1, sizeof *rows);
    const size_t width = table_columns(to);
    const char *repeats = NULL;
    size_t count = 1;

    if (rows == NULL)
        return -1;
    rows[0] = part->head;
    for (size_t i = 0; i < summary->count; i++) {
        const struct result *result = &summary->results[i];

        table_fill(rows[count].cell[0], "%.63s", result->item->given);
        part->fill(summary, result, &rows[count++]);
        if (result->count < 2 || part->spread == NULL)
            continue;
        part->spread(result, &rows[count++]);
        repeats = "counts are those of all rounds together; p50, p99 and rate are the median of "
                  "the rounds, and below it, in the same unit, the lowest and the highest";
    }
    assert(count <= 2 * summary->count + 1);
    hide_empty(part, rows, count);
    table_narrow(rows, count, part->left, width, part->drop);
    table_print(rows, count, part->left, width, to);
    table_print_legend(&rows[0], part->meanings, repeats, width, to);
    free(rows);
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

static const char *expected_text(const struct result *result) {
    enum expect_result expected = expect_hold(result->expectation, &result->verdict);

    if (result->verdict.kind == VERDICT_UNJUDGED || expected == EXPECT_OPEN)
        return "-";
    return expected == EXPECT_MET ? "yes" : "no";
}

enum { STRATEGY, VERDICT, SOLD, OVERSOLD, TWINS, LEFT, EARLY, EXPECTED };

static const char *const verdict_meanings[TABLE_COLUMNS] = {
    [OVERSOLD] = "oversold: units sold beyond the stock",
    [TWINS] = "twins: sold although another order has the unit",
    [LEFT] = "left: not sold",
    [EARLY] = "early: told sold out before a later customer got a unit"};

static void fill_counts(const struct summary *summary, const struct result *result,
                        struct table_row *row) {
    const struct verdict *verdict = &result->verdict;
    const int64_t products = summary->options->items > 0 ? summary->options->items : 1;

    if (verdict->distinct == 0 && verdict->left == 0) { /* no ledger was read */
        for (size_t column = SOLD; column <= EARLY; column++)
            table_fill(row->cell[column], "-");
        return;
    }
    table_fill(row->cell[SOLD], "%lld/%lld", (long long)verdict->sold,
               (long long)(summary->options->stock * products * (int64_t)result->count));
    table_fill(row->cell[OVERSOLD], "%lld", (long long)verdict->found[ANOMALY_OVERSELL].count);
    table_fill(row->cell[TWINS], "%lld", (long long)verdict->found[ANOMALY_TWIN].count);
    table_fill(row->cell[LEFT], "%lld", (long long)verdict->left);
    table_fill(row->cell[EARLY], "%lld", (long long)verdict->refused_early);
}

static void fill_verdict(const struct summary *summary, const struct result *result,
                         struct table_row *row) {
    (void)report_verdict(&result->verdict, row->cell[VERDICT]);
    row->colour[VERDICT] = colours[result->verdict.kind];
    fill_counts(summary, result, row);
    table_fill(row->cell[EXPECTED], "%s", expected_text(result));
    row->colour[EXPECTED] = strcmp(row->cell[EXPECTED], "no") == 0 ? TABLE_RED : NULL;
}

static const struct part verdicts = {
    .head = {.cell = {"strategy", "verdict", "sold/stock", "oversold", "twins", "left", "early",
                      "expected"}},
    .meanings = verdict_meanings,
    .drop = (const unsigned char[]){EARLY, LEFT, TWINS, OVERSOLD, EXPECTED, SOLD, 0},
    .quiet = 1U << EARLY,
    .left = 2,
    .fill = fill_verdict};

/* ---- what customers were told, and when */

enum { ANSWERS, OFFERED, SOLD_OUT, BUSY, UNKNOWN, P50, P99, RATE };

static const char *const answer_meanings[TABLE_COLUMNS] = {
    [OFFERED] = "offered: requests that were due, those that ask once more among them",
    [SOLD_OUT] = "sold out, busy: told that nothing was sold, as nothing is left or too many ask",
    [UNKNOWN] = "unknown: not told",
    [P99] = "p50, p99: half, and 99 %, were answered within this time of their planned moment",
    [RATE] = "rate: answers per second"};

static void fill_speed(const struct result *result, struct table_row *row) {
    if (result->total->latency.count == 0) { /* stopped before the first answer */
        for (size_t column = P50; column <= RATE; column++)
            table_fill(row->cell[column], "-");
        return;
    }
    (void)duration_ms(row->cell[P50], result->p50_ms.median);
    (void)duration_ms(row->cell[P99], result->p99_ms.median);
    table_fill(row->cell[RATE], "%.0f", result->rate.median);
}

/* Where nothing is sold, only that a server is busy means something. */
static void fill_answers(const struct summary *summary, const struct result *result,
                         struct table_row *row) {
    const struct recorder *total = result->total;
    const size_t busy = total->by_outcome[RECORD_BUSY];
    bool is_judged = result->verdict.kind != VERDICT_UNJUDGED;

    (void)summary;
    table_fill(row->cell[OFFERED], "%zu", total->count);
    table_fill(row->cell[SOLD_OUT], is_judged ? "%zu" : "-", total->by_outcome[RECORD_SOLD_OUT]);
    table_fill(row->cell[BUSY], is_judged || busy > 0 ? "%zu" : "-", busy);
    table_fill(row->cell[UNKNOWN], "%zu", total->by_outcome[RECORD_UNKNOWN]);
    fill_speed(result, row);
}

static void fill_spread(const struct result *result, struct table_row *row) {
    const struct spread *p50 = &result->p50_ms, *p99 = &result->p99_ms;

    (void)duration_range(row->cell[P50], p50->median, p50->min, p50->max);
    (void)duration_range(row->cell[P99], p99->median, p99->min, p99->max);
    table_fill(row->cell[RATE], "%.0f–%.0f", result->rate.min, result->rate.max);
}

static const struct part answers = {
    .head = {.cell = {"answers", "offered", "sold out", "busy", "unknown", "p50", "p99", "rate"}},
    .meanings = answer_meanings,
    .drop = (const unsigned char[]){OFFERED, RATE, P50, UNKNOWN, BUSY, SOLD_OUT, P99, 0},
    .quiet = 1U << UNKNOWN,
    .left = 1,
    .fill = fill_answers,
    .spread = fill_spread};

/* ---- what an order cost, so that a comparison is not of unequal work */

static void fill_percentile(char cell[TABLE_CELL], const struct histogram *histogram,
                            double percent) {
    if (histogram->count == 0)
        table_fill(cell, "-");
    else
        (void)duration_text(cell, histogram_percentile(histogram, percent));
}

static void fill_ratio(char cell[TABLE_CELL], uint64_t sum, size_t count) {
    if (count == 0)
        table_fill(cell, "-");
    else
        table_fill(cell, "%.1f", (double)sum / (double)count);
}

enum { COST, WAIT_P50, WAIT_P99, HOLD, COMMIT, POSTGRES, REDIS, RETRIES, CEILING, REACHED };

static const char *const cost_meanings[TABLE_COLUMNS] = {
    [WAIT_P50] = "wait: for the lock",
    [HOLD] = "hold: of the lock by those that sold, from winning it to giving it back",
    [COMMIT] = "commit: of the statement that sold",
    [POSTGRES] = "PG, Redis: round trips to Postgres and Redis for each answer",
    [RETRIES] = "retries: further attempts for each sale",
    [CEILING] = "ceiling: sales a second that can take turns at locks held so long",
    [REACHED] = "reached: those that did"};

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
    fill_ratio(cell[POSTGRES], total->postgres, total->costed);
    fill_ratio(cell[REDIS], total->redis, total->costed);
    fill_ratio(cell[RETRIES], total->retries,
               total->costed > 0 ? total->by_outcome[RECORD_SOLD] : 0);
    table_fill(cell[CEILING], "-");
    table_fill(cell[REACHED], "-");
    if (capacity.bound == CAPACITY_LOCK) {
        if (!capacity.is_overlapping)
            table_fill(cell[CEILING], "%.0f/s", capacity.ceiling);
        table_fill(cell[REACHED], "%.0f/s", capacity.turns);
    }
}

static const struct part costs = {
    .head = {.cell = {"cost", "wait p50", "wait p99", "hold p50", "commit p50", "PG", "Redis",
                      "retries", "ceiling", "reached"}},
    .meanings = cost_meanings,
    .drop = (const unsigned char[]){COMMIT, RETRIES, POSTGRES, REDIS, WAIT_P50, HOLD, REACHED,
                                    CEILING, WAIT_P99, 0},
    .left = 1,
    .fill = fill_cost};

static bool is_cost_told(const struct summary *summary) {
    for (size_t i = 0; i < summary->count; i++)
        if (summary->results[i].total->costed > 0)
            return true;
    return false;
}

/* ---- all of it */

static void print_sentences(const struct summary *summary, FILE *to) {
    char sentence[SENTENCE_TEXT];

    for (size_t i = 0; i < summary->count; i++)
        table_print_indented(sentence_make(&summary->results[i], summary->options, sentence), 0, 2,
                             table_columns(to), to);
    fputc('\n', to);
}

static int print_text(const struct summary *summary, FILE *to) {
    if (report_head(summary, to) != 0)
        return -1;
    print_sentences(summary, to);
    if (print_part(summary, &verdicts, to) != 0 || print_part(summary, &answers, to) != 0 ||
        (is_cost_told(summary) && print_part(summary, &costs, to) != 0))
        return -1;
    report_why(summary, to);
    report_foot(summary, to);
    return fflush(to) == 0 && !ferror(to) ? 0 : -1;
}

int report_print(const struct summary *summary, FILE *to) {
    return strcmp(summary->options->output_format, "json") == 0 ? summary_json_write(summary, to)
                                                                : print_text(summary, to);
}
