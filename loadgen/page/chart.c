/* Samples a round for the page: its requests and events over time, and its ledgers. */
#include "chart.h"

#include "chart_ledger.h"
#include "json_text.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define INTERVALS 60  /* most intervals of latency */
#define RARE      150 /* kept requests of an outcome, even if other outcomes are many */
#define WANTED    1300 /* expected number of drawn points; the real one then fits into CHART_POINTS */
#define EVENTS    40   /* most drawn events */
#define SLACK_NS  250000000
#define SILENT_US 250000
#define LOOK      5000 /* requests after a gap that are examined */
#define BANDS     40   /* most bands of silence */

/* The least step of 1, 2, 5, 10, 20, 50 ... times `least_us` that gives at most `most` steps. */
static int64_t step_for(int64_t span_us, int64_t least_us, int64_t most) {
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
static json_t *chart_outcomes(const struct chart *chart, json_t *names) {
    int64_t step_us = chart->end_us <= 12000000 ? 100000 : step_for(chart->end_us, 1000000, 400);

    return JSON_TEXT_OBJECT({"step_us", json_integer(step_us)},
                            {"rows", outcome_rows(chart, step_us)}, {"names", json_incref(names)});
}

static bool is_timed(const struct record *record) {
    return record->received_ns > 0;
}

static int64_t latency_us(const struct record *record) {
    return (record->received_ns - record->planned_ns) / CHART_US;
}

/* The interval of this length in which the request was planned. */
static int64_t interval_of(const struct record *record, int64_t step_us) {
    return record->planned_ns / CHART_US / step_us;
}

/* ---- percentiles of latency */

struct sample {
    int64_t interval, latency_us; /* sort keys, in this order */
};

static int by_latency(const void *a, const void *b) {
    const struct sample *x = a, *y = b;

    if (x->interval != y->interval)
        return x->interval < y->interval ? -1 : 1;
    return (x->latency_us > y->latency_us) - (x->latency_us < y->latency_us);
}

/* Like the summary: a request that was never sent has no response time. */
static size_t collect_samples(const struct chart *chart, int64_t step_us, struct sample *samples) {
    size_t count = 0;

    for (size_t i = 0; i < chart->count; i++) {
        const struct record *record = &chart->records[i];

        if (record->sent_ns > 0 && is_timed(record))
            samples[count++] = (struct sample){interval_of(record, step_us), latency_us(record)};
    }
    qsort(samples, count, sizeof *samples, by_latency);
    return count;
}

/* Percentiles by nearest rank: the least value that this part of the samples does not exceed. */
static json_t *percentile_row(const struct sample *samples, size_t count) {
    static const double parts[] = {0.5, 0.95, 0.99, 1};
    json_t *row = json_array();

    json_text_append(&row, json_integer((json_int_t)count));
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        size_t rank = (size_t)(parts[i] * (double)count + 0.999999);

        json_text_append(&row, json_integer(samples[rank - 1].latency_us));
    }
    return row;
}

static json_t *latency_rows(const struct chart *chart, int64_t step_us) {
    struct sample *samples = calloc(chart->count + 1, sizeof *samples);
    json_t *rows = samples != NULL ? json_array() : NULL;
    size_t count = samples != NULL ? collect_samples(chart, step_us, samples) : 0, end = 0;

    for (int64_t i = 0; i <= chart->planned_us / step_us && rows != NULL; i++) {
        size_t first = end;

        while (end < count && samples[end].interval == i)
            end++;
        json_text_append(&rows,
                         end > first ? percentile_row(&samples[first], end - first) : json_null());
    }
    assert(rows == NULL || end == count);
    free(samples);
    return rows;
}

/* A percentile of few requests says little, so an interval has about 150 requests. */
static json_t *latency(const struct chart *chart) {
    int64_t most = (int64_t)(chart->count / 150), step_us;

    most = most < 10 ? 10 : most > INTERVALS ? INTERVALS : most;
    step_us = step_for(chart->planned_us, 10000, most);
    return JSON_TEXT_OBJECT({"step_us", json_integer(step_us)},
                            {"rows", latency_rows(chart, step_us)});
}

/* ---- single requests, as points */

struct lot {
    uint32_t order; /* the least comes first */
    const struct record *record;
};

/* Mixes all bits: Knuth's multiplicative hash with its high half folded down. */
static uint32_t chart_hash(uint32_t number) {
    uint32_t mixed = (number + 1) * 2654435761u;

    return (mixed ^ mixed >> 16) * 2246822519u;
}

/* The chance that a request of this outcome is kept, times 2^32. */
static uint64_t chance(const struct chart *chart, enum record_outcome outcome) {
    const size_t *by_outcome = chart->round->recorder->by_outcome;
    uint64_t count = by_outcome[outcome], share;

    if (chart->count <= WANTED || count <= RARE)
        return UINT64_C(1) << 32;
    share = (WANTED - RARE * 2) * count / chart->count;
    return ((share > RARE ? share : RARE) << 32) / count;
}

static void find_slowest(const struct chart *chart, int64_t step_us,
                         const struct record *slowest[INTERVALS + 1]) {
    for (size_t i = 0; i < chart->count; i++) {
        const struct record *record = &chart->records[i], **at;

        if (!is_timed(record))
            continue;
        assert(interval_of(record, step_us) <= INTERVALS);
        at = &slowest[interval_of(record, step_us)];
        if (*at == NULL || latency_us(record) > latency_us(*at))
            *at = record;
    }
}

/* The slowest request of each interval precedes all others. */
static size_t draw_lots(const struct chart *chart, struct lot *lots, size_t room) {
    const int64_t step_us = step_for(chart->planned_us, 10000, INTERVALS);
    const struct record *slowest[INTERVALS + 1] = {NULL};
    uint64_t chances[RECORD_OUTCOME_COUNT];
    size_t count = 0;

    find_slowest(chart, step_us, slowest);
    for (size_t i = 0; i <= INTERVALS; i++)
        if (slowest[i] != NULL)
            lots[count++] = (struct lot){0, slowest[i]};
    for (int i = 0; i < RECORD_OUTCOME_COUNT; i++)
        chances[i] = chance(chart, (enum record_outcome)i);
    for (size_t i = 0; i < chart->count && count < room; i++) {
        const struct record *record = &chart->records[i];
        uint32_t order = chart_hash(record->number);

        if (is_timed(record) && order < chances[record->outcome] &&
            slowest[interval_of(record, step_us)] != record)
            lots[count++] = (struct lot){order / 2 + 1, record};
    }
    return count;
}

/* The most important first. */
static int chart_by_order(const void *a, const void *b) {
    const struct lot *x = a, *y = b;

    if (x->order != y->order)
        return x->order < y->order ? -1 : 1;
    return (x->record > y->record) - (x->record < y->record);
}

static json_t *points_json(const struct chart *chart) {
    struct lot *lots = calloc(2 * CHART_POINTS, sizeof *lots);
    json_t *points = lots != NULL ? json_array() : NULL;
    size_t count = lots != NULL ? draw_lots(chart, lots, 2 * CHART_POINTS) : 0;

    if (count > 0)
        qsort(lots, count, sizeof *lots, chart_by_order);
    for (size_t i = 0; i < count && i < CHART_POINTS; i++)
        json_text_append(&points,
                         json_pack("[I, I, i]", (json_int_t)(lots[i].record->planned_ns / CHART_US),
                                   (json_int_t)latency_us(lots[i].record),
                                   chart->place[lots[i].record->outcome]));
    free(lots);
    return points;
}

static json_t *scatter(const struct chart *chart, json_t *names) {
    json_int_t timed = 0;

    for (size_t i = 0; i < chart->count; i++)
        timed += is_timed(&chart->records[i]);
    return JSON_TEXT_OBJECT({"of", json_integer(timed)}, {"points", points_json(chart)},
                            {"names", json_incref(names)});
}

/* ---- events: failpoints that fired, and servers that were down */

/* A fault of a server may silence any instance. */
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

static json_t *event_json(const struct chart *chart, const struct event *event) {
    const int64_t end_ns = event_is_standstill(event) ? event->until_ns : event->at_ns;
    const int64_t end_us = end_ns == EVENT_OPEN ? chart->end_us : end_ns / CHART_US;
    char text[EVENT_TEXT];

    event_text(event, text);
    return json_pack("[o, I, I, o]", json_text(event->who), (json_int_t)(event->at_ns / CHART_US),
                     (json_int_t)end_us, json_text(text));
}

/* The number of injected faults. */
static size_t chart_event_count(const struct chart *chart) {
    const struct event_list *events = &chart->round->events;
    size_t count = 0;

    for (size_t i = 0; i < events->count; i++)
        count += events->items[i].kind != EVENT_LOCK;
    return count;
}

/* All events, or an even choice if there are many. */
static json_t *chart_events(const struct chart *chart) {
    const struct event_list *events = &chart->round->events;
    const size_t step = chart_event_count(chart) / EVENTS + 1;
    json_t *json = json_array();
    size_t place = 0;

    for (size_t i = 0; i < events->count; i++)
        if (events->items[i].kind != EVENT_LOCK && place++ % step == 0)
            json_text_append(&json, event_json(chart, &events->items[i]));
    return json;
}

/* ---- silence: an instance answered nothing though requests were in flight */

struct span {
    int64_t ended_us, sent_us; /* the first is the sort key */
};

/* The answers of one instance, sorted by time, and the requests without an answer. */
struct answers {
    int instance; /* -1: all instances */
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

static int by_end(const void *a, const void *b) {
    const struct span *x = a, *y = b;

    return (x->ended_us > y->ended_us) - (x->ended_us < y->ended_us);
}

static void collect_answers(const struct chart *chart, int instance, struct answers *answers) {
    answers->instance = instance;
    answers->count = answers->lost_count = 0;
    for (size_t i = 0; i < chart->count; i++) {
        const struct record *record = &chart->records[i];
        struct span span = {chart_end_us(record), record->sent_ns / CHART_US};

        if (record->instance < 0 && record->sent_ns > 0 &&
            (record->outcome == RECORD_UNKNOWN || record->outcome == RECORD_FAILED))
            answers->lost[answers->lost_count++] = span;
        else if (record->sent_ns > 0 && (instance < 0 || record->instance == instance))
            answers->spans[answers->count++] = span;
    }
    qsort(answers->spans, answers->count, sizeof *answers->spans, by_end);
}

/* Counts a request that was in flight for more than SILENT_US within from .. to. */
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

/* While one instance stands still, the others may have nothing to answer. */
static bool is_of_one(const struct bands *bands, const struct band *all) {
    for (size_t i = 0; i < bands->count; i++)
        if (bands->items[i].instance >= 0 && all->from_us >= bands->items[i].from_us - SILENT_US &&
            all->to_us <= bands->items[i].to_us + SILENT_US)
            return true;
    return false;
}

/* There was no answer from answer `i - 1` until `to_us`, which is answer `i` or the end. */
static void look_at_gap(const struct answers *answers, size_t i, int64_t to_us,
                        struct bands *bands) {
    int64_t from_us = i > 0 ? answers->spans[i - 1].ended_us : 0;
    struct band band = {.instance = answers->instance, .to_us = to_us};

    for (size_t j = i; j < answers->count && j < i + LOOK; j++)
        count_waiting(&band, from_us, to_us, answers->spans[j]);
    for (size_t j = 0; i > 0 && j < answers->lost_count; j++)
        count_waiting(&band, from_us, to_us, answers->lost[j]);
    if (band.waiting > 0 && bands->count < BANDS && !is_covered(bands, &band))
        bands->items[bands->count++] = band;
}

/* `last_us` is the last answer of any instance. */
static void look_at_instance(const struct chart *chart, struct answers *answers, int instance,
                             int64_t last_us, struct bands *bands) {
    collect_answers(chart, instance, answers);
    if (answers->count == 0)
        return;
    for (size_t i = 0; i < answers->count && bands->count < BANDS; i++)
        if (answers->spans[i].ended_us - (i > 0 ? answers->spans[i - 1].ended_us : 0) > SILENT_US)
            look_at_gap(answers, i, answers->spans[i].ended_us, bands);
    if (instance >= 0)
        look_at_gap(answers, answers->count, last_us, bands);
}

static int64_t last_answer(const struct chart *chart) {
    int64_t last_us = 0;

    for (size_t i = 0; i < chart->count; i++)
        if (chart->records[i].instance >= 0 && chart_end_us(&chart->records[i]) > last_us)
            last_us = chart_end_us(&chart->records[i]);
    return last_us;
}

/* Drops silence that one instance or a drawn fault explains. */
static void drop_explained(const struct chart *chart, struct bands *bands) {
    size_t kept = 0;

    for (size_t i = 0; i < bands->count; i++) {
        const struct band *band = &bands->items[i];
        const char *instance =
            band->instance >= 0 ? chart->round->recorder->instances[band->instance] : NULL;

        /* Bands of all instances come first, so no band of a single one is dropped yet. */
        if ((instance != NULL || !is_of_one(bands, band)) &&
            !is_known(chart, instance, band->from_us, band->to_us))
            bands->items[kept++] = *band;
    }
    bands->count = kept;
}

static json_t *chart_faults(const struct chart *chart) {
    struct answers answers = {.spans = calloc(chart->count + 1, sizeof(struct span)),
                              .lost = calloc(chart->count + 1, sizeof(struct span))};
    int instances = (int)chart->round->recorder->instance_count;
    bool has_room = answers.spans != NULL && answers.lost != NULL;
    json_t *json = has_room ? json_array() : NULL;
    int64_t last_us = last_answer(chart);
    struct bands bands = {.count = 0};

    for (int i = -1; i < instances && has_room; i++)
        look_at_instance(chart, &answers, i, last_us, &bands);
    drop_explained(chart, &bands);
    for (const struct band *band = bands.items; band < bands.items + bands.count; band++)
        json_text_append(&json, json_pack("[i, I, I, I]", band->instance, (json_int_t)band->from_us,
                                          (json_int_t)band->to_us, (json_int_t)band->waiting));
    free(answers.spans);
    free(answers.lost);
    return json;
}

/* ---- the whole chart */

/* In a history an answer may precede its planned time. */
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

json_t *chart_make(const struct round *round) {
    const struct recorder *recorder = round->recorder;
    struct chart chart = {.round = round, .records = recorder->records};
    json_t *names = outcome_names(&chart), *json;

    chart.count = chart.records != NULL ? recorder->ended : 0;
    chart.instances = json_text_array(recorder->instances[0], sizeof recorder->instances[0],
                                      recorder->instance_count);
    find_ends(&chart);
    json = JSON_TEXT_OBJECT(
        {"repeat", json_integer((json_int_t)round->repeat)}, {"end_us", json_integer(chart.end_us)},
        {"planned_us", json_integer(chart.planned_us)}, {"instances", json_incref(chart.instances)},
        {"fail", failpoints(round)},
        {"event_count", json_integer((json_int_t)chart_event_count(&chart))},
        {"events", chart_events(&chart)}, {"faults", chart_faults(&chart)},
        {"outcomes", chart_outcomes(&chart, names)}, {"scatter", scatter(&chart, names)},
        {"latency", latency(&chart)}, {"examples", chart_examples(&chart)});
    chart_set_stock(&chart, &json);
    json_decref(names);
    json_decref(chart.instances);
    return json;
}

/* ---- thinning */

/* Whether the counterexample calls this op A, B or C. */
static bool chart_is_named(const json_t *ops, size_t i) {
    return json_integer_value(json_array_get(json_array_get(ops, i), 1)) != 0;
}

/* Keeps the named ops, and `keep` ops around the first of them. */
static void thin_ops(json_t *ops, size_t keep) {
    size_t first = 0, from;

    while (first < json_array_size(ops) && !chart_is_named(ops, first))
        first++;
    from = first > keep / 2 ? first - keep / 2 : 0;
    for (size_t i = json_array_size(ops); i-- > 0;)
        if ((i < from || i >= from + keep) && !chart_is_named(ops, i))
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
