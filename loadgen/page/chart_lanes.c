/* The requests around each counterexample. */
#include "chart_internal.h"
#include "json_text.h"

#include <stdlib.h>
#include <string.h>

#define FAR_NS (INT64_C(1) << 46)

/* The operations of a counterexample, and where they are in time. */
struct proof {
    const struct counterexample *example;
    int64_t at_ns[COUNTEREXAMPLE_OPS]; /* -1 when not known */
    bool has_request[COUNTEREXAMPLE_OPS];
};

/* 1, 2, 3 for A, B, C; else 0. */
static int mark_of(const struct counterexample *example, const struct record *record) {
    for (size_t i = 0; i < example->ops; i++)
        if (strcmp(chart_order_id(record), example->order_id[i]) == 0)
            return (int)i + 1;
    return 0;
}

static void locate(const struct chart *chart, struct proof *proof) {
    const struct counterexample *example = proof->example;

    for (size_t i = 0; i < example->ops; i++) {
        const struct ledger_sale *sale =
            chart_sale(chart->round, example->item, example->order_id[i]);
        int64_t us = sale != NULL ? chart_ledger_us(chart->round, sale->at) : -1;

        proof->at_ns[i] = us >= 0 ? us * CHART_US : -1;
    }
    for (size_t i = 0; i < chart->count; i++) {
        int mark =
            chart->records[i].item == example->item ? mark_of(example, &chart->records[i]) : 0;

        if (mark > 0 && !proof->has_request[mark - 1]) {
            proof->has_request[mark - 1] = true;
            proof->at_ns[mark - 1] = chart->records[i].sent_ns;
        }
    }
}

static int64_t distance(const struct proof *proof, const struct record *record) {
    int64_t least = FAR_NS;

    if (record->item != proof->example->item || record->sent_ns <= 0)
        return FAR_NS;
    for (size_t i = 0; i < proof->example->ops; i++)
        if (proof->at_ns[i] >= 0 && llabs(record->sent_ns - proof->at_ns[i]) < least)
            least = llabs(record->sent_ns - proof->at_ns[i]);
    return least;
}

static json_t *request_json(struct chart *chart, const struct record *record, int mark) {
    const char *id = chart_order_id(record);
    const struct ledger_sale *sale = chart_sale(chart->round, record->item, id);
    int64_t unit = sale != NULL ? sale->unit : record->unit;
    int instance = record->instance;

    if (instance < 0 && sale != NULL)
        instance = chart_instance(chart, sale->instance);
    return json_pack("[s, i, i, I, I, i, I, I]", id, mark, instance,
                     (json_int_t)(record->sent_ns / CHART_US), (json_int_t)chart_end_us(record),
                     chart->place[record->outcome], (json_int_t)unit,
                     (json_int_t)(sale != NULL ? chart_ledger_us(chart->round, sale->at) : -1));
}

/* A named row of the ledger that no request of this run is about. */
static json_t *row_json(struct chart *chart, const struct proof *proof, size_t i) {
    const struct ledger_sale *sale =
        chart_sale(chart->round, proof->example->item, proof->example->order_id[i]);

    if (sale == NULL)
        return NULL;
    return json_pack("[s, i, i, i, i, i, I, I]", sale->order_id, (int)i + 1,
                     chart_instance(chart, sale->instance), -1, -1, -1, (json_int_t)sale->unit,
                     (json_int_t)chart_ledger_us(chart->round, sale->at));
}

/* A request, and a time by which it is sorted: how far it is away, then when it was sent. */
struct near {
    int64_t ns;
    const struct record *record;
};

/* The nearest first, as many as are kept: no more than CHART_OPS, and of those that are equally far
 * away all or none. */
static size_t find_near(const struct chart *chart, const struct proof *proof, struct near *near) {
    size_t found = 0, kept;

    for (size_t i = 0; i < chart->count; i++) {
        int64_t away = distance(proof, &chart->records[i]);

        if (away < FAR_NS)
            near[found++] = (struct near){away, &chart->records[i]};
    }
    qsort(near, found, sizeof *near, chart_by_number);
    kept = found < CHART_OPS ? found : CHART_OPS;
    while (kept > 0 && kept < found && near[kept - 1].ns == near[kept].ns)
        kept--;
    return kept;
}

static json_t *ops_json(struct chart *chart, const struct proof *proof) {
    struct near *near = calloc(chart->count + 1, sizeof *near);
    size_t count = near != NULL ? find_near(chart, proof, near) : 0;
    json_t *ops = near != NULL ? json_array() : NULL;

    for (size_t i = 0; i < count; i++)
        near[i].ns = near[i].record->sent_ns;
    if (count > 0)
        qsort(near, count, sizeof *near, chart_by_number);
    for (size_t i = 0; i < count; i++)
        json_text_append(
            &ops, request_json(chart, near[i].record, mark_of(proof->example, near[i].record)));
    for (size_t i = 0; i < proof->example->ops; i++)
        if (!proof->has_request[i])
            json_text_append(&ops, row_json(chart, proof, i));
    free(near);
    return ops;
}

static json_t *lines_json(const struct counterexample *example) {
    json_t *lines = json_array();

    for (size_t i = 0; i < example->lines; i++)
        json_text_append(&lines, json_text(example->line[i]));
    return lines;
}

static json_t *example_json(struct chart *chart, const struct counterexample *example) {
    struct proof proof = {.example = example};
    json_t *json = json_object();
    json_int_t of = 0;

    locate(chart, &proof);
    for (size_t i = 0; i < chart->count; i++)
        of += chart->records[i].item == example->item && chart->records[i].sent_ns > 0;
    json_text_set(&json, "anomaly", json_string(anomaly_name(example->anomaly)));
    json_text_set(&json, "lines", lines_json(example));
    json_text_set(&json, "item", json_integer(example->item));
    json_text_set(&json, "shard", json_integer(example->shard));
    json_text_set(&json, "of", json_integer(of));
    json_text_set(&json, "ops", ops_json(chart, &proof));
    json_text_set(&json, "events", chart_example_events(chart, example));
    return json;
}

json_t *chart_examples(struct chart *chart) {
    const struct verdict *verdict = &chart->round->verdict;
    json_t *examples = json_array();

    for (size_t i = 0; i < verdict->counterexamples && chart->round->ledgers != NULL; i++)
        json_text_append(&examples, example_json(chart, &verdict->counterexample[i]));
    return examples;
}
