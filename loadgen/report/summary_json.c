/* The report for programs: all measurements, with the settings. */
#include "summary_json.h"

#include "capacity.h"
#include "json_text.h"
#include "options.h"
#include "recommendation.h"
#include "sentence.h"

#include <assert.h>
#include <math.h>

static json_t *count_json(size_t count) {
    return json_integer((json_int_t)count);
}

/* ---- measurements */

static json_t *percentile_ms(const struct histogram *histogram, double percent) {
    return json_ms((double)histogram_percentile(histogram, percent));
}

static json_t *distribution(const struct histogram *histogram) {
    return JSON_TEXT_OBJECT(
        {"count", json_integer((json_int_t)histogram->count)},
        {"min", json_ms((double)histogram->min)}, {"mean", json_ms(histogram_mean(histogram))},
        {"max", json_ms((double)histogram->max)}, {"p50", percentile_ms(histogram, 50)},
        {"p90", percentile_ms(histogram, 90)}, {"p95", percentile_ms(histogram, 95)},
        {"p99", percentile_ms(histogram, 99)}, {"p99_9", percentile_ms(histogram, 99.9)});
}

static json_t *distribution_or_null(const struct histogram *histogram) {
    return histogram->count > 0 ? distribution(histogram) : json_null();
}

static json_t *summary_json_outcomes(const struct recorder *recorder) {
    json_t *json = json_object();

    for (int i = 0; i < RECORD_OUTCOME_COUNT; i++)
        json_text_set(&json, record_outcome_name((enum record_outcome)i),
                      count_json(recorder->by_outcome[i]));
    return json;
}

/* The figures are of all rounds, the priority is of the first. */
static json_t *schedule(const struct round *round, const struct recorder *total) {
    return JSON_TEXT_OBJECT(
        {"realtime_priority", json_boolean(round->is_realtime)},
        {"within_1ms_percent", json_real(100 * recorder_punctual(total, 1000000))},
        {"within_2ms_percent", json_real(100 * recorder_punctual(total, 2000000))},
        {"within_10ms_percent", json_real(100 * recorder_punctual(total, VERDICT_LATE_NS))},
        {"lateness_ms", distribution(&total->lateness)});
}

/* ---- the judgement */

static json_t *anomalies(const struct verdict *verdict) {
    json_t *json = json_array();

    for (int i = 0; i < ANOMALY_COUNT; i++) {
        const struct anomaly_found *found = &verdict->found[i];

        if (found->count > 0)
            json_text_append(&json,
                             JSON_TEXT_OBJECT({"name", json_string(anomaly_name((enum anomaly)i))},
                                              {"text", json_string(anomaly_text((enum anomaly)i))},
                                              {"count", json_integer(found->count)},
                                              {"examples", json_text_array(found->example[0],
                                                                           sizeof found->example[0],
                                                                           found->examples)}));
    }
    return json;
}

static json_t *not_asked(const struct verdict *verdict) {
    json_t *json = json_object();

    for (int i = 0; i < ANOMALY_COUNT; i++)
        if (verdict->not_asked[i] != NULL)
            json_text_set(&json, anomaly_name((enum anomaly)i), json_text(verdict->not_asked[i]));
    return json;
}

static json_t *as_expected(const struct result *result) {
    enum expect_result expected = expect_hold(result->expectation, &result->verdict);

    if (result->verdict.kind == VERDICT_UNJUDGED || expected == EXPECT_OPEN)
        return json_null();
    return json_boolean(expected == EXPECT_MET);
}

static json_t *rate_bound(const struct verdict *verdict) {
    double bound = verdict->kind == VERDICT_VALID ? verdict_rate_bound(verdict) : -1;

    return bound >= 0 ? json_real(bound) : json_null();
}

/* ---- more than one round */

/* `steps` is absent without a shop. */
static json_t *with_steps(json_t *json, json_t *steps) {
    if (steps != NULL)
        json_text_set(&json, "steps", json_incref(steps));
    return json;
}

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

static json_t *round_json(const struct summary *summary, const struct round *round) {
    const struct recorder *recorder = round->recorder;
    const struct verdict *verdict = &round->verdict;
    json_t *json;

    assert(round >= summary->rounds && round < summary->rounds + summary->round_count);
    json = JSON_TEXT_OBJECT(
        {"repeat", count_json(round->repeat + 1)},
        {"position", json_integer(round - summary->rounds + 1)},
        {"started_at", json_text_time(round->started_us)}, {"product_ids", product_ids(round)},
        {"is_interrupted", json_boolean(round->is_interrupted)},
        {"is_aborted", json_boolean(round->is_aborted)},
        {"realtime_priority", json_boolean(round->is_realtime)},
        {"planned", count_json(recorder->planned)}, {"offered", count_json(recorder->count)},
        {"verdict", json_string(verdict_kind_name(verdict->kind))},
        {"sold", json_integer(verdict->sold)}, {"left", json_integer(verdict->left)},
        {"anomalies", anomaly_counts(verdict)},
        {"achieved_rate", json_real(recorder_rate(recorder))},
        {"p50_ms", percentile_ms(&recorder->latency, 50)},
        {"p99_ms", percentile_ms(&recorder->latency, 99)},
        {"max_ms", json_ms((double)recorder->latency.max)});
    return with_steps(json, round->steps);
}

static json_t *rounds_json(const struct summary *summary, const struct result *result) {
    json_t *json = json_array();

    for (size_t i = 0; i < result->count; i++)
        json_text_append(&json, round_json(summary, result->rounds[i]));
    return json;
}

static json_t *spread_json(const struct spread *spread) {
    return json_pack("{s:f, s:f, s:f}", "median", spread->median, "min", spread->min, "max",
                     spread->max);
}

/* ---- the cost of an order */

static json_t *ratio(uint64_t sum, size_t count) {
    return count > 0 ? json_real((double)sum / (double)count) : json_null();
}

static json_t *work_json(const struct recorder *total) {
    if (total->costed == 0)
        return json_null();
    return JSON_TEXT_OBJECT(
        {"replies", count_json(total->costed)},
        {"postgres_per_order", ratio(total->postgres, total->costed)},
        {"redis_per_order", ratio(total->redis, total->costed)},
        {"retries_per_success", ratio(total->retries, total->by_outcome[RECORD_SOLD])},
        {"wait_ms", distribution_or_null(&total->wait)},
        {"hold_ms", distribution_or_null(&total->hold)},
        {"commit_ms", distribution_or_null(&total->commit)});
}

static json_t *lock_json(const struct capacity *capacity) {
    return JSON_TEXT_OBJECT(
        {"hold_ms", json_real(capacity->hold_ms)},
        {"unsold_hold_ms", json_real(capacity->unsold_hold_ms)},
        {"lanes", json_integer(capacity->lanes)}, {"busiest", json_real(capacity->busiest)},
        {"offered_rate", json_real(capacity->offered)},
        {"duration_s", json_real(capacity->duration_s)},
        {"ceiling_rate", json_real(capacity->ceiling)},
        {"holds_overlap", json_boolean(capacity->is_overlapping)},
        {"utilization", json_real(capacity->utilization)},
        {"backlog", json_real(capacity->backlog)}, {"backlog_s", json_real(capacity->backlog_s)},
        {"longest_wait_s", json_real(capacity->longest_wait)},
        {"turns_rate", json_real(capacity->turns)}, {"sold_rate", json_real(capacity->sold)},
        {"reached", json_real(capacity->reached)},
        {"wait_p50_ms", json_real(capacity->wait_p50_ms)},
        {"wait_p99_ms", json_real(capacity->wait_p99_ms)},
        {"handover_ms", json_real(capacity->handover_ms)},
        {"is_handover_slow", json_boolean(capacity->is_handover_slow)});
}

static json_t *capacity_json(const struct summary *summary, const struct result *result) {
    struct capacity capacity;
    bool is_lock;

    capacity_make(result, summary->options, &capacity);
    if (capacity.bound == CAPACITY_UNTOLD)
        return json_null();
    is_lock = capacity.bound == CAPACITY_LOCK;
    return JSON_TEXT_OBJECT({"bound", json_string(is_lock ? "lock" : "row")},
                            {"commit_p50_ms", json_real(capacity.commit_p50_ms)},
                            {"commit_p99_ms", json_real(capacity.commit_p99_ms)},
                            {"lock", is_lock ? lock_json(&capacity) : json_null()},
                            {"sentence", json_text(capacity.sentence)});
}

/* ---- armed failpoints, and counterexamples */

static json_t *first_firing(const struct firing *firing) {
    const struct event *first = &firing->first;

    if (firing->times == 0)
        return json_null();
    return JSON_TEXT_OBJECT(
        {"at_ms", json_ms((double)first->at_ns)}, {"who", json_text(first->who)},
        {"name", json_text(first->name)}, {"detail", json_text(first->detail)},
        {"order_id", first->order_id[0] != '\0' ? json_text(first->order_id) : json_null()});
}

static json_t *firings_json(const struct firings *firings) {
    json_t *json = json_array();

    for (size_t i = 0; i < firings->count; i++) {
        const struct firing *firing = &firings->items[i];

        json_text_append(&json,
                         JSON_TEXT_OBJECT({"armed", json_text(firing->what)},
                                          {"kind", json_string(event_kind_name(firing->kind))},
                                          {"times", json_integer(firing->times)},
                                          {"in_time", json_integer(firing->in_time)},
                                          {"first", first_firing(firing)}));
    }
    return json;
}

static json_t *events_json(const struct counterexample *example) {
    json_t *json = json_array();

    for (size_t i = 0; i < example->events; i++) {
        const struct counterexample_event *event = &example->event[i];
        const char letter[] = {event->letter, '\0'};

        json_text_append(
            &json, JSON_TEXT_OBJECT(
                       {"at_ms", json_ms((double)event->at_ns)},
                       {"until_ms", event->until_ns != EVENT_OPEN ? json_ms((double)event->until_ns)
                                                                  : json_null()},
                       {"order", event->letter != '\0' ? json_string(letter) : json_null()},
                       {"who", json_text(event->who)}, {"text", json_text(event->text)}));
    }
    return json;
}

static json_t *counterexamples(const struct verdict *verdict) {
    json_t *json = json_array();

    for (size_t i = 0; i < verdict->counterexamples; i++) {
        const struct counterexample *one = &verdict->counterexample[i];

        json_text_append(
            &json,
            JSON_TEXT_OBJECT(
                {"anomaly", json_string(anomaly_name(one->anomaly))},
                {"item", json_integer(one->item)}, {"shard", json_integer(one->shard)},
                {"order_ids", json_text_array(one->order_id[0], sizeof one->order_id[0], one->ops)},
                {"lines", json_text_array(one->line[0], sizeof one->line[0], one->lines)},
                {"has_chain", json_boolean(one->has_chain)}, {"events", events_json(one)},
                {"from_ms", json_ms((double)one->from_ns)},
                {"to_ms", json_ms((double)one->to_ns)}));
    }
    return json;
}

#define STEPS_PER_HALF 5 /* points for each halving of the distance to 100 % */
#define LAST_PERCENT   99.99

/* More points in the tail: from 0 to 50 % as many as from 50 to 75 %, and so on. */
static json_t *ladder(const struct histogram *histogram) {
    json_t *json = json_array();

    for (double left = 100; histogram->count > 0; left /= 2)
        for (int step = 0; step < STEPS_PER_HALF; step++) {
            double percent = 100 - left + left / 2 * step / STEPS_PER_HALF;
            double shown = percent < LAST_PERCENT ? percent : LAST_PERCENT;

            json_text_append(&json, json_pack("[f, o]", shown, percentile_ms(histogram, shown)));
            if (percent >= LAST_PERCENT)
                return json;
        }
    return json;
}

static json_t *percentiles(const struct recorder *total) {
    return json_pack("{s:o, s:o}", "response_ms", ladder(&total->latency), "service_ms",
                     ladder(&total->service));
}

/* ---- a whole strategy */

static json_t *strategy_json(const struct summary *summary, const struct result *result) {
    const struct round *first = result->rounds[0];
    const struct recorder *total = result->total;
    const struct verdict *verdict = &result->verdict;
    char sentence[SENTENCE_TEXT], expected[EXPECT_TEXT];
    json_t *json;

    assert(result->count > 0 && first != NULL && total != NULL);
    json = JSON_TEXT_OBJECT(
        {"strategy", json_text(first->item->given)}, {"spec", json_text(first->item->spec)},
        {"sentence", json_text(sentence_make(result, summary->options, sentence))},
        {"product_id", json_text(first->products != NULL ? first->products[0].id : "")},
        {"offered", count_json(total->count)}, {"repeats", count_json(total->repeats)},
        {"stock", json_integer(summary->options->stock)},
        {"achieved_rate", json_real(recorder_rate(total))},
        {"outcomes", summary_json_outcomes(total)},
        {"expected", json_string(expect_name(result->expectation, expected))},
        {"as_expected", as_expected(result)}, {"latency_ms", distribution(&total->latency)},
        {"service_ms", distribution(&total->service)}, {"schedule", schedule(first, total)},
        {"late_launches", count_json(total->late_launches)},
        {"verdict", json_string(verdict_kind_name(verdict->kind))},
        {"sold", json_integer(verdict->sold)}, {"distinct_units", json_integer(verdict->distinct)},
        {"oversold", json_integer(verdict->found[ANOMALY_OVERSELL].count)},
        {"twins", json_integer(verdict->found[ANOMALY_TWIN].count)},
        {"left", json_integer(verdict->left)},
        {"refused_early", json_integer(verdict->refused_early)},
        {"unsettled", json_integer(verdict->unsettled)},
        {"unknown_sold", json_integer(verdict->unknown_sold)},
        {"overlapping_attempts", json_integer(verdict->overlapping)},
        {"overlapping_pairs", json_integer(verdict->pairs)},
        {"unsure_pairs", json_integer(verdict->unsure_pairs)},
        {"moments_known_to_ms", json_ms((double)verdict->slack_ns)},
        {"rate_bound", rate_bound(verdict)},
        {"stock_ran_out",
         verdict->kind == VERDICT_UNJUDGED ? json_null() : json_boolean(verdict->has_ended)},
        {"anomalies", anomalies(verdict)}, {"not_asked", not_asked(verdict)},
        {"inconclusive_because",
         json_text_array(verdict->reason[0], sizeof verdict->reason[0], verdict->reasons)},
        {"rounds", rounds_json(summary, result)},
        {"spread", JSON_TEXT_OBJECT({"p50_ms", spread_json(&result->p50_ms)},
                                    {"p99_ms", spread_json(&result->p99_ms)},
                                    {"achieved_rate", spread_json(&result->rate)})},
        {"work", work_json(total)}, {"capacity", capacity_json(summary, result)},
        {"firings", firings_json(&verdict->firings)}, {"counterexamples", counterexamples(verdict)},
        {"percentiles", percentiles(total)});
    return with_steps(json, result->steps);
}

/* ---- the whole run */

static json_t *thresholds(const struct summary *summary) {
    json_t *json = json_array();

    for (size_t i = 0; i < summary->outcome_count; i++) {
        const struct threshold_outcome *outcome = &summary->outcomes[i];

        json_text_append(
            &json,
            JSON_TEXT_OBJECT({"text", json_text(outcome->threshold->text)},
                             {"strategy", json_text(outcome->result->item->given)},
                             {"measured", isfinite(outcome->measured) ? json_real(outcome->measured)
                                                                      : json_null()},
                             {"holds", json_boolean(outcome->holds)}));
    }
    return json;
}

static json_t *text_or_null(const char *text) {
    return text != NULL ? json_text(text) : json_null();
}

static json_t *recommendation(const struct summary *summary) {
    struct recommendation made;

    recommendation_make(summary, &made);
    if (made.cheapest == NULL)
        return json_null();
    return JSON_TEXT_OBJECT(
        {"strategy", json_text(made.cheapest->item->given)},
        {"measure", json_string(made.is_by_trips ? "round_trips_per_unit" : "p99_ms")},
        {"round_trips_per_unit", made.is_by_trips ? json_real(made.trips) : json_null()},
        {"p99_ms", json_real(made.p99_ms)}, {"sentence", json_text(made.sentence)});
}

static json_t *strategies(const struct summary *summary) {
    json_t *json = json_array();

    for (size_t i = 0; i < summary->count; i++)
        json_text_append(&json, strategy_json(summary, &summary->results[i]));
    return json;
}

/* A customer is a request of the plan. */
static json_t *shop_json(const struct options *options) {
    json_t *json = shop_about_json(&options->about);

    json_text_set(&json, "processes", count_json(options->about.base_count));
    json_text_set(&json, "customers", json_integer(options->requests));
    return json;
}

json_t *summary_json(const struct summary *summary) {
    const struct options *options = summary->options;
    json_t *json;

    json = JSON_TEXT_OBJECT(
        {"schema_version", json_integer(SUMMARY_SCHEMA)}, {"name", json_text(options->name)},
        {"command", text_or_null(options->command_line)},
        {"started_at", json_text_time(summary->started_us)},
        {"ended_at", json_text_time(summary->ended_us)},
        {"is_interrupted", json_boolean(summary->is_interrupted)},
        {"is_left_down", json_boolean(summary->is_left_down)},
        {"folder", text_or_null(summary->folder)}, {"exit_code", json_integer(summary->exit_code)},
        {"exit_meaning", json_string(summary_meaning(summary))},
        {"settings", option_summary(options)}, {"thresholds", thresholds(summary)},
        {"strategies", strategies(summary)}, {"recommendation", recommendation(summary)});
    if (options->about.name != NULL)
        json_text_set(&json, "shop", shop_json(options));
    return json;
}

int summary_json_write(const struct summary *summary, FILE *to) {
    return json_text_print(summary_json(summary), to);
}
