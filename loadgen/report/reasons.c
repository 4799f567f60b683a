/* The reasons of a verdict, in sentences: anomalies with their counterexample, doubts, and counts
 * that have no column. */
#include "reasons.h"

#include "capacity.h"
#include "sentence.h"
#include "shop_lines.h"
#include "table.h"
#include "user_command.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

/* ---- the anomalies */

/* The counterexample to print, or NULL: the first of all counterexamples, one with the chain of
 * events by which two held a lock, or one with writes of the count. */
static const struct counterexample *proof_of(const struct verdict *verdict, enum anomaly anomaly) {
    for (size_t i = 0; i < verdict->counterexamples; i++) {
        const struct counterexample *proof = &verdict->counterexample[i];

        if (proof->anomaly == anomaly && proof->lines > 0 &&
            (i == 0 || proof->has_chain || proof->has_writes))
            return proof;
    }
    return NULL;
}

/* With its counterexample, or else with an example. */
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

/* The product of the printed evidence: the first counterexample's, if there is one. */
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

/* The script knows the stack's databases. Without a script, a program in the PATH is that of the
 * image: compose.yaml knows the databases. Otherwise the environment names them. */
static void print_audit(const char *program, const char *product, FILE *to) {
    fputs("  all of it: ", to);
    if (user_command_is_known(USER_AUDIT)) {
        user_command_print(USER_AUDIT, to);
        fprintf(to, " %s\n", product);
    } else if (strchr(program, '/') == NULL) {
        fprintf(to,
                "docker compose exec postgres psql -U postgres inventory -v product=%s "
                "-f /sql/audit.sql\n",
                product);
    } else {
        fprintf(to, "psql \"$LOADGEN_INVENTORY_DB\" -v product=%s -f sql/audit.sql\n", product);
    }
}

static void print_anomalies(const struct result *result, const struct options *options, FILE *to) {
    const char *product = violated_product(result);

    for (int i = 0; i < ANOMALY_COUNT; i++)
        if (result->verdict.found[i].count > 0)
            print_anomaly(&result->verdict, (enum anomaly)i, to);
    if (result->verdict.kind == VERDICT_VIOLATED && product != NULL && !options->is_load &&
        options->about.name == NULL)
        print_audit(options->program, product, to);
}

/* Each failpoint that was armed, and whether it fired in time. */
static void print_firings(const struct firings *firings, FILE *to) {
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

static void tell_bound(const struct verdict *verdict, char *text, size_t size) {
    const char *end = verdict->has_ended ? "" : "; " VERDICT_NO_END;
    double bound = verdict_rate_bound(verdict);

    assert(verdict->kind == VERDICT_VALID);
    if (bound < 0)
        snprintf(text, size,
                 ": no anomaly, but only %" PRId64 " attempts overlapped, too few to say anything "
                 "about races%s",
                 verdict->overlapping, end);
    else
        snprintf(text, size,
                 ": no anomaly in %" PRId64 " overlapping attempts, so with 95 %% confidence the "
                 "true rate is below %.2g %%%s",
                 verdict->overlapping, 100 * bound, end);
}

/* Counts that have no column. */
static void print_others(const struct result *result, const struct options *options, FILE *to) {
    static const enum record_outcome others[] = {RECORD_REFUSED, RECORD_FAILED, RECORD_UNREACHED,
                                                 RECORD_UNSENT};
    const size_t *by_status = result->total->by_status, *by_outcome = result->total->by_outcome;

    if (options->about.name != NULL) { /* rules read its statuses */
        shop_lines_others(result, to);
        return;
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (by_outcome[others[i]] > 0)
            table_say(to, 2, "%zu requests were %s", by_outcome[others[i]],
                      record_outcome_text(others[i]));
    /* An unusual status shows the mistake, such as a wrong --path. */
    for (int status = 300; status < RECORD_STATUSES; status++)
        if (by_status[status] > 0 && status != 409 && status != 503 && status != 504)
            table_say(to, 2, "POST %s answered %d, %zu time%s", options->path, status,
                      by_status[status], by_status[status] == 1 ? "" : "s");
    if (options->no_judge && options->product != NULL && options->product[0] == '\0' &&
        by_status[400] + by_status[404] > 0) /* not of a history, which has no --product */
        table_say(to, 2,
                  "--no-judge makes no product. Name one with --product (`create` prints "
                  "an id), or with --path an endpoint that needs none");
    if (result->total->late_launches > 0)
        table_say(to, 2,
                  "%zu requests were sent late: %" PRId64 " were in flight, the limit of "
                  "--max-in-flight",
                  result->total->late_launches, options->max_in_flight);
}

/* ": OVERSELL, LEAK" */
static void list_found(const struct verdict *verdict, char *text, size_t size) {
    size_t used = 0;

    for (int i = 0; i < ANOMALY_COUNT && used < size; i++)
        if (verdict->found[i].count > 0)
            used += (size_t)snprintf(text + used, size - used, "%s%s", used == 0 ? ": " : ", ",
                                     anomaly_name((enum anomaly)i));
}

/* ", and VALID was expected" */
static void tell_expected(const struct result *result, char text[EXPECT_MISS + 8]) {
    const struct verdict *verdict = &result->verdict;
    const enum expect_result expected = expect_hold(result->expectation, verdict);
    char miss[EXPECT_MISS];

    if (verdict->kind != VERDICT_UNJUDGED && expected == EXPECT_FAILED)
        snprintf(text, EXPECT_MISS + 8, ", and %s",
                 expect_tell(result->expectation, verdict, miss));
    else if (verdict->kind == VERDICT_VIOLATED && expected == EXPECT_MET)
        snprintf(text, EXPECT_MISS + 8, ", as expected");
}

/* "none: VIOLATED in 2 of 3 rounds, as expected"; "atomic: VALID: no anomaly in ...";
 * "Vendure 3.7.3, 1 process: VIOLATED: OVERSELL, LEAK" */
static void print_title(const struct result *result, const struct options *options, FILE *to) {
    const struct verdict *verdict = &result->verdict;
    size_t same = 0;
    char rounds[64] = "", expectation[EXPECT_MISS + 8] = "", end[256] = "";
    char subject[SENTENCE_SUBJECT];

    for (size_t i = 0; i < result->count; i++)
        same += result->rounds[i]->verdict.kind == verdict->kind;
    if (same < result->count)
        snprintf(rounds, sizeof rounds, " in %zu of %zu rounds", same, result->count);
    if (options_expects(options))
        tell_expected(result, expectation);
    else if (verdict->kind == VERDICT_VIOLATED)
        list_found(verdict, end, sizeof end);
    if (verdict->kind == VERDICT_VALID)
        tell_bound(verdict, end, sizeof end);
    table_say(to, 0, "%s: %s%s%s%s", sentence_subject(result, options, subject),
              verdict_kind_name(verdict->kind), rounds, expectation, end);
}

/* The moments of several machines are intervals. */
static void print_clocks(const struct verdict *verdict, FILE *to) {
    if (verdict->slack_ns > 0)
        table_say(to, 2,
                  "moments are known to ±%.2g ms: %" PRId64 " pairs count as overlapping that may "
                  "not have",
                  (double)verdict->slack_ns / 1e6, verdict->unsure_pairs);
}

void reasons_print(const struct result *result, const struct options *options, FILE *to) {
    const struct verdict *verdict = &result->verdict;
    char asked[SENTENCE_TEXT], not_asked[VERDICT_NOT_ASKED];
    struct capacity capacity;

    capacity_make(result, options, &capacity);
    print_title(result, options, to);
    if (shop_lines_is_one_round(result, options))
        table_say(to, 2, SHOP_LINES_ONE_ROUND);
    if (sentence_asked(verdict, asked) != NULL)
        table_say(to, 2, "asked: %s", asked);
    if (verdict_not_asked(verdict, not_asked) != NULL)
        table_say(to, 2, "not asked: %s", not_asked);
    print_clocks(verdict, to);
    print_firings(&verdict->firings, to);
    print_anomalies(result, options, to);
    for (size_t i = 0; i < verdict->reasons; i++)
        table_say(to, 2, "%s%s", verdict->kind == VERDICT_INCONCLUSIVE ? "" : "and inconclusive: ",
                  verdict->reason[i]);
    if (capacity.sentence[0] != '\0')
        table_say(to, 2, "%s", capacity.sentence);
    print_others(result, options, to);
}
