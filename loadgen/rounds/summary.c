/* Adds up the rounds of each strategy, compares them with thresholds and expectations, and chooses
 * the exit code. */
#include "summary.h"

#include "exit_code.h"
#include "number.h"
#include "steps.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- counts and histograms */

/* The times of the last reply and the last sale also add up, so the rates of the total are means
 * over the time of all rounds. */
static void add_recorder(struct recorder *total, const struct recorder *round) {
    assert(total != round && total->records == NULL);
    total->count += round->count;
    total->planned += round->planned;
    total->ended += round->ended;
    total->answered += round->answered;
    total->last_ns += round->last_ns;
    total->sold_ns += round->sold_ns;
    total->late_launches += round->late_launches;
    total->repeats += round->repeats;
    total->sold_again += round->sold_again;
    for (size_t i = 0; i < RECORD_OUTCOME_COUNT; i++)
        total->by_outcome[i] += round->by_outcome[i];
    for (size_t i = 0; i < RECORD_STATUSES; i++)
        total->by_status[i] += round->by_status[i];
    histogram_add(&total->latency, &round->latency);
    histogram_add(&total->service, &round->service);
    histogram_add(&total->lateness, &round->lateness);
    histogram_add(&total->wait, &round->wait);
    histogram_add(&total->hold, &round->hold);
    total->unsold_hold_ns += round->unsold_hold_ns;
    total->unsold_holds += round->unsold_holds;
    histogram_add(&total->commit, &round->commit);
    total->postgres += round->postgres;
    total->redis += round->redis;
    total->retries += round->retries;
    total->costed += round->costed;
    for (size_t i = 0; i < RECORD_LOCK_COUNT; i++)
        total->locks[i] += round->locks[i];
    if (round->shards > total->shards)
        total->shards = round->shards;
    for (size_t i = 0; i < round->instance_count; i++)
        (void)recorder_instance(total, round->instances[i]);
}

/* ---- verdicts */

static bool summary_is_worse(enum verdict_kind one, enum verdict_kind other) {
    static const int badness[] = {[VERDICT_VALID] = 0,
                                  [VERDICT_UNJUDGED] = 1,
                                  [VERDICT_INCONCLUSIVE] = 2,
                                  [VERDICT_VIOLATED] = 3};

    return badness[one] > badness[other];
}

static void add_found(struct anomaly_found *total, const struct anomaly_found *round) {
    assert(round->examples <= VERDICT_EXAMPLES);
    assert((round->examples > 0) <= (round->count > 0));
    total->count += round->count;
    for (size_t i = 0; i < round->examples && total->examples < VERDICT_EXAMPLES; i++)
        memcpy(total->example[total->examples++], round->example[i], sizeof round->example[i]);
}

/* Whether the reasons differ at most in their figures. */
static bool is_same_reason(const char *a, const char *b) {
    static const char figures[] = "0123456789.";

    for (;;) {
        a += strspn(a, figures);
        b += strspn(b, figures);
        if (*a != *b || *a == '\0')
            return *a == *b;
        a++;
        b++;
    }
}

/* Adds each reason once, with the figures of its first round. */
static void add_reasons(struct verdict *total, const struct verdict *round) {
    for (size_t i = 0; i < round->reasons; i++) {
        bool is_known = false;

        for (size_t known = 0; known < total->reasons; known++)
            is_known = is_known || is_same_reason(total->reason[known], round->reason[i]);
        if (!is_known && total->reasons < VERDICT_REASONS)
            memcpy(total->reason[total->reasons++], round->reason[i], sizeof round->reason[i]);
    }
}

static bool has_counterexample_of(const struct verdict *verdict, enum anomaly anomaly) {
    for (size_t i = 0; i < verdict->counterexamples; i++)
        if (verdict->counterexample[i].anomaly == anomaly)
            return true;
    return false;
}

static void add_verdict(struct verdict *total, const struct verdict *round) {
    if (summary_is_worse(round->kind, total->kind))
        total->kind = round->kind;
    for (int i = 0; i < ANOMALY_COUNT; i++)
        add_found(&total->found[i], &round->found[i]);
    add_reasons(total, round);
    total->sold += round->sold;
    total->distinct += round->distinct;
    total->left += round->left;
    total->refused_early += round->refused_early;
    total->unsettled += round->unsettled;
    total->unknown_sold += round->unknown_sold;
    total->pairs += round->pairs;
    total->overlapping += round->overlapping;
    total->unsure_pairs += round->unsure_pairs;
    total->slack_ns = number_max(total->slack_ns, round->slack_ns);
    firings_add(&total->firings, &round->firings);
    total->has_ended = total->has_ended || round->has_ended;
    for (int i = 0; i < ANOMALY_COUNT; i++)
        if (total->not_asked[i] == NULL)
            total->not_asked[i] = round->not_asked[i];
}

/* Takes first one of each anomaly, in the order of the rounds, and then others as room allows. */
static void add_counterexamples(struct result *result) {
    bool is_taken[RESULT_ROUNDS][VERDICT_COUNTEREXAMPLES] = {{false}};
    struct verdict *total = &result->verdict;

    for (int pass = 0; pass < 2; pass++)
        for (size_t r = 0; r < result->count; r++) {
            const struct verdict *round = &result->rounds[r]->verdict;

            assert(round->counterexamples <= VERDICT_COUNTEREXAMPLES);
            for (size_t i = 0; i < round->counterexamples; i++) {
                const struct counterexample *next = &round->counterexample[i];

                if (total->counterexamples == VERDICT_COUNTEREXAMPLES || is_taken[r][i] ||
                    (pass == 0 && has_counterexample_of(total, next->anomaly)))
                    continue;
                total->counterexample[total->counterexamples++] = *next;
                is_taken[r][i] = true;
            }
        }
}

/* ---- the spread of the rounds */

static int summary_compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static struct spread spread_of(double *values, size_t count) {
    if (count == 0)
        return (struct spread){0, 0, 0};
    qsort(values, count, sizeof values[0], summary_compare);
    return (struct spread){.median = (values[(count - 1) / 2] + values[count / 2]) / 2,
                           .min = values[0],
                           .max = values[count - 1]};
}

/* A round without any answer has no latency to compare. */
static void spread_rounds(struct result *result) {
    double p50[RESULT_ROUNDS], p99[RESULT_ROUNDS], rate[RESULT_ROUNDS];
    size_t count = 0;

    for (size_t i = 0; i < result->count; i++) {
        const struct recorder *recorder = result->rounds[i]->recorder;

        if (recorder->latency.count == 0)
            continue;
        p50[count] = (double)histogram_percentile(&recorder->latency, 50) / 1e6;
        p99[count] = (double)histogram_percentile(&recorder->latency, 99) / 1e6;
        rate[count++] = recorder_rate(recorder);
    }
    result->p50_ms = spread_of(p50, count);
    result->p99_ms = spread_of(p99, count);
    result->rate = spread_of(rate, count);
}

static int result_make(struct result *result, const struct round *rounds, size_t count,
                       size_t strategy, const struct expectation *expectation) {
    memset(result, 0, sizeof *result);
    result->expectation = expectation;
    for (size_t i = 0; i < count && result->count < RESULT_ROUNDS; i++)
        if (rounds[i].strategy == strategy)
            result->rounds[result->count++] = &rounds[i];
    if (result->count == 0)
        return 0;
    result->item = result->rounds[0]->item;
    assert(result->item != NULL);
    result->total = recorder_make(0);
    if (result->total == NULL)
        return -1;
    recorder_forget(result->total);
    for (size_t i = 0; i < result->count; i++) {
        add_recorder(result->total, result->rounds[i]->recorder);
        add_verdict(&result->verdict, &result->rounds[i]->verdict);
    }
    add_counterexamples(result);
    spread_rounds(result);
    result->steps = steps_sum(result->rounds, result->count);
    return 0;
}

/* ---- thresholds */

/* The larger, the nearer to a miss (or the worse a miss) is a measured `value`. */
static double weight(const struct threshold *threshold, double value) {
    switch (threshold->op) {
    case THRESHOLD_LT:
    case THRESHOLD_LE:
        return value;
    case THRESHOLD_GT:
    case THRESHOLD_GE:
        return -value;
    case THRESHOLD_EQ:
        return fabs(value - threshold->value);
    case THRESHOLD_NE:
        break;
    }
    return -fabs(value - threshold->value);
}

static bool result_holds(const struct result *result, const struct threshold *threshold,
                         double *measured) {
    bool holds = true;

    assert(result->count > 0);
    *measured = 0;
    for (size_t i = 0; i < result->count; i++) {
        const struct round *round = result->rounds[i];
        double own;
        bool own_holds = threshold_holds(threshold, round->recorder, &round->verdict, &own);

        if (i == 0 || (holds && !own_holds) ||
            (holds == own_holds && weight(threshold, own) > weight(threshold, *measured)))
            *measured = own;
        holds = holds && own_holds;
    }
    return holds;
}

/* ---- the whole summary */

static int exit_of_verdicts(const struct summary *summary) {
    int exit_code = EXIT_AS_EXPECTED;

    for (size_t i = 0; i < summary->count; i++) {
        const struct result *result = &summary->results[i];
        enum expect_result expected = expect_hold(result->expectation, &result->verdict);

        if (result->verdict.kind == VERDICT_UNJUDGED)
            continue;
        if (expected == EXPECT_FAILED)
            return EXIT_UNEXPECTED;
        if (expected == EXPECT_OPEN)
            exit_code = EXIT_INCONCLUSIVE;
    }
    return exit_code;
}

/* The worst code wins. An interrupted run proves nothing; so does a run without all of its rounds.
 * A threshold counts only if every verdict is as expected. */
static int exit_of(const struct summary *summary) {
    int exit_code = summary->is_interrupted ? EXIT_INTERRUPTED : exit_of_verdicts(summary);

    if (exit_code == EXIT_AS_EXPECTED && summary->is_left_down)
        exit_code = EXIT_INCONCLUSIVE;
    for (size_t i = 0; i < summary->outcome_count && exit_code == EXIT_AS_EXPECTED; i++)
        if (!summary->outcomes[i].holds)
            exit_code = EXIT_THRESHOLD;
    return exit_code;
}

static void hold_thresholds(struct summary *summary) {
    const struct threshold_list *list = &summary->options->threshold_list;

    for (size_t i = 0; i < summary->count; i++)
        for (size_t t = 0; t < list->count; t++) {
            struct threshold_outcome *outcome = &summary->outcomes[summary->outcome_count++];

            outcome->threshold = &list->items[t];
            outcome->result = &summary->results[i];
            outcome->holds =
                result_holds(&summary->results[i], outcome->threshold, &outcome->measured);
        }
}

static int summary_add_up(struct summary *summary) {
    const struct options *options = summary->options;

    for (size_t i = 0; i < options->list.count; i++) {
        struct result *result = &summary->results[summary->count];

        if (result_make(result, summary->rounds, summary->round_count, i,
                        &options->expectations[i]) != 0)
            return -1;
        summary->count += result->count > 0;
    }
    return 0;
}

int summary_make(struct summary *summary, const struct options *options, const struct round *rounds,
                 size_t count) {
    size_t strategies = options->list.count;

    *summary = (struct summary){.options = options, .rounds = rounds, .round_count = count};
    assert(strategies <= STRATEGY_LIST_MAX && options->threshold_list.count <= THRESHOLDS_MAX);
    summary->results = calloc(strategies + 1, sizeof *summary->results);
    summary->outcomes = calloc(strategies * THRESHOLDS_MAX + 1, sizeof *summary->outcomes);
    if (summary->results == NULL || summary->outcomes == NULL || summary_add_up(summary) != 0)
        return -1;
    for (size_t i = 0; i < count; i++) {
        summary->is_interrupted = summary->is_interrupted || rounds[i].is_interrupted;
        summary->is_left_down = summary->is_left_down || rounds[i].is_left_down;
    }
    hold_thresholds(summary);
    assert(summary->outcome_count == summary->count * options->threshold_list.count);
    summary->exit_code = exit_of(summary);
    return 0;
}

/* A run that proves nothing may have missed an anomaly. */
bool threshold_outcome_is_open(const struct threshold_outcome *outcome) {
    const enum verdict_kind kind = outcome->result->verdict.kind;

    return outcome->holds && threshold_needs_verdict(outcome->threshold) &&
           (kind == VERDICT_INCONCLUSIVE || kind == VERDICT_UNJUDGED);
}

/* Of a shop without --expect, for exit codes that depend on its verdict; else NULL. */
static const char *meaning_of_shop(const struct summary *summary) {
    if (options_expects(summary->options) || summary->options->no_judge)
        return NULL;
    switch (summary->exit_code) {
    case EXIT_AS_EXPECTED:
        return summary->outcome_count > 0 ? "no anomaly was found, and every threshold kept"
                                          : "no anomaly was found";
    case EXIT_UNEXPECTED:
        return "anomalies were found";
    case EXIT_THRESHOLD:
        return "a threshold was missed; no anomaly was found";
    default:
        return NULL;
    }
}

const char *summary_meaning(const struct summary *summary) {
    const char *of_shop = meaning_of_shop(summary);

    if (of_shop != NULL)
        return of_shop;
    switch (summary->exit_code) {
    case EXIT_AS_EXPECTED:
        if (summary->options->no_judge)
            return "nothing was judged, because of --no-judge";
        return summary->outcome_count > 0 ? "each verdict is as expected, and every threshold kept"
                                          : "each verdict is as expected";
    case EXIT_UNEXPECTED:
        return "a verdict is not as expected";
    case EXIT_INCONCLUSIVE:
        return summary->is_left_down ? "a verdict is open or missing, because the run ended early"
                                     : "a verdict is open, because the run proves nothing";
    case EXIT_THRESHOLD:
        return "a threshold was missed; each verdict is as expected";
    case EXIT_INTERRUPTED:
        return summary->round_count > 0 ? "interrupted; the report covers the time until then"
                                        : "interrupted";
    case EXIT_UNREACHABLE:
        return "the target or a database was not reached";
    case EXIT_USAGE:
        return "bad usage";
    case EXIT_NO_INPUT:
        return "a results folder does not exist, cannot be read, or lacks a metric";
    default:
        return "an internal error";
    }
}

void summary_free(struct summary *summary) {
    for (size_t i = 0; i < summary->count; i++) {
        recorder_free(summary->results[i].total);
        json_decref(summary->results[i].steps);
    }
    free(summary->results);
    free(summary->outcomes);
    *summary = (struct summary){.count = 0};
}
