/* The report for programs: everything that was measured, with the settings. */
#include "report.h"

#include <jansson.h>
#include <math.h>
#include <string.h>
#include <time.h>

#define SCHEMA_VERSION 1

/* Milliseconds with three decimals. */
static json_t *ms(double ns) {
    return json_real(round(ns / 1e3) / 1e3);
}

static json_t *distribution(const struct histogram *histogram) {
    static const struct {
        const char *name;
        double percent;
    } points[] = {{"p50", 50}, {"p90", 90}, {"p95", 95}, {"p99", 99}, {"p99_9", 99.9}};
    json_t *json = json_pack("{s:I, s:o, s:o, s:o}", "count", (json_int_t)histogram->count, "min",
                             ms((double)histogram->min), "mean", ms(histogram_mean(histogram)),
                             "max", ms((double)histogram->max));

    for (size_t i = 0; i < sizeof points / sizeof points[0]; i++)
        (void)json_object_set_new(json, points[i].name,
                                  ms((double)histogram_percentile(histogram, points[i].percent)));
    return json;
}

static json_t *outcomes(const struct recorder *recorder) {
    json_t *json = json_object();

    for (int i = 0; i < RECORD_OUTCOME_COUNT; i++)
        (void)json_object_set_new(json, record_outcome_name((enum record_outcome)i),
                                  json_integer((json_int_t)recorder->by_outcome[i]));
    return json;
}

static json_t *schedule(const struct round *round) {
    const struct recorder *recorder = round->recorder;

    return json_pack("{s:b, s:f, s:f, s:f, s:o}", "realtime_priority", round->is_realtime,
                     "within_1ms_percent", 100 * recorder_punctual(recorder, 1000000),
                     "within_2ms_percent", 100 * recorder_punctual(recorder, 2000000),
                     "within_10ms_percent", 100 * recorder_punctual(recorder, VERDICT_LATE_NS),
                     "lateness_ms", distribution(&recorder->lateness));
}

static json_t *anomalies(const struct verdict *verdict) {
    json_t *json = json_array();

    for (int i = 0; i < ANOMALY_COUNT; i++) {
        const struct anomaly_found *found = &verdict->found[i];
        json_t *examples;

        if (found->count == 0)
            continue;
        examples = json_array();
        for (size_t e = 0; e < found->examples; e++)
            (void)json_array_append_new(examples, json_string(found->example[e]));
        (void)json_array_append_new(
            json, json_pack("{s:s, s:s, s:I, s:o}", "name", anomaly_name((enum anomaly)i), "text",
                            anomaly_text((enum anomaly)i), "count", (json_int_t)found->count,
                            "examples", examples));
    }
    return json;
}

static json_t *reasons(const struct verdict *verdict) {
    json_t *json = json_array();

    for (size_t i = 0; i < verdict->reasons; i++)
        (void)json_array_append_new(json, json_string(verdict->reason[i]));
    return json;
}

static const char *expected_name(const struct expectation *expectation) {
    if (expectation->kind == VERDICT_VIOLATED && !expectation->is_any)
        return anomaly_name(expectation->anomaly);
    return verdict_kind_name(expectation->kind);
}

static json_t *as_expected(const struct round *round) {
    if (round->verdict.kind == VERDICT_UNJUDGED)
        return json_null();
    switch (expect_hold(round->expectation, &round->verdict)) {
    case EXPECT_MET:
        return json_true();
    case EXPECT_FAILED:
        return json_false();
    case EXPECT_OPEN:
        break;
    }
    return json_null();
}

static json_t *judgement(const struct verdict *verdict) {
    json_t *bound = verdict->kind == VERDICT_VALID && verdict->overlapping > 0
                        ? json_real(fmin(1, 3.0 / (double)verdict->overlapping))
                        : json_null();

    return json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:o, s:o}",
                     "verdict", verdict_kind_name(verdict->kind), "sold", (json_int_t)verdict->sold,
                     "distinct_units", (json_int_t)verdict->distinct, "oversold",
                     (json_int_t)verdict->found[ANOMALY_OVERSELL].count, "twins",
                     (json_int_t)verdict->found[ANOMALY_TWIN].count, "left",
                     (json_int_t)verdict->left, "refused_early", (json_int_t)verdict->refused_early,
                     "unsettled", (json_int_t)verdict->unsettled, "unknown_sold",
                     (json_int_t)verdict->unknown_sold, "overlapping_attempts",
                     (json_int_t)verdict->overlapping, "overlapping_pairs",
                     (json_int_t)verdict->pairs, "rate_bound", bound, "anomalies",
                     anomalies(verdict), "inconclusive_because", reasons(verdict));
}

static json_t *round_json(const struct report *report, const struct round *round) {
    const struct recorder *recorder = round->recorder;
    json_t *json =
        json_pack("{s:s, s:s, s:s, s:I, s:I, s:f, s:o, s:s, s:o, s:o, s:o, s:o}", "strategy",
                  round->item->given, "spec", round->item->spec, "product_id", round->product.id,
                  "offered", (json_int_t)recorder->count, "stock",
                  (json_int_t)report->options->stock, "achieved_rate", report_rate(recorder),
                  "outcomes", outcomes(recorder), "expected", expected_name(round->expectation),
                  "as_expected", as_expected(round), "latency_ms", distribution(&recorder->latency),
                  "service_ms", distribution(&recorder->service), "schedule", schedule(round));
    json_t *judged = judgement(&round->verdict);

    if (json_object_update(json, judged) != 0) {
        json_decref(json);
        json = NULL;
    }
    json_decref(judged);
    return json;
}

static json_t *settings(const struct options *options) {
    return json_pack("{s:s, s:s, s:I, s:I, s:I, s:s, s:s, s:s, s:I, s:s, s:o, s:o, s:I}", "target",
                     options->target, "path", options->path, "rate", (json_int_t)options->rate,
                     "requests", (json_int_t)options->requests, "stock", (json_int_t)options->stock,
                     "work", options->work, "wait", options->wait, "ttl", options->ttl, "seed",
                     (json_int_t)options->seed, "arrival", options->arrival, "timeout_ms",
                     ms((double)options->timeout_ns), "drain_ms", ms((double)options->drain_ns),
                     "connections", (json_int_t)options->connections);
}

static json_t *started_at(const struct report *report) {
    time_t seconds = (time_t)(report->started_us / 1000000);
    struct tm utc;
    char text[32];

    if (gmtime_r(&seconds, &utc) == NULL)
        return json_null();
    (void)strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
    return json_string(text);
}

/* Out of memory anywhere leaves a NULL that json_pack passes on. */
int report_json(const struct report *report, FILE *to) {
    json_t *rounds = json_array(), *json;
    int rc = 0;

    for (size_t i = 0; i < report->count && rc == 0; i++)
        rc = json_array_append_new(rounds, round_json(report, &report->rounds[i]));
    json =
        json_pack("{s:i, s:s, s:o, s:i, s:o, s:o}", "schema_version", SCHEMA_VERSION, "name",
                  report->options->name, "started_at", started_at(report), "exit_code",
                  report->exit_code, "settings", settings(report->options), "strategies", rounds);
    if (rc == 0)
        rc = json_dumpf(json, to, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
    json_decref(json);
    if (rc != 0)
        return -1;
    fputc('\n', to);
    return fflush(to) == 0 && !ferror(to) ? 0 : -1;
}
