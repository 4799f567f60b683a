/* Samples what the page draws in the lanes of the instances. */
#include "chart_lanes.h"

#include "json_text.h"

#include <stdlib.h>
#include <string.h>

#define EVENTS    40 /* that are drawn, at the most */
#define SLACK_NS  250000000
#define SILENT_US 250000
#define LOOK      5000 /* requests after a gap that are looked at */
#define BANDS     40   /* of silence, at the most */
#define FAR_NS    (INT64_C(1) << 46)

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

int chart_by_number(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* ---- events: failpoints that fired, and servers that were down */

/* That of a server may silence any instance. */
static bool explains(const struct event *event, const char *instance) {
    return event_is_standstill(event) &&
           (event->kind == EVENT_SERVER || instance == NULL || strcmp(event->who, instance) == 0);
}

static bool is_known(const struct chart *chart, const char *instance, int64_t from_us,
                     int64_t to_us) {
    const struct event_list *events = &chart->round->events;

    for (size_t i = 0; i < events->count; i++) {
        const struct event *event = &events->items[i];

        if (explains(event, instance) && from_us * CHART_US >= event->at_ns - SLACK_NS &&
            (event->until_ns == EVENT_OPEN || to_us * CHART_US <= event->until_ns + SLACK_NS))
            return true;
    }
    return false;
}

static int64_t event_end_us(const struct chart *chart, const struct event *event) {
    if (!event_is_standstill(event))
        return event->at_ns / CHART_US;
    return event->until_ns == EVENT_OPEN ? chart->end_us : event->until_ns / CHART_US;
}

static json_t *event_json(const struct chart *chart, const struct event *event) {
    char text[EVENT_TEXT];
    json_t *json = json_array();

    event_text(event, text);
    json_text_append(&json, json_text(event->who));
    json_text_append(&json, json_integer(event->at_ns / CHART_US));
    json_text_append(&json, json_integer(event_end_us(chart, event)));
    json_text_append(&json, json_text(text));
    return json;
}

size_t chart_event_count(const struct chart *chart) {
    const struct event_list *events = &chart->round->events;
    size_t count = 0;

    for (size_t i = 0; i < events->count; i++)
        count += events->items[i].kind != EVENT_LOCK;
    return count;
}

/* Of many, some of all times. */
json_t *chart_events(const struct chart *chart) {
    const struct event_list *events = &chart->round->events;
    const size_t step = chart_event_count(chart) / EVENTS + 1;
    json_t *json = json_array();
    size_t place = 0;

    for (size_t i = 0; i < events->count; i++)
        if (events->items[i].kind != EVENT_LOCK && place++ % step == 0)
            json_text_append(&json, event_json(chart, &events->items[i]));
    return json;
}

/* Of a counterexample, with the place of its order among A, B and C. */
static json_t *example_events(const struct chart *chart, const struct counterexample *example) {
    json_t *json = json_array();

    for (size_t i = 0; i < example->events; i++) {
        const struct counterexample_event *event = &example->event[i];
        const int64_t until_us =
            event->until_ns != EVENT_OPEN ? event->until_ns / CHART_US : chart->end_us;

        json_text_append(&json, json_pack("[i, I, I, s, s]",
                                          event->letter != '\0' ? event->letter - 'A' + 1 : 0,
                                          (json_int_t)(event->at_ns / CHART_US),
                                          (json_int_t)until_us, event->who, event->text));
    }
    return json;
}

/* ---- silence: an instance answered nothing though requests were in flight */

struct span {
    int64_t ended_us, sent_us; /* they are sorted by the first */
};

/* The answers of one instance, by the time of the answer, and what was never answered. */
struct answers {
    int instance; /* -1: of all */
    size_t count, lost_count;
    struct span *spans, *lost;
};

struct band {
    int instance;
    int64_t from_us, to_us;
    size_t waiting;
};

struct bands {
    size_t count;
    struct band items[BANDS];
};

static bool chart_lanes_is_lost(const struct record *record) {
    return record->instance < 0 && record->sent_ns > 0 &&
           (record->outcome == RECORD_UNKNOWN || record->outcome == RECORD_FAILED);
}

static void collect_answers(const struct chart *chart, int instance, struct answers *answers) {
    answers->instance = instance;
    answers->count = answers->lost_count = 0;
    for (size_t i = 0; i < chart->count; i++) {
        const struct record *record = &chart->records[i];
        struct span span = {chart_end_us(record), record->sent_ns / CHART_US};

        if (chart_lanes_is_lost(record))
            answers->lost[answers->lost_count++] = span;
        else if (record->sent_ns > 0 && (instance < 0 || record->instance == instance))
            answers->spans[answers->count++] = span;
    }
    qsort(answers->spans, answers->count, sizeof *answers->spans, chart_by_number);
}

/* Count a request that was in flight for long enough in from .. to. */
static void count_waiting(struct band *band, int64_t from_us, int64_t to_us, struct span span) {
    int64_t begin = span.sent_us > from_us ? span.sent_us : from_us;
    int64_t end = span.ended_us < to_us ? span.ended_us : to_us;

    if (end - begin <= SILENT_US)
        return;
    if (band->waiting++ == 0 || begin < band->from_us)
        band->from_us = begin;
}

static bool is_covered(const struct bands *bands, const struct band *band) {
    for (size_t i = 0; i < bands->count; i++)
        if (bands->items[i].instance < 0 && band->from_us > bands->items[i].from_us - SILENT_US &&
            band->to_us < bands->items[i].to_us + SILENT_US)
            return true;
    return false;
}

static void add_band(struct bands *bands, const struct band *band) {
    if (band->waiting > 0 && bands->count < BANDS && !is_covered(bands, band))
        bands->items[bands->count++] = *band;
}

/* While one instance stands still, the others may have nothing to answer. */
static bool is_of_one(const struct bands *bands, const struct band *all) {
    for (size_t i = 0; i < bands->count; i++)
        if (bands->items[i].instance >= 0 && all->from_us >= bands->items[i].from_us - SILENT_US &&
            all->to_us <= bands->items[i].to_us + SILENT_US)
            return true;
    return false;
}

static void drop_explained(struct bands *bands) {
    size_t kept = 0;

    for (size_t i = 0; i < bands->count; i++)
        if (bands->items[i].instance >= 0 || !is_of_one(bands, &bands->items[i]))
            bands->items[kept++] = bands->items[i];
    bands->count = kept;
}

/* Nothing came between answers `i - 1` and `i`. */
static void look_at_gap(const struct answers *answers, size_t i, struct bands *bands) {
    int64_t from_us = i > 0 ? answers->spans[i - 1].ended_us : 0;
    struct band band = {.instance = answers->instance, .to_us = answers->spans[i].ended_us};

    for (size_t j = i; j < answers->count && j < i + LOOK; j++)
        count_waiting(&band, from_us, band.to_us, answers->spans[j]);
    for (size_t j = 0; i > 0 && j < answers->lost_count; j++)
        count_waiting(&band, from_us, band.to_us, answers->lost[j]);
    add_band(bands, &band);
}

/* Nothing came after the last answer, and requests were lost. `last_us` is the last answer of any
 * instance. */
static void look_at_end(const struct answers *answers, int64_t last_us, struct bands *bands) {
    int64_t from_us = answers->spans[answers->count - 1].ended_us;
    struct band band = {.instance = answers->instance, .to_us = last_us};

    for (size_t j = 0; j < answers->lost_count; j++)
        count_waiting(&band, from_us, last_us, answers->lost[j]);
    add_band(bands, &band);
}

static void look_at_instance(const struct chart *chart, struct answers *answers, int instance,
                             int64_t last_us, struct bands *bands) {
    collect_answers(chart, instance, answers);
    if (answers->count == 0)
        return;
    for (size_t i = 0; i < answers->count && bands->count < BANDS; i++)
        if (answers->spans[i].ended_us - (i > 0 ? answers->spans[i - 1].ended_us : 0) > SILENT_US)
            look_at_gap(answers, i, bands);
    if (instance >= 0)
        look_at_end(answers, last_us, bands);
}

static int64_t last_answer(const struct chart *chart) {
    int64_t last_us = 0;

    for (size_t i = 0; i < chart->count; i++)
        if (chart->records[i].instance >= 0 && chart_end_us(&chart->records[i]) > last_us)
            last_us = chart_end_us(&chart->records[i]);
    return last_us;
}

static json_t *band_json(const struct band *band) {
    return json_pack("[i, I, I, I]", band->instance, (json_int_t)band->from_us,
                     (json_int_t)band->to_us, (json_int_t)band->waiting);
}

/* An instance that stands still on purpose is drawn as such. */
static void drop_known(const struct chart *chart, struct bands *bands) {
    size_t kept = 0;

    for (size_t i = 0; i < bands->count; i++) {
        const struct band *band = &bands->items[i];
        const char *instance =
            band->instance >= 0 ? chart->round->recorder->instances[band->instance] : NULL;

        if (!is_known(chart, instance, band->from_us, band->to_us))
            bands->items[kept++] = *band;
    }
    bands->count = kept;
}

json_t *chart_faults(const struct chart *chart) {
    struct answers answers = {.spans = calloc(chart->count + 1, sizeof(struct span)),
                              .lost = calloc(chart->count + 1, sizeof(struct span))};
    int instances = (int)chart->round->recorder->instance_count;
    bool has_room = answers.spans != NULL && answers.lost != NULL;
    json_t *json = has_room ? json_array() : NULL;
    int64_t last_us = last_answer(chart);
    struct bands bands = {.count = 0};

    for (int i = -1; i < instances && has_room; i++)
        look_at_instance(chart, &answers, i, last_us, &bands);
    drop_explained(&bands);
    drop_known(chart, &bands);
    for (size_t i = 0; i < bands.count; i++)
        json_text_append(&json, band_json(&bands.items[i]));
    free(answers.spans);
    free(answers.lost);
    return json;
}

/* ---- the requests around each counterexample */

/* The place of the instance of this name; added when it is new. -1 for "". */
static int instance_place(struct chart *chart, const char *name) {
    size_t i;
    json_t *known;

    if (name[0] == '\0')
        return -1;
    json_array_foreach (chart->instances, i, known)
        if (strcmp(json_string_value(known), name) == 0)
            return (int)i;
    return json_array_append_new(chart->instances, json_string(name)) == 0 ? (int)i : -1;
}

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
        instance = instance_place(chart, sale->instance);
    return json_pack("[s, i, i, I, I, i, I, I]", id, mark, instance,
                     (json_int_t)(record->sent_ns / CHART_US), (json_int_t)chart_end_us(record),
                     chart->place[record->outcome], (json_int_t)unit,
                     (json_int_t)(sale != NULL ? chart_ledger_us(chart->round, sale->at) : -1));
}

/* A named row of the ledger that no request of this run is about. */
static json_t *chart_lanes_row_json(struct chart *chart, const struct proof *proof, size_t i) {
    const struct ledger_sale *sale =
        chart_sale(chart->round, proof->example->item, proof->example->order_id[i]);

    if (sale == NULL)
        return NULL;
    return json_pack("[s, i, i, i, i, i, I, I]", sale->order_id, (int)i + 1,
                     instance_place(chart, sale->instance), -1, -1, -1, (json_int_t)sale->unit,
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
            json_text_append(&ops, chart_lanes_row_json(chart, proof, i));
    free(near);
    return ops;
}

static json_t *example_json(struct chart *chart, const struct counterexample *example) {
    struct proof proof = {.example = example};
    json_t *json = json_object();
    json_int_t of = 0;

    locate(chart, &proof);
    for (size_t i = 0; i < chart->count; i++)
        of += chart->records[i].item == example->item && chart->records[i].sent_ns > 0;
    json_text_set(&json, "anomaly", json_string(anomaly_name(example->anomaly)));
    json_text_set(&json, "lines",
                  json_text_array(example->line[0], sizeof example->line[0], example->lines));
    json_text_set(&json, "item", json_integer(example->item));
    json_text_set(&json, "shard", json_integer(example->shard));
    json_text_set(&json, "of", json_integer(of));
    json_text_set(&json, "ops", ops_json(chart, &proof));
    json_text_set(&json, "events", example_events(chart, example));
    return json;
}

json_t *chart_examples(struct chart *chart) {
    const struct verdict *verdict = &chart->round->verdict;
    json_t *examples = json_array();

    for (size_t i = 0; i < verdict->counterexamples && chart->round->ledgers != NULL; i++)
        json_text_append(&examples, example_json(chart, &verdict->counterexample[i]));
    return examples;
}
