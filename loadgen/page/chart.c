/* Samples a round for the page. */
#include "chart_internal.h"
#include "json_text.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int64_t chart_ledger_us(const struct round *round, const char *at) {
    int64_t us = ledger_time_us(at);

    return us < 0 ? -1 : us + round->ledger_skew_us - round->started_us;
}

int64_t chart_end_us(const struct record *record) {
    return (record->received_ns > 0 ? record->received_ns : record->planned_ns) / CHART_US;
}

const char *chart_order_id(const struct record *record) {
    return record->order_id[0] != '\0' ? record->order_id : record->key;
}

const struct ledger_sale *chart_sale(const struct round *round, uint32_t item,
                                     const char *order_id) {
    if (round->ledgers == NULL || item >= round->items)
        return NULL;
    return ledger_find_sale(&round->ledgers[item], order_id);
}

int chart_instance(struct chart *chart, const char *name) {
    size_t i;
    json_t *known;

    if (name[0] == '\0')
        return -1;
    json_array_foreach (chart->instances, i, known)
        if (strcmp(json_string_value(known), name) == 0)
            return (int)i;
    return json_array_append_new(chart->instances, json_string(name)) == 0 ? (int)i : -1;
}

int chart_by_number(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* 1, 2, 5, 10, 20, 50 ... times the least. */
int64_t chart_step_us(int64_t span_us, int64_t least_us, int64_t most) {
    static const int factors[] = {2, 5, 10};
    int64_t base = least_us, step = base;

    assert(least_us > 0 && most > 0 && span_us > 0);
    for (size_t i = 0; span_us / step >= most; i++) {
        step = base * factors[i % 3];
        if (i % 3 == 2)
            base *= 10;
    }
    return step;
}

/* ---- outcomes */

static json_t *outcome_names(struct chart *chart) {
    json_t *names = json_array();
    int place = 0;

    for (int i = 0; i < RECORD_OUTCOME_COUNT; i++) {
        chart->place[i] = -1;
        if (chart->round->recorder->by_outcome[i] == 0)
            continue;
        chart->place[i] = place++;
        json_text_append(&names, json_string(record_outcome_name((enum record_outcome)i)));
    }
    return names;
}

static json_t *outcome_row(const struct chart *chart, const uint32_t *counts) {
    json_t *row = json_array();

    for (int i = 0; i < RECORD_OUTCOME_COUNT; i++)
        if (chart->place[i] >= 0)
            json_text_append(&row, json_integer(counts[i]));
    return row;
}

static json_t *outcome_rows(const struct chart *chart, int64_t step_us) {
    size_t count = (size_t)(chart->end_us / step_us) + 1;
    uint32_t(*counts)[RECORD_OUTCOME_COUNT] = calloc(count, sizeof *counts);
    json_t *rows = counts != NULL ? json_array() : NULL;

    for (size_t i = 0; i < chart->count && counts != NULL; i++)
        counts[chart_end_us(&chart->records[i]) / step_us][chart->records[i].outcome]++;
    for (size_t i = 0; i < count && rows != NULL && chart->count > 0; i++)
        json_text_append(&rows, outcome_row(chart, counts[i]));
    free(counts);
    return rows;
}

/* A bar for each second, or each 100 ms of a short round. */
static json_t *outcomes(const struct chart *chart, json_t *names) {
    int64_t step_us =
        chart->end_us <= 12000000 ? 100000 : chart_step_us(chart->end_us, 1000000, 400);
    json_t *json = json_object();

    json_text_set(&json, "step_us", json_integer(step_us));
    json_text_set(&json, "rows", outcome_rows(chart, step_us));
    json_text_set(&json, "names", json_incref(names));
    return json;
}

/* ---- all of it */

/* A history may tell an answer before its planned time. */
static void find_ends(struct chart *chart) {
    chart->end_us = chart->planned_us = 1000;
    for (size_t i = 0; i < chart->count; i++) {
        int64_t planned_us = chart->records[i].planned_ns / CHART_US;

        if (chart_end_us(&chart->records[i]) > chart->end_us)
            chart->end_us = chart_end_us(&chart->records[i]);
        if (planned_us > chart->planned_us)
            chart->planned_us = planned_us;
    }
    if (chart->planned_us > chart->end_us)
        chart->end_us = chart->planned_us;
}

/* "after-read:pause=4s@100, before-write:error" of the spec, or null. */
static json_t *failpoints(const struct round *round) {
    const char *at = round->item != NULL ? round->item->spec : "";
    char text[STRATEGY_SPEC_SIZE] = "";
    size_t used = 0;

    while ((at = strstr(at, ",fail=")) != NULL) {
        at += strlen(",fail=");
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%.*s", used > 0 ? ", " : "",
                                 (int)strcspn(at, ","), at);
    }
    return used > 0 ? json_text(text) : json_null();
}

static json_t *instance_names(const struct recorder *recorder) {
    json_t *names = json_array();

    for (size_t i = 0; i < recorder->instance_count; i++)
        json_text_append(&names, json_text(recorder->instances[i]));
    return names;
}

json_t *chart_make(const struct round *round) {
    struct chart chart = {.round = round, .records = round->recorder->records};
    json_t *names = outcome_names(&chart), *json = json_object();

    chart.count = chart.records != NULL ? round->recorder->ended : 0;
    chart.instances = instance_names(round->recorder);
    find_ends(&chart);
    json_text_set(&json, "repeat", json_integer((json_int_t)round->repeat));
    json_text_set(&json, "end_us", json_integer(chart.end_us));
    json_text_set(&json, "planned_us", json_integer(chart.planned_us));
    json_text_set(&json, "instances", json_incref(chart.instances));
    json_text_set(&json, "fail", failpoints(round));
    json_text_set(&json, "event_count", json_integer((json_int_t)chart_event_count(&chart)));
    json_text_set(&json, "events", chart_events(&chart));
    json_text_set(&json, "faults", chart_faults(&chart));
    json_text_set(&json, "outcomes", outcomes(&chart, names));
    json_text_set(&json, "scatter", chart_scatter(&chart, names));
    json_text_set(&json, "latency", chart_latency(&chart));
    json_text_set(&json, "examples", chart_examples(&chart));
    chart_stock(&chart, &json);
    json_decref(names);
    json_decref(chart.instances);
    return json;
}

/* ---- thinning */

/* An op that the counterexample calls A, B or C. */
static bool is_named(const json_t *ops, size_t i) {
    return json_integer_value(json_array_get(json_array_get(ops, i), 1)) != 0;
}

/* Those that are named, and the `keep` around the first of them. */
static void thin_ops(json_t *ops, size_t keep) {
    size_t first = 0, from;

    while (first < json_array_size(ops) && !is_named(ops, first))
        first++;
    from = first > keep / 2 ? first - keep / 2 : 0;
    for (size_t i = json_array_size(ops); i-- > 0;)
        if ((i < from || i >= from + keep) && !is_named(ops, i))
            (void)json_array_remove(ops, i);
}

void chart_thin(json_t *chart, size_t keep) {
    json_t *points = json_object_get(json_object_get(chart, "scatter"), "points");
    json_t *examples = json_object_get(chart, "examples"), *example;
    size_t i;

    while (json_array_size(points) > keep)
        (void)json_array_remove(points, json_array_size(points) - 1);
    json_array_foreach (examples, i, example)
        thin_ops(json_object_get(example, "ops"), keep * CHART_OPS / CHART_POINTS);
}
