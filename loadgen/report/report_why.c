/* Why a strategy has its verdict and its rate: sentences for people. */
#include "capacity.h"
#include "report.h"
#include "shell_word.h"
#include "table.h"

#include <assert.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <string.h>

#define TEXT 1024

__attribute__((format(printf, 2, 3))) static void say(FILE *to, const char *format, ...) {
    char text[TEXT];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    table_print_indented(text, 2, 4, table_columns(to), to);
}

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
    say(to, "%s, %" PRId64 " time%s: %s", anomaly_name(anomaly), found->count,
        found->count == 1 ? "" : "s", anomaly_text(anomaly));
    if (proof != NULL)
        for (size_t i = 0; i < proof->lines; i++)
            table_print_indented(proof->line[i], 4, 6, table_columns(to), to);
    else if (found->examples > 0)
        table_print_indented(found->example[0], 4, 6, table_columns(to), to);
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

static void print_anomalies(const struct result *result, const struct options *options, FILE *to) {
    const char *product = violated_product(result);

    for (int i = 0; i < ANOMALY_COUNT; i++)
        if (result->verdict.found[i].count > 0)
            print_anomaly(&result->verdict, (enum anomaly)i, to);
    if (result->verdict.kind == VERDICT_VIOLATED && product != NULL)
        print_audit(options->program, product, to);
}

/* What was armed, and whether it fired in time. */
static void print_firings(const struct firings *firings, FILE *to) {
    for (size_t i = 0; i < firings->count; i++) {
        const struct firing *firing = &firings->items[i];
        char first[EVENT_TEXT], times[40] = "";

        if (firing->times == 0) {
            say(to, "never fired: %s", firing->what);
            continue;
        }
        event_text(&firing->first, first);
        if (firing->times > 1)
            snprintf(times, sizeof times, ", the first of %" PRId64, firing->times);
        say(to, "fired: %s, %.3f s%s%s", first, (double)firing->first.at_ns / 1e9, times,
            firing->in_time > 0 ? "" : "; too late, nothing was sold after it");
    }
}

static void tell_bound(const struct verdict *verdict, char *text, size_t size) {
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
            say(to, "POST %s answered %d, %zu time%s", path, status, total->by_status[status],
                total->by_status[status] == 1 ? "" : "s");
}

/* What has no column of its own. */
static void print_others(const struct result *result, const struct options *options, FILE *to) {
    static const enum record_outcome others[] = {RECORD_REFUSED, RECORD_FAILED, RECORD_UNREACHED,
                                                 RECORD_UNSENT};

    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        size_t count = result->total->by_outcome[others[i]];

        if (count > 0)
            say(to, "%zu requests were %s", count, record_outcome_text(others[i]));
    }
    print_statuses(result->total, options->path, to);
    if (result->total->late_launches > 0)
        say(to,
            "%zu requests were launched late: %" PRId64 " were in flight, the limit of "
            "--max-in-flight",
            result->total->late_launches, options->max_in_flight);
}

static size_t count_kind(const struct result *result, enum verdict_kind kind) {
    size_t count = 0;

    for (size_t i = 0; i < result->count; i++)
        count += result->rounds[i]->verdict.kind == kind;
    return count;
}

/* "none: VIOLATED in 2 of 3 rounds, as expected"; "atomic: VALID: no anomaly in ..." */
static void print_title(const struct result *result, FILE *to) {
    const struct verdict *verdict = &result->verdict;
    enum expect_result expected = expect_hold(result->expectation, verdict);
    bool is_judged = verdict->kind != VERDICT_UNJUDGED;
    size_t same = count_kind(result, verdict->kind);
    char rounds[64] = "", expectation[EXPECT_MISS + 8] = "", miss[EXPECT_MISS], bound[256] = "",
         text[TEXT];

    if (same < result->count)
        snprintf(rounds, sizeof rounds, " in %zu of %zu rounds", same, result->count);
    if (is_judged && expected == EXPECT_FAILED)
        snprintf(expectation, sizeof expectation, ", and %s",
                 expect_tell(result->expectation, verdict, miss));
    else if (verdict->kind == VERDICT_VIOLATED && expected == EXPECT_MET)
        snprintf(expectation, sizeof expectation, ", as expected");
    if (verdict->kind == VERDICT_VALID)
        tell_bound(verdict, bound, sizeof bound);
    snprintf(text, sizeof text, "%s: %s%s%s%s", result->item->given,
             verdict_kind_name(verdict->kind), rounds, expectation, bound);
    table_print_indented(text, 0, 2, table_columns(to), to);
}

static void print_result(const struct result *result, const struct options *options, FILE *to) {
    const struct verdict *verdict = &result->verdict;
    struct capacity capacity;

    capacity_make(result, options, &capacity);
    print_title(result, to);
    print_firings(&verdict->firings, to);
    print_anomalies(result, options, to);
    for (size_t i = 0; i < verdict->reasons; i++)
        say(to, "%s%s",
            verdict->kind == VERDICT_INCONCLUSIVE ? "" : "and inconclusive: ", verdict->reason[i]);
    if (capacity.sentence[0] != '\0')
        say(to, "%s", capacity.sentence);
    print_others(result, options, to);
}

void report_why(const struct summary *summary, FILE *to) {
    for (size_t i = 0; i < summary->count; i++)
        print_result(&summary->results[i], summary->options, to);
}
