/* The latency of single requests, and its percentiles per interval. */
#include "chart_internal.h"
#include "json_text.h"

#include <assert.h>
#include <stdlib.h>

#define INTERVALS 60   /* at the most */
#define RARE      150  /* of an outcome that are kept however many others there are */
#define WANTED    1300 /* drawn by lot, so that those that come out fit into CHART_POINTS */

static bool is_timed(const struct record *record) {
    return record->received_ns > 0;
}

static int64_t latency_us(const struct record *record) {
    return (record->received_ns - record->planned_ns) / CHART_US;
}

/* Of those of this length, the one in which it was planned. */
static int64_t interval_of(const struct record *record, int64_t step_us) {
    return record->planned_ns / CHART_US / step_us;
}

/* ---- percentiles */

struct sample {
    int64_t interval, latency_us; /* they are sorted by both */
};

static int by_latency(const void *a, const void *b) {
    const struct sample *x = a, *y = b;

    if (x->interval != y->interval)
        return x->interval < y->interval ? -1 : 1;
    return (x->latency_us > y->latency_us) - (x->latency_us < y->latency_us);
}

/* As the summary counts them: what was never sent has no response time. */
static size_t collect(const struct chart *chart, int64_t step_us, struct sample *samples) {
    size_t count = 0;

    for (size_t i = 0; i < chart->count; i++) {
        const struct record *record = &chart->records[i];

        if (record->sent_ns > 0 && is_timed(record))
            samples[count++] = (struct sample){interval_of(record, step_us), latency_us(record)};
    }
    qsort(samples, count, sizeof *samples, by_latency);
    return count;
}

/* By the nearest rank: the least that so great a part does not exceed. */
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
    size_t count = samples != NULL ? collect(chart, step_us, samples) : 0, end = 0;

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

/* A percentile of a few requests says little: intervals hold some 150 of them. */
static int64_t interval_us(const struct chart *chart) {
    int64_t most = (int64_t)(chart->count / 150);

    return chart_step_us(chart->planned_us, 10000,
                         most < 10          ? 10
                         : most > INTERVALS ? INTERVALS
                                            : most);
}

json_t *chart_latency(const struct chart *chart) {
    int64_t step_us = interval_us(chart);
    json_t *json = json_object();

    json_text_set(&json, "step_us", json_integer(step_us));
    json_text_set(&json, "rows", latency_rows(chart, step_us));
    return json;
}

/* ---- points */

struct lot {
    uint32_t order; /* what is drawn first */
    const struct record *record;
};

/* A good mix of all bits (Knuth's multiplicative hash, and its high half folded down). */
static uint32_t hash(uint32_t number) {
    uint32_t mixed = (number + 1) * 2654435761u;

    return (mixed ^ mixed >> 16) * 2246822519u;
}

/* The chance of an outcome's request to be kept, in 2^32. */
static uint64_t chance(const struct chart *chart, enum record_outcome outcome) {
    const size_t *by_outcome = chart->round->recorder->by_outcome;
    uint64_t count = by_outcome[outcome], share;

    if (chart->count <= WANTED || count <= RARE)
        return UINT64_C(1) << 32;
    share = (WANTED - RARE * 2) * count / chart->count;
    return ((share > RARE ? share : RARE) << 32) / count;
}

static size_t draw_lots(const struct chart *chart, struct lot *lots, size_t room) {
    uint64_t chances[RECORD_OUTCOME_COUNT];
    size_t count = 0;

    for (int i = 0; i < RECORD_OUTCOME_COUNT; i++)
        chances[i] = chance(chart, (enum record_outcome)i);
    for (size_t i = 0; i < chart->count && count < room; i++) {
        const struct record *record = &chart->records[i];
        uint32_t order = hash(record->number);

        if (is_timed(record) && order < chances[record->outcome])
            lots[count++] = (struct lot){order / 2 + 1, record};
    }
    return count;
}

/* The slowest of each interval comes before all others. */
static size_t draw_slowest(const struct chart *chart, struct lot *lots) {
    int64_t step_us = chart_step_us(chart->planned_us, 10000, INTERVALS);
    const struct record *slowest[INTERVALS + 1] = {NULL};
    size_t count = 0;

    for (size_t i = 0; i < chart->count; i++) {
        const struct record *record = &chart->records[i], **at;

        if (!is_timed(record))
            continue;
        assert(interval_of(record, step_us) <= INTERVALS);
        at = &slowest[interval_of(record, step_us)];
        if (*at == NULL || latency_us(record) > latency_us(*at))
            *at = record;
    }
    for (size_t i = 0; i <= INTERVALS; i++)
        if (slowest[i] != NULL)
            lots[count++] = (struct lot){0, slowest[i]};
    return count;
}

static int by_record(const void *a, const void *b) {
    const struct lot *x = a, *y = b;

    if (x->record != y->record)
        return x->record < y->record ? -1 : 1;
    return (x->order > y->order) - (x->order < y->order);
}

static int by_order(const void *a, const void *b) {
    const struct lot *x = a, *y = b;

    if (x->order != y->order)
        return x->order < y->order ? -1 : 1;
    return (x->record > y->record) - (x->record < y->record);
}

/* Each record once, the most important first. */
static size_t settle(struct lot *lots, size_t count) {
    size_t kept = 0;

    qsort(lots, count, sizeof *lots, by_record);
    for (size_t i = 0; i < count; i++)
        if (i == 0 || lots[i].record != lots[i - 1].record)
            lots[kept++] = lots[i];
    qsort(lots, kept, sizeof *lots, by_order);
    return kept < CHART_POINTS ? kept : CHART_POINTS;
}

static json_t *points_json(const struct chart *chart) {
    struct lot *lots = calloc(2 * CHART_POINTS, sizeof *lots);
    json_t *points = lots != NULL ? json_array() : NULL;
    size_t count = 0;

    if (lots != NULL) {
        count = draw_slowest(chart, lots);
        count += draw_lots(chart, lots + count, 2 * CHART_POINTS - count);
        count = settle(lots, count);
    }
    for (size_t i = 0; i < count; i++)
        json_text_append(&points,
                         json_pack("[I, I, i]", (json_int_t)(lots[i].record->planned_ns / CHART_US),
                                   (json_int_t)latency_us(lots[i].record),
                                   chart->place[lots[i].record->outcome]));
    free(lots);
    return points;
}

json_t *chart_scatter(const struct chart *chart, json_t *names) {
    json_t *json = json_object();
    json_int_t timed = 0;

    for (size_t i = 0; i < chart->count; i++)
        timed += is_timed(&chart->records[i]);
    json_text_set(&json, "of", json_integer(timed));
    json_text_set(&json, "points", points_json(chart));
    json_text_set(&json, "names", json_incref(names));
    return json;
}
