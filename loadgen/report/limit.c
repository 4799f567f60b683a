/* Finds the metrics of a limit in two summaries, and checks the limit. */
#include "limit.h"

#include "json_text.h"
#include "record.h"
#include "summary_read.h"
#include "table.h"
#include "verdict.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define MS 1e6

/* ---- the value of a metric: NAN when the summary lacks it */

static double number_at(const json_t *strategy, const char *path) {
    const json_t *found = summary_find(strategy, path);

    return json_is_number(found) ? json_number_value(found) : (double)NAN;
}

/* Without any answer all figures of a time are 0. */
static bool has_times(const json_t *strategy, const char *times) {
    const json_t *count = json_object_get(json_object_get(strategy, times), "count");

    return count == NULL || json_number_value(count) > 0;
}

/* A point of the ladder, [percent, ms]. */
static double ladder_at(const json_t *ladder, double percentile) {
    for (size_t i = 0; i < json_array_size(ladder); i++) {
        const json_t *point = json_array_get(ladder, i);

        if (fabs(json_number_value(json_array_get(point, 0)) - percentile) < 1e-9)
            return json_number_value(json_array_get(point, 1));
    }
    return (double)NAN;
}

static double percentile_ms(const struct threshold *limit, const json_t *strategy) {
    const bool is_service = strcmp(limit->metric, "p") != 0;
    char name[40], path[64];
    double ms = (double)NAN;

    if (!has_times(strategy, is_service ? "service_ms" : "latency_ms"))
        return ms;
    snprintf(name, sizeof name, "p%g", limit->percentile);
    if (strchr(name, '.') != NULL) /* p99_9 */
        *strchr(name, '.') = '_';
    snprintf(path, sizeof path, "spread.%s_ms.median", name);
    if (!is_service)
        ms = number_at(strategy, path);
    snprintf(path, sizeof path, "%s.%s", is_service ? "service_ms" : "latency_ms", name);
    if (isnan(ms))
        ms = number_at(strategy, path);
    return isnan(ms) ? ladder_at(summary_find(strategy, is_service ? "percentiles.service_ms"
                                                                   : "percentiles.response_ms"),
                                 limit->percentile)
                     : ms;
}

/* A strategy that was not judged has no counts. */
static double count_anomalies(const struct threshold *limit, const json_t *strategy) {
    const char *verdict = summary_text(strategy, "verdict");
    json_int_t count = 0;

    if (!json_is_array(json_object_get(strategy, "anomalies")) ||
        strcmp(verdict, verdict_kind_name(VERDICT_UNJUDGED)) == 0)
        return (double)NAN;
    for (int i = 0; i < ANOMALY_COUNT; i++)
        if (strcmp(limit->metric, "anomalies") == 0 ||
            strcasecmp(limit->metric, anomaly_name((enum anomaly)i)) == 0)
            count += summary_anomaly_count(strategy, anomaly_name((enum anomaly)i));
    return (double)count;
}

static double count_outcomes(const struct threshold *limit, const json_t *strategy) {
    const double count = number_at(json_object_get(strategy, "outcomes"), limit->metric);

    return limit->is_part ? count / number_at(strategy, "offered") : count;
}

/* The paths of metrics that have one. A rate is a median; in a summary without rounds, the mean. */
static const struct {
    const char *metric, *path, *otherwise;
    double scale;
} paths[] = {{"mean", "latency_ms.mean", NULL, MS},
             {"max", "latency_ms.max", NULL, MS},
             {"rate", "spread.achieved_rate.median", "achieved_rate", 1},
             {"retries", "work.retries_per_success", NULL, 1},
             {"offered", "offered", NULL, 1}};

static bool is_outcome(const char *metric) {
    for (int i = 0; i < RECORD_OUTCOME_COUNT; i++)
        if (strcmp(metric, record_outcome_name((enum record_outcome)i)) == 0)
            return true;
    return false;
}

static double limit_measure(const struct threshold *limit, const json_t *strategy) {
    if (limit->percentile > 0)
        return percentile_ms(limit, strategy) * MS;
    if (strcmp(limit->metric, "late") == 0)
        return 1 - number_at(strategy, "schedule.within_10ms_percent") / 100;
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        double value;

        if (strcmp(limit->metric, paths[i].metric) != 0)
            continue;
        if (paths[i].scale > 1 && !has_times(strategy, "latency_ms"))
            return (double)NAN;
        value = number_at(strategy, paths[i].path);
        if (isnan(value) && paths[i].otherwise != NULL)
            value = number_at(strategy, paths[i].otherwise);
        return value * paths[i].scale;
    }
    return is_outcome(limit->metric) ? count_outcomes(limit, strategy)
                                     : count_anomalies(limit, strategy);
}

/* ---- holding */

/* From 0 to 0 is no change; from 0 to any other value is an infinite change. */
static double ratio_of(double a, double b) {
    if (fabs(a) > 0)
        return (b - a) / a;
    return b > a ? (double)INFINITY : 0;
}

static void limit_hold(struct limit_outcome *outcome) {
    const struct threshold *limit = outcome->limit;
    const double a = outcome->a, b = outcome->b;

    switch (limit->against) {
    case THRESHOLD_ALONE:
        outcome->allowed = limit->value;
        outcome->holds = threshold_keeps(limit, b);
        break;
    case THRESHOLD_DIFFERENCE:
        outcome->allowed = a + limit->value;
        outcome->holds = threshold_keeps(limit, b - a);
        break;
    case THRESHOLD_RATIO:
        outcome->allowed = a * (1 + limit->value);
        outcome->holds = threshold_keeps(limit, ratio_of(a, b));
        break;
    }
}

/* A run that proves nothing may have missed an anomaly. */
static bool is_open(const json_t *strategy) {
    return strcmp(summary_text(strategy, "verdict"), verdict_kind_name(VERDICT_INCONCLUSIVE)) == 0;
}

static int add_outcome(struct limit_outcomes *outcomes, const struct threshold *limit,
                       const char *strategy, const json_t *a, const json_t *b, struct why *why) {
    const bool needs_a = limit->against != THRESHOLD_ALONE;
    struct limit_outcome *outcome = &outcomes->items[outcomes->count];

    *outcome = (struct limit_outcome){.limit = limit,
                                      .strategy = strategy,
                                      .a = needs_a ? limit_measure(limit, a) : (double)NAN,
                                      .b = limit_measure(limit, b)};
    if ((needs_a && isnan(outcome->a)) || isnan(outcome->b)) {
        char percentile[40] = "";

        if (limit->percentile > 0)
            snprintf(percentile, sizeof percentile, "(%g)", limit->percentile);
        return why_set(why, "--limit '%s': the summary.json of %s has no %s%s of %.200s",
                       limit->text, needs_a && isnan(outcome->a) ? "A" : "B", limit->metric,
                       percentile, strategy);
    }
    limit_hold(outcome);
    outcome->is_unproven = outcome->holds && threshold_needs_verdict(limit) && is_open(b);
    outcome->holds = outcome->holds && !outcome->is_unproven;
    outcomes->count++;
    return 0;
}

int limit_outcomes_make(struct limit_outcomes *outcomes, const struct threshold_list *limits,
                        const json_t *a, const json_t *b, struct why *why) {
    const size_t strategies = json_array_size(json_object_get(a, "strategies"));

    outcomes->count = 0;
    outcomes->items = calloc(strategies * limits->count + 1, sizeof *outcomes->items);
    if (outcomes->items == NULL)
        return why_set(why, "out of memory");
    for (size_t i = 0; i < strategies; i++) {
        const json_t *partner = summary_partner(a, i, b);

        for (size_t t = 0; t < limits->count && partner != NULL; t++)
            if (add_outcome(outcomes, &limits->items[t], summary_given(a, i),
                            summary_strategy(a, i), partner, why) != 0)
                return -1;
    }
    return 0;
}

void limit_outcomes_free(struct limit_outcomes *outcomes) {
    free(outcomes->items);
    *outcomes = (struct limit_outcomes){.count = 0};
}

/* ---- telling */

static json_t *number_or_null(double value) {
    return isfinite(value) ? json_real(value) : json_null();
}

json_t *limit_outcomes_json(const struct limit_outcomes *outcomes) {
    json_t *json = json_array();

    for (size_t i = 0; i < outcomes->count; i++) {
        const struct limit_outcome *one = &outcomes->items[i];

        json_text_append(&json, JSON_TEXT_OBJECT({"text", json_text(one->limit->text)},
                                                 {"strategy", json_text(one->strategy)},
                                                 {"a", number_or_null(one->a)},
                                                 {"b", number_or_null(one->b)},
                                                 {"allowed", number_or_null(one->allowed)},
                                                 {"holds", json_boolean(one->holds)}));
    }
    return json;
}

const char *limit_outcome_text(const struct limit_outcome *outcome, char text[LIMIT_TEXT]) {
    char a[THRESHOLD_VALUE], b[THRESHOLD_VALUE], allowed[THRESHOLD_VALUE], by[THRESHOLD_VALUE];
    size_t used = 0;

    assert(!isnan(outcome->b));
    if (!isnan(outcome->a))
        used = (size_t)snprintf(text, LIMIT_TEXT, "A %s, ",
                                threshold_value(outcome->limit, outcome->a, a));
    used += (size_t)snprintf(text + used, LIMIT_TEXT - used, "B %s; limit %s",
                             threshold_value(outcome->limit, outcome->b, b),
                             threshold_value(outcome->limit, outcome->allowed, allowed));
    if (outcome->is_unproven)
        snprintf(text + used, LIMIT_TEXT - used, ", but B proves nothing");
    else if (!outcome->holds && fabs(outcome->b - outcome->allowed) > 0)
        snprintf(text + used, LIMIT_TEXT - used, ", missed by %s",
                 threshold_value(outcome->limit, fabs(outcome->b - outcome->allowed), by));
    return text;
}

void limit_outcomes_print(const struct limit_outcomes *outcomes, FILE *to) {
    char text[LIMIT_TEXT];

    fprintf(to, "limits\n");
    for (size_t i = 0; i < outcomes->count; i++) {
        const struct limit_outcome *one = &outcomes->items[i];

        table_say(to, 2, "%s %.200s, %s: %s", one->holds ? "✓ ok" : "✗ MISSED", one->strategy,
                  one->limit->text, limit_outcome_text(one, text));
    }
}
