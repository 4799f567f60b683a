/* Samples a round for the page: what happened over time, and what the ledgers say. */
#include "chart.h"

#include "chart_lanes.h"
#include "json_text.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define INTERVALS 60   /* of latency, at the most */
#define RARE      150  /* of an outcome that are kept however many others there are */
#define WANTED    1300 /* drawn by lot, so that those that come out fit into CHART_POINTS */
#define CLOCK_US  1000 /* a database time this far outside of its request is told */

/* 1, 2, 5, 10, 20, 50 ... times the least. */
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
    json_t *json = json_object();

    json_text_set(&json, "step_us", json_integer(step_us));
    json_text_set(&json, "rows", outcome_rows(chart, step_us));
    json_text_set(&json, "names", json_incref(names));
    return json;
}

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

/* ---- percentiles of latency */

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

/* A percentile of a few requests says little: intervals hold some 150 of them. */
static int64_t interval_us(const struct chart *chart) {
    int64_t most = (int64_t)(chart->count / 150);

    return step_for(chart->planned_us, 10000, most < 10 ? 10 : most > INTERVALS ? INTERVALS : most);
}

static json_t *latency(const struct chart *chart) {
    int64_t step_us = interval_us(chart);
    json_t *json = json_object();

    json_text_set(&json, "step_us", json_integer(step_us));
    json_text_set(&json, "rows", latency_rows(chart, step_us));
    return json;
}

/* ---- single requests, as points */

struct lot {
    uint32_t order; /* what is drawn first */
    const struct record *record;
};

/* A good mix of all bits (Knuth's multiplicative hash, and its high half folded down). */
static uint32_t chart_hash(uint32_t number) {
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
        uint32_t order = chart_hash(record->number);

        if (is_timed(record) && order < chances[record->outcome])
            lots[count++] = (struct lot){order / 2 + 1, record};
    }
    return count;
}

/* The slowest of each interval comes before all others. */
static size_t draw_slowest(const struct chart *chart, struct lot *lots) {
    int64_t step_us = step_for(chart->planned_us, 10000, INTERVALS);
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

static int chart_by_order(const void *a, const void *b) {
    const struct lot *x = a, *y = b;

    if (x->order != y->order)
        return x->order < y->order ? -1 : 1;
    return (x->record > y->record) - (x->record < y->record);
}

/* Each record once, the most important first. */
static size_t chart_settle(struct lot *lots, size_t count) {
    size_t kept = 0;

    qsort(lots, count, sizeof *lots, by_record);
    for (size_t i = 0; i < count; i++)
        if (i == 0 || lots[i].record != lots[i - 1].record)
            lots[kept++] = lots[i];
    qsort(lots, kept, sizeof *lots, chart_by_order);
    return kept < CHART_POINTS ? kept : CHART_POINTS;
}

static json_t *points_json(const struct chart *chart) {
    struct lot *lots = calloc(2 * CHART_POINTS, sizeof *lots);
    json_t *points = lots != NULL ? json_array() : NULL;
    size_t count = 0;

    if (lots != NULL) {
        count = draw_slowest(chart, lots);
        count += draw_lots(chart, lots + count, 2 * CHART_POINTS - count);
        count = chart_settle(lots, count);
    }
    for (size_t i = 0; i < count; i++)
        json_text_append(&points,
                         json_pack("[I, I, i]", (json_int_t)(lots[i].record->planned_ns / CHART_US),
                                   (json_int_t)latency_us(lots[i].record),
                                   chart->place[lots[i].record->outcome]));
    free(lots);
    return points;
}

static json_t *scatter(const struct chart *chart, json_t *names) {
    json_t *json = json_object();
    json_int_t timed = 0;

    for (size_t i = 0; i < chart->count; i++)
        timed += is_timed(&chart->records[i]);
    json_text_set(&json, "of", json_integer(timed));
    json_text_set(&json, "points", points_json(chart));
    json_text_set(&json, "names", json_incref(names));
    return json;
}

/* ---- the stock as its rows told it, beside the orders that were confirmed */

/* A sale or an order. */
struct change {
    int64_t at_us;                  /* they are sorted by it */
    const struct ledger_sale *sale; /* NULL for an order */
    const struct ledger_row *row;   /* that it was sold from, or NULL when there is none */
    int64_t *left;                  /* in that row at the time */
};

/* What is drawn: the product that was oversold the most, for in a sum the units of others hide it;
 * or all of them. */
struct drawn {
    const struct round *round;
    size_t first, end; /* places in the round's ledgers */
    int64_t initial;
    size_t change_count, row_count; /* as much as there is room for */
    struct change *changes;
    int64_t *left; /* in each stock row */
};

static void chart_choose(struct drawn *drawn) {
    const struct round *round = drawn->round;
    int64_t most = 0;

    drawn->end = round->items;
    for (size_t i = 0; i < round->items; i++) {
        int64_t beyond = (int64_t)round->ledgers[i].order_count - round->ledgers[i].initial;

        if (beyond > most) {
            most = beyond;
            drawn->first = i;
            drawn->end = i + 1;
        }
    }
    for (size_t i = drawn->first; i < drawn->end; i++) {
        drawn->initial += round->ledgers[i].initial;
        drawn->change_count += round->ledgers[i].sale_count + round->ledgers[i].order_count;
        drawn->row_count += round->ledgers[i].row_count;
    }
}

/* `left` has what is left in each row of the ledger. */
static struct change change_of(const struct round *round, const struct ledger *ledger,
                               const struct ledger_sale *sale, int64_t *left) {
    struct change change = {.at_us = chart_ledger_us(round, sale->at), .sale = sale};

    for (size_t r = 0; r < ledger->row_count && change.row == NULL; r++)
        if (ledger->rows[r].shard == sale->shard) {
            change.row = &ledger->rows[r];
            change.left = &left[r];
        }
    return change;
}

static void collect_changes(struct drawn *drawn) {
    size_t count = 0;
    int64_t *left = drawn->left;

    for (size_t i = drawn->first; i < drawn->end; i++) {
        const struct ledger *ledger = &drawn->round->ledgers[i];

        for (size_t r = 0; r < ledger->row_count; r++)
            left[r] = ledger->rows[r].initial;
        for (size_t s = 0; s < ledger->sale_count; s++)
            drawn->changes[count++] = change_of(drawn->round, ledger, &ledger->sales[s], left);
        for (size_t o = 0; o < ledger->order_count; o++)
            drawn->changes[count++] =
                (struct change){.at_us = chart_ledger_us(drawn->round, ledger->orders[o].at)};
        left += ledger->row_count;
    }
    assert(count == drawn->change_count && left == drawn->left + drawn->row_count);
    qsort(drawn->changes, count, sizeof *drawn->changes, chart_by_number);
}

struct counts {
    int64_t stock, sold, orders;
};

/* A unit that had come back is sold without its row, and tells 0. */
static void count_change(struct counts *counts, const struct change *change) {
    const struct ledger_sale *sale = change->sale;

    counts->sold += sale != NULL;
    counts->orders += sale == NULL;
    if (change->row == NULL || (sale->remaining == 0 && change->row->available > 0))
        return;
    counts->stock += sale->remaining - *change->left;
    *change->left = sale->remaining;
}

/* The numbers of each step; NULL without memory. */
struct lines {
    json_t *t, *stock, *sold, *orders;
};

static void chart_append(struct lines *lines, int64_t at_us, const struct counts *counts) {
    json_text_append(&lines->t, json_integer(at_us));
    json_text_append(&lines->stock, json_integer(counts->stock));
    json_text_append(&lines->sold, json_integer(counts->sold));
    json_text_append(&lines->orders, json_integer(counts->orders));
}

/* When the orders became more than the units, and what the stock row said then. */
struct oversell {
    int64_t at_us; /* -1: never */
    int64_t left;
};

/* The lines go on while requests are due or the ledgers change: a late answer adds nothing. */
static int64_t last_step_us(const struct chart *chart, const struct drawn *drawn) {
    int64_t last_us = drawn->change_count > 0 ? drawn->changes[drawn->change_count - 1].at_us : 0;

    last_us = last_us > chart->planned_us ? last_us : chart->planned_us;
    return last_us < chart->end_us ? last_us : chart->end_us;
}

static struct oversell draw_steps(const struct chart *chart, const struct drawn *drawn,
                                  struct lines *lines) {
    struct counts counts = {.stock = drawn->initial};
    struct oversell oversell = {.at_us = -1};
    const struct change *change = drawn->changes, *end = change + drawn->change_count;
    int64_t end_us = last_step_us(chart, drawn);

    for (int64_t step = 0; step < CHART_STEPS; step++) {
        int64_t at_us = end_us * step / (CHART_STEPS - 1);
        bool is_last = step == CHART_STEPS - 1;

        for (; change < end && (change->at_us <= at_us || is_last); change++) {
            count_change(&counts, change);
            if (oversell.at_us < 0 && counts.orders > drawn->initial)
                oversell = (struct oversell){change->at_us, counts.stock};
        }
        chart_append(lines, at_us, &counts);
    }
    return oversell;
}

/* How many database times lie outside of the request that made them. */
static json_t *clock_check(const struct chart *chart) {
    json_int_t sales = 0, outside = 0;

    for (size_t i = 0; i < chart->count; i++) {
        const struct record *record = &chart->records[i];
        const struct ledger_sale *sale;
        int64_t at_us;

        if (record->outcome != RECORD_SOLD || record->is_repeat)
            continue;
        sale = chart_sale(chart->round, record->item, chart_order_id(record));
        if (sale == NULL)
            continue;
        at_us = chart_ledger_us(chart->round, sale->at);
        sales++;
        outside += at_us < record->sent_ns / CHART_US - CLOCK_US ||
                   at_us > record->received_ns / CHART_US + CLOCK_US;
    }
    return json_pack("{s:I, s:I}", "sales", sales, "outside", outside);
}

static json_t *chart_number_or_null(int64_t number) {
    return number >= 0 ? json_integer(number) : json_null();
}

/* The lines, and when the stock was oversold. NULL without memory. */
static json_t *chart_draw(const struct chart *chart, struct drawn *drawn,
                          struct oversell *oversell) {
    struct lines lines = {json_array(), json_array(), json_array(), json_array()};
    json_t *json = NULL;

    drawn->changes = calloc(drawn->change_count + 1, sizeof *drawn->changes);
    drawn->left = calloc(drawn->row_count + 1, sizeof *drawn->left);
    if (drawn->changes != NULL && drawn->left != NULL) {
        collect_changes(drawn);
        *oversell = draw_steps(chart, drawn, &lines);
        json = json_object();
    }
    json_text_set(&json, "t", lines.t);
    json_text_set(&json, "stock", lines.stock);
    json_text_set(&json, "sold", lines.sold);
    json_text_set(&json, "orders", lines.orders);
    free(drawn->changes);
    free(drawn->left);
    return json;
}

static void set_stock(const struct chart *chart, json_t **json) {
    const struct round *round = chart->round;
    struct oversell oversell = {.at_us = -1};
    struct drawn drawn = {.round = round};
    bool is_one_of_many;
    json_t *lines;

    if (round->ledgers == NULL) {
        json_text_set(json, "stock", json_null());
        return;
    }
    chart_choose(&drawn);
    is_one_of_many = drawn.end - drawn.first < round->items;
    lines = chart_draw(chart, &drawn, &oversell);
    json_text_set(json, "oversold_us", chart_number_or_null(oversell.at_us));
    json_text_set(json, "oversold_left", json_integer(oversell.left));
    json_text_set(json, "stock", lines);
    json_text_set(json, "initial", json_integer(drawn.initial));
    json_text_set(json, "product",
                  chart_number_or_null(is_one_of_many ? (int64_t)drawn.first : -1));
    json_text_set(json, "clock", clock_check(chart));
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

json_t *chart_make(const struct round *round) {
    const struct recorder *recorder = round->recorder;
    struct chart chart = {.round = round, .records = recorder->records};
    json_t *names = outcome_names(&chart), *json = json_object();

    chart.count = chart.records != NULL ? recorder->ended : 0;
    chart.instances = json_text_array(recorder->instances[0], sizeof recorder->instances[0],
                                      recorder->instance_count);
    find_ends(&chart);
    json_text_set(&json, "repeat", json_integer((json_int_t)round->repeat));
    json_text_set(&json, "end_us", json_integer(chart.end_us));
    json_text_set(&json, "planned_us", json_integer(chart.planned_us));
    json_text_set(&json, "instances", json_incref(chart.instances));
    json_text_set(&json, "fail", failpoints(round));
    json_text_set(&json, "event_count", json_integer((json_int_t)chart_event_count(&chart)));
    json_text_set(&json, "events", chart_events(&chart));
    json_text_set(&json, "faults", chart_faults(&chart));
    json_text_set(&json, "outcomes", chart_outcomes(&chart, names));
    json_text_set(&json, "scatter", scatter(&chart, names));
    json_text_set(&json, "latency", latency(&chart));
    json_text_set(&json, "examples", chart_examples(&chart));
    set_stock(&chart, &json);
    json_decref(names);
    json_decref(chart.instances);
    return json;
}

/* ---- thinning */

/* An op that the counterexample calls A, B or C. */
static bool chart_is_named(const json_t *ops, size_t i) {
    return json_integer_value(json_array_get(json_array_get(ops, i), 1)) != 0;
}

/* Those that are named, and the `keep` around the first of them. */
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
