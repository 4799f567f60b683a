/* The report for people, whole; its own parts are the tables, which have a row for each strategy.
 */
#include "report.h"

#include "capacity.h"
#include "duration.h"
#include "sentence.h"
#include "shell_word.h"
#include "summary_json.h"
#include "table.h"

#include <assert.h>
#include <inttypes.h>
#include <limits.h>
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
    /* What is known; in the other columns stays a "-". */
    void (*fill)(const struct summary *summary, const struct result *result, struct table_row *row);
    /* The line below, of several rounds; NULL: none. */
    void (*spread)(const struct result *result, struct table_row *row);
};

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
        for (size_t column = 1; part->head.cell[column][0] != '\0'; column++)
            table_fill(rows[count].cell[column], "-");
        part->fill(summary, result, &rows[count++]);
        if (result->count < 2 || part->spread == NULL)
            continue;
        part->spread(result, &rows[count++]);
        repeats = "counts are those of all rounds together; p50, p99 and rate are the median of "
                  "the rounds, and below it, in the same unit, the lowest and the highest";
    }
    assert(count <= 2 * summary->count + 1);
    for (size_t column = 1; column < TABLE_COLUMNS; column++)
        table_hide_empty(rows, count, column, (part->quiet >> column & 1) != 0);
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

static void fill_verdict(const struct summary *summary, const struct result *result,
                         struct table_row *row) {
    const struct verdict *verdict = &result->verdict;
    const int64_t products = summary->options->items > 0 ? summary->options->items : 1;

    (void)report_verdict(verdict, row->cell[VERDICT]);
    row->colour[VERDICT] = colours[verdict->kind];
    table_fill(row->cell[EXPECTED], "%s", expected_text(result));
    row->colour[EXPECTED] = strcmp(row->cell[EXPECTED], "no") == 0 ? TABLE_RED : NULL;
    if (verdict->distinct == 0 && verdict->left == 0) /* no ledger was read */
        return;
    table_fill(row->cell[SOLD], "%lld/%lld", (long long)verdict->sold,
               (long long)(summary->options->stock * products * (int64_t)result->count));
    table_fill(row->cell[OVERSOLD], "%lld", (long long)verdict->found[ANOMALY_OVERSELL].count);
    table_fill(row->cell[TWINS], "%lld", (long long)verdict->found[ANOMALY_TWIN].count);
    table_fill(row->cell[LEFT], "%lld", (long long)verdict->left);
    table_fill(row->cell[EARLY], "%lld", (long long)verdict->refused_early);
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

/* Where nothing is sold, only that a server is busy means something. */
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
    if (histogram->count > 0)
        (void)duration_text(cell, histogram_percentile(histogram, percent));
}

static void report_fill_ratio(char cell[TABLE_CELL], uint64_t sum, size_t count) {
    if (count > 0)
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
    .meanings = cost_meanings,
    .drop = (const unsigned char[]){COMMIT, RETRIES, POSTGRES, REDIS, WAIT_P50, HOLD, REACHED,
                                    CEILING, WAIT_P99, 0},
    .left = 1,
    .fill = fill_cost};

/* ---- why a strategy has its verdict and its rate: sentences */

/* The counterexample that is printed: the first of all, and one that tells how two came to hold a
 * lock; or NULL. */
static const struct counterexample *proof_of(const struct verdict *verdict, enum anomaly anomaly) {
    for (size_t i = 0; i < verdict->counterexamples; i++) {
        const struct counterexample *proof = &verdict->counterexample[i];

        if (proof->anomaly == anomaly && proof->lines > 0 && (i == 0 || proof->has_chain))
            return proof;
    }
    return NULL;
}

/* With the smallest counterexample, or an example where there is none. */
static void print_anomaly(const struct verdict *verdict, enum anomaly anomaly, FILE *to) {
    const struct anomaly_found *found = &verdict->found[anomaly];
    const struct counterexample *proof = proof_of(verdict, anomaly);

    assert(found->count > 0 && verdict->kind == VERDICT_VIOLATED);
    table_say(to, 2, "%s, %" PRId64 " time%s: %s", anomaly_name(anomaly), found->count,
              found->count == 1 ? "" : "s", anomaly_text(anomaly));
    if (proof != NULL)
        for (size_t i = 0; i < proof->lines; i++)
            table_say(to, 4, "%s", proof->line[i]);
    else if (found->examples > 0)
        table_say(to, 4, "%s", found->example[0]);
}

/* The product that the printed evidence is of: that of the first counterexample, if there is any.
 */
static const char *violated_product(const struct result *result) {
    for (size_t i = 0; i < result->count; i++) {
        const struct round *round = result->rounds[i];
        const struct verdict *verdict = &round->verdict;
        size_t item = verdict->counterexamples > 0 ? verdict->counterexample[0].item : 0;

        if (verdict->kind == VERDICT_VIOLATED && item < round->items && round->products != NULL &&
            (verdict->counterexamples > 0 || result->verdict.counterexamples == 0))
            return round->products[item].id;
    }
    return NULL;
}

static void print_script(const char *program, size_t folder, const char *product, FILE *to) {
    char script[PATH_MAX];
    const int length = snprintf(script, sizeof script, "%.*saudit", (int)folder, program);

    fputs("  all of it: ", to);
    shell_word_print(script, strnlen(script, (size_t)length), to);
    fprintf(to, " %s\n", product);
}

/* The script knows the databases of the checkout's stack. In the PATH it is in the image alone, of
 * which compose.yaml knows them. Else they are in the environment. */
static void print_audit(const char *program, const char *product, FILE *to) {
    static const char wrapper[] = "scripts/loadgen";
    size_t length = strlen(program), folder = length - strlen("loadgen");

    if (length >= strlen(wrapper) && strcmp(program + length - strlen(wrapper), wrapper) == 0)
        print_script(program, folder, product, to);
    else if (strchr(program, '/') == NULL)
        fprintf(
            to,
            "  all of it: docker compose exec postgres psql -U postgres inventory -v product=%s "
            "-f /sql/audit.sql\n",
            product);
    else
        fprintf(to, "  all of it: psql \"$LOADGEN_INVENTORY_DB\" -v product=%s -f sql/audit.sql\n",
                product);
}

static void report_print_anomalies(const struct result *result, const struct options *options,
                                   FILE *to) {
    const char *product = violated_product(result);

    for (int i = 0; i < ANOMALY_COUNT; i++)
        if (result->verdict.found[i].count > 0)
            print_anomaly(&result->verdict, (enum anomaly)i, to);
    if (result->verdict.kind == VERDICT_VIOLATED && product != NULL)
        print_audit(options->program, product, to);
}

/* What was armed, and whether it fired in time. */
static void report_print_firings(const struct firings *firings, FILE *to) {
    for (size_t i = 0; i < firings->count; i++) {
        const struct firing *firing = &firings->items[i];
        char first[EVENT_TEXT], times[40] = "";

        if (firing->times == 0) {
            table_say(to, 2, "never fired: %s", firing->what);
            continue;
        }
        event_text(&firing->first, first);
        if (firing->times > 1)
            snprintf(times, sizeof times, ", the first of %" PRId64, firing->times);
        table_say(to, 2, "fired: %s, %.3f s%s%s", first, (double)firing->first.at_ns / 1e9, times,
                  firing->in_time > 0 ? "" : "; too late, nothing was sold after it");
    }
}

static void report_tell_bound(const struct verdict *verdict, char *text, size_t size) {
    const char *end = verdict->has_ended ? "" : "; " VERDICT_NO_END;
    double bound = verdict_rate_bound(verdict);

    assert(verdict->kind == VERDICT_VALID);
    if (bound < 0)
        snprintf(text, size,
                 ": no anomaly, but only %" PRId64 " attempts overlapped, which says nothing of "
                 "races%s",
                 verdict->overlapping, end);
    else
        snprintf(text, size,
                 ": no anomaly in %" PRId64 " overlapping attempts, so their true rate is at most "
                 "about %.2g %% (3/n)%s",
                 verdict->overlapping, 100 * bound, end);
}

/* A status that no order service should give names what is wrong, such as the --path. */
static void print_statuses(const struct recorder *total, const char *path, FILE *to) {
    for (int status = 300; status < RECORD_STATUSES; status++)
        if (total->by_status[status] > 0 && status != 409 && status != 503 && status != 504)
            table_say(to, 2, "POST %s answered %d, %zu time%s", path, status,
                      total->by_status[status], total->by_status[status] == 1 ? "" : "s");
}

/* What has no column of its own. */
static void report_print_others(const struct result *result, const struct options *options,
                                FILE *to) {
    static const enum record_outcome others[] = {RECORD_REFUSED, RECORD_FAILED, RECORD_UNREACHED,
                                                 RECORD_UNSENT};

    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        size_t count = result->total->by_outcome[others[i]];

        if (count > 0)
            table_say(to, 2, "%zu requests were %s", count, record_outcome_text(others[i]));
    }
    print_statuses(result->total, options->path, to);
    if (result->total->late_launches > 0)
        table_say(to, 2,
                  "%zu requests were launched late: %" PRId64 " were in flight, the limit of "
                  "--max-in-flight",
                  result->total->late_launches, options->max_in_flight);
}

/* "none: VIOLATED in 2 of 3 rounds, as expected"; "atomic: VALID: no anomaly in ..." */
static void report_print_title(const struct result *result, FILE *to) {
    const struct verdict *verdict = &result->verdict;
    enum expect_result expected = expect_hold(result->expectation, verdict);
    bool is_judged = verdict->kind != VERDICT_UNJUDGED;
    size_t same = 0;
    char rounds[64] = "", expectation[EXPECT_MISS + 8] = "", miss[EXPECT_MISS], bound[256] = "";

    for (size_t i = 0; i < result->count; i++)
        same += result->rounds[i]->verdict.kind == verdict->kind;
    if (same < result->count)
        snprintf(rounds, sizeof rounds, " in %zu of %zu rounds", same, result->count);
    if (is_judged && expected == EXPECT_FAILED)
        snprintf(expectation, sizeof expectation, ", and %s",
                 expect_tell(result->expectation, verdict, miss));
    else if (verdict->kind == VERDICT_VIOLATED && expected == EXPECT_MET)
        snprintf(expectation, sizeof expectation, ", as expected");
    if (verdict->kind == VERDICT_VALID)
        report_tell_bound(verdict, bound, sizeof bound);
    table_say(to, 0, "%s: %s%s%s%s", result->item->given, verdict_kind_name(verdict->kind), rounds,
              expectation, bound);
}

static void print_result(const struct result *result, const struct options *options, FILE *to) {
    const struct verdict *verdict = &result->verdict;
    struct capacity capacity;

    capacity_make(result, options, &capacity);
    report_print_title(result, to);
    report_print_firings(&verdict->firings, to);
    report_print_anomalies(result, options, to);
    for (size_t i = 0; i < verdict->reasons; i++)
        table_say(to, 2, "%s%s", verdict->kind == VERDICT_INCONCLUSIVE ? "" : "and inconclusive: ",
                  verdict->reason[i]);
    if (capacity.sentence[0] != '\0')
        table_say(to, 2, "%s", capacity.sentence);
    report_print_others(result, options, to);
}

/* ---- all of it */

int report_print(const struct summary *summary, FILE *to) {
    char sentence[SENTENCE_TEXT];
    size_t costed = 0; /* replies that told their cost */

    if (strcmp(summary->options->output_format, "json") == 0)
        return summary_json_write(summary, to);
    if (report_head(summary, to) != 0)
        return -1;
    for (size_t i = 0; i < summary->count; i++) {
        table_say(to, 0, "%s", sentence_make(&summary->results[i], summary->options, sentence));
        costed += summary->results[i].total->costed;
    }
    fputc('\n', to);
    if (print_part(summary, &verdicts, to) != 0 || print_part(summary, &answers, to) != 0 ||
        (costed > 0 && print_part(summary, &costs, to) != 0))
        return -1;
    for (size_t i = 0; i < summary->count; i++)
        print_result(&summary->results[i], summary->options, to);
    report_foot(summary, to);
    return fflush(to) == 0 && !ferror(to) ? 0 : -1;
}
