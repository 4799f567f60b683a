/* What summary.json says of one strategy. */
#include "report_json_internal.h"

#include "capacity.h"
#include "iso_time.h"
#include "json_text.h"

#include <math.h>

static json_t *distribution(const struct histogram *histogram) {
    static const struct {
        const char *name;
        double percent;
    } points[] = {{"p50", 50}, {"p90", 90}, {"p95", 95}, {"p99", 99}, {"p99_9", 99.9}};
    json_t *json =
        json_pack("{s:I, s:o, s:o, s:o}", "count", (json_int_t)histogram->count, "min",
                  json_ms((double)histogram->min), "mean", json_ms(histogram_mean(histogram)),
                  "max", json_ms((double)histogram->max));

    for (size_t i = 0; i < sizeof points / sizeof points[0]; i++)
        json_text_set(&json, points[i].name,
                      json_ms((double)histogram_percentile(histogram, points[i].percent)));
    return json;
}

static json_t *distribution_or_null(const struct histogram *histogram) {
    return histogram->count > 0 ? distribution(histogram) : json_null();
}

static json_t *outcomes(const struct recorder *recorder) {
    json_t *json = json_object();

    for (int i = 0; i < RECORD_OUTCOME_COUNT; i++)
        json_text_set(&json, record_outcome_name((enum record_outcome)i),
                      json_integer((json_int_t)recorder->by_outcome[i]));
    return json;
}

/* Of all rounds; the priority is that of the first. */
static json_t *schedule(const struct round *round, const struct recorder *recorder) {
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
            json_text_append(&examples, json_text(found->example[e]));
        json_text_append(&json,
                         json_pack("{s:s, s:s, s:I, s:o}", "name", anomaly_name((enum anomaly)i),
                                   "text", anomaly_text((enum anomaly)i), "count",
                                   (json_int_t)found->count, "examples", examples));
    }
    return json;
}

static json_t *reasons(const struct verdict *verdict) {
    json_t *json = json_array();

    for (size_t i = 0; i < verdict->reasons; i++)
        json_text_append(&json, json_text(verdict->reason[i]));
    return json;
}

static json_t *as_expected(const struct result *round) {
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

/* ---- more than one round */

static json_t *anomaly_counts(const struct verdict *verdict) {
    json_t *json = json_array();

    for (int i = 0; i < ANOMALY_COUNT; i++)
        if (verdict->found[i].count > 0)
            json_text_append(&json, json_pack("{s:s, s:I}", "name", anomaly_name((enum anomaly)i),
                                              "count", (json_int_t)verdict->found[i].count));
    return json;
}

static json_t *product_ids(const struct round *round) {
    json_t *json = json_array();

    for (size_t i = 0; round->products != NULL && i < round->items; i++)
        if (round->products[i].id[0] != '\0')
            json_text_append(&json, json_string(round->products[i].id));
    return json;
}

static json_t *round_json(const struct report *report, const struct round *round) {
    const struct recorder *recorder = round->recorder;
    char started[ISO_TIME];

    return json_pack(
        "{s:I, s:I, s:s, s:o, s:b, s:b, s:b, s:I, s:I, s:s, s:I, s:I, s:o, s:f, s:o, s:o, s:o}",
        "repeat", (json_int_t)round->repeat + 1, "position",
        (json_int_t)(round - report->rounds) + 1, "started_at",
        iso_time(started, round->started_us), "product_ids", product_ids(round), "is_interrupted",
        round->is_interrupted, "is_aborted", round->is_aborted, "realtime_priority",
        round->is_realtime, "planned", (json_int_t)recorder->planned, "offered",
        (json_int_t)recorder->count, "verdict", verdict_kind_name(round->verdict.kind), "sold",
        (json_int_t)round->verdict.sold, "left", (json_int_t)round->verdict.left, "anomalies",
        anomaly_counts(&round->verdict), "achieved_rate", recorder_rate(recorder), "p50_ms",
        json_ms((double)histogram_percentile(&recorder->latency, 50)), "p99_ms",
        json_ms((double)histogram_percentile(&recorder->latency, 99)), "max_ms",
        json_ms((double)recorder->latency.max));
}

static json_t *rounds_json(const struct report *report, const struct result *result) {
    json_t *json = json_array();

    for (size_t i = 0; i < result->count; i++)
        json_text_append(&json, round_json(report, result->rounds[i]));
    return json;
}

static json_t *one_spread(const struct spread *spread) {
    return json_pack("{s:f, s:f, s:f}", "median", spread->median, "min", spread->min, "max",
                     spread->max);
}

static json_t *spread_json(const struct result *result) {
    return json_pack("{s:o, s:o, s:o}", "p50_ms", one_spread(&result->p50_ms), "p99_ms",
                     one_spread(&result->p99_ms), "achieved_rate", one_spread(&result->rate));
}

/* ---- what an order cost */

static json_t *ratio(uint64_t sum, size_t count) {
    return count > 0 ? json_real((double)sum / (double)count) : json_null();
}

static json_t *work_json(const struct recorder *total) {
    if (total->costed == 0)
        return json_null();
    return json_pack("{s:I, s:o, s:o, s:o, s:o, s:o, s:o}", "replies", (json_int_t)total->costed,
                     "postgres_per_order", ratio(total->postgres, total->costed), "redis_per_order",
                     ratio(total->redis, total->costed), "retries_per_success",
                     ratio(total->retries, total->by_outcome[RECORD_SOLD]), "wait_ms",
                     distribution_or_null(&total->wait), "hold_ms",
                     distribution_or_null(&total->hold), "commit_ms",
                     distribution_or_null(&total->commit));
}

json_t *json_number(double value) {
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *lock_json(const struct capacity *capacity) {
    return json_pack(
        "{s:f, s:i, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:b}",
        "hold_ms", capacity->hold_ms, "lanes", (int)capacity->lanes, "busiest", capacity->busiest,
        "offered_rate", capacity->offered, "duration_s", capacity->duration_s, "ceiling_rate",
        capacity->ceiling, "utilization", capacity->utilization, "backlog", capacity->backlog,
        "longest_wait_s", capacity->longest_wait, "turns_rate", capacity->turns, "sold_rate",
        capacity->sold, "reached", capacity->reached, "wait_p50_ms", capacity->wait_p50_ms,
        "wait_p99_ms", capacity->wait_p99_ms, "handover_ms", capacity->handover_ms,
        "is_handover_slow", capacity->is_handover_slow);
}

static json_t *capacity_json(const struct report *report, const struct result *result) {
    struct capacity capacity;

    capacity_make(result, report->options, &capacity);
    if (capacity.bound == CAPACITY_UNTOLD)
        return json_null();
    return json_pack("{s:s, s:o, s:o, s:o, s:o}", "bound",
                     capacity.bound == CAPACITY_LOCK ? "lock" : "row", "commit_p50_ms",
                     json_number(capacity.commit_p50_ms), "commit_p99_ms",
                     json_number(capacity.commit_p99_ms), "lock",
                     capacity.bound == CAPACITY_LOCK ? lock_json(&capacity) : json_null(),
                     "sentence", json_text(capacity.sentence));
}

/* ---- counterexamples and percentiles */

static json_t *texts(const char *first, size_t size, size_t count) {
    json_t *json = json_array();

    for (size_t i = 0; i < count; i++)
        json_text_append(&json, json_text(first + i * size));
    return json;
}

static json_t *counterexamples(const struct verdict *verdict) {
    json_t *json = json_array();

    for (size_t i = 0; i < verdict->counterexamples; i++) {
        const struct counterexample *one = &verdict->counterexample[i];

        json_text_append(
            &json,
            json_pack("{s:s, s:I, s:I, s:o, s:o, s:o, s:o}", "anomaly", anomaly_name(one->anomaly),
                      "item", (json_int_t)one->item, "shard", (json_int_t)one->shard, "order_ids",
                      texts(one->order_id[0], sizeof one->order_id[0], one->ops), "lines",
                      texts(one->line[0], sizeof one->line[0], one->lines), "from_ms",
                      json_ms((double)one->from_ns), "to_ms", json_ms((double)one->to_ns)));
    }
    return json;
}

#define STEPS_PER_HALF 5 /* points for each halving of what is left up to 100 % */
#define LAST_PERCENT   99.99

static json_t *ladder(const struct histogram *histogram) {
    json_t *json = json_array();

    for (double left = 100; histogram->count > 0; left /= 2)
        for (int step = 0; step < STEPS_PER_HALF; step++) {
            double percent = 100 - left + left / 2 * step / STEPS_PER_HALF;
            double shown = percent < LAST_PERCENT ? percent : LAST_PERCENT;

            json_text_append(&json,
                             json_pack("[f, o]", shown,
                                       json_ms((double)histogram_percentile(histogram, shown))));
            if (percent >= LAST_PERCENT)
                return json;
        }
    return json;
}

static json_t *percentiles(const struct recorder *total) {
    return json_pack("{s:o, s:o}", "response_ms", ladder(&total->latency), "service_ms",
                     ladder(&total->service));
}

/* ---- all of it */

static json_t *measured(const struct report *report, const struct result *result) {
    const struct round *first = result->rounds[0];
    const struct recorder *total = result->total;

    return json_pack(
        "{s:o, s:o, s:s, s:I, s:I, s:f, s:o, s:s, s:o, s:o, s:o, s:o, s:I}", "strategy",
        json_text(first->item->given), "spec", json_text(first->item->spec), "product_id",
        first->products != NULL ? first->products[0].id : "", "offered", (json_int_t)total->count,
        "stock", (json_int_t)report->options->stock, "achieved_rate", recorder_rate(total),
        "outcomes", outcomes(total), "expected", expect_name(result->expectation), "as_expected",
        as_expected(result), "latency_ms", distribution(&total->latency), "service_ms",
        distribution(&total->service), "schedule", schedule(first, total), "late_launches",
        (json_int_t)total->late_launches);
}

static json_t *explained(const struct report *report, const struct result *result) {
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "rounds", rounds_json(report, result),
                     "spread", spread_json(result), "work", work_json(result->total), "capacity",
                     capacity_json(report, result), "counterexamples",
                     counterexamples(&result->verdict), "percentiles", percentiles(result->total));
}

json_t *report_result_json(const struct report *report, const struct result *result) {
    json_t *json = measured(report, result);
    json_t *judged = judgement(&result->verdict), *more = explained(report, result);

    if (json_object_update(json, judged) != 0 || json_object_update(json, more) != 0) {
        json_decref(json);
        json = NULL;
    }
    json_decref(judged);
    json_decref(more);
    return json;
}
