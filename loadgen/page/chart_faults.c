/* Spans in which an instance answered nothing though requests were in flight. */
#include "chart_internal.h"
#include "json_text.h"

#include <stdlib.h>

#define SILENT_US 250000
#define LOOK      5000 /* requests after a gap that are looked at */
#define BANDS     40   /* at the most */

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

static bool is_lost(const struct record *record) {
    return record->instance < 0 && record->sent_ns > 0 &&
           (record->outcome == RECORD_UNKNOWN || record->outcome == RECORD_FAILED);
}

static void collect(const struct chart *chart, int instance, struct answers *answers) {
    answers->instance = instance;
    answers->count = answers->lost_count = 0;
    for (size_t i = 0; i < chart->count; i++) {
        const struct record *record = &chart->records[i];
        struct span span = {chart_end_us(record), record->sent_ns / CHART_US};

        if (is_lost(record))
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

static void add(struct bands *bands, const struct band *band) {
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
    add(bands, &band);
}

/* Nothing came after the last answer, and requests were lost. `last_us` is the last answer of any
 * instance. */
static void look_at_end(const struct answers *answers, int64_t last_us, struct bands *bands) {
    int64_t from_us = answers->spans[answers->count - 1].ended_us;
    struct band band = {.instance = answers->instance, .to_us = last_us};

    for (size_t j = 0; j < answers->lost_count; j++)
        count_waiting(&band, from_us, last_us, answers->lost[j]);
    add(bands, &band);
}

static void look(const struct chart *chart, struct answers *answers, int instance, int64_t last_us,
                 struct bands *bands) {
    collect(chart, instance, answers);
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

        if (!chart_is_known(chart, instance, band->from_us, band->to_us))
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
        look(chart, &answers, i, last_us, &bands);
    drop_explained(&bands);
    drop_known(chart, &bands);
    for (size_t i = 0; i < bands.count; i++)
        json_text_append(&json, band_json(&bands.items[i]));
    free(answers.spans);
    free(answers.lost);
    return json;
}
