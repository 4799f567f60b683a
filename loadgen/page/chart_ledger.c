/* Draws the stock by its rows, and the requests around each counterexample. */
#include "chart_ledger.h"

#include "json_text.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define CLOCK_US 1000 /* a database time farther outside of its request is counted */
#define FAR_NS   (INT64_C(1) << 46)

/* A ledger's time on the round's clock; -1 if it is not known. */
static int64_t chart_ledger_us(const struct round *round, int64_t at_us) {
    return at_us == 0 ? -1 : at_us + round->ledger_skew_us - round->started_us;
}

/* The order id of a request. */
static const char *chart_order_id(const struct record *record) {
    return record_order(record);
}

/* The ledger row of an order, or NULL. */
static const struct ledger_sale *chart_sale(const struct round *round, uint32_t item,
                                            const char *order_id) {
    if (round->ledgers == NULL || item >= round->items)
        return NULL;
    return ledger_find_sale(&round->ledgers[item], order_id);
}

/* For qsort(): compares structs by their first member, an int64_t. */
static int chart_by_number(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* ---- the stock by its rows, beside the confirmed orders
 *
 * A shop of other people has no rows of its stock. Then only orders are drawn, each at the moment
 * of the reply that confirmed it; without a reply, when its row was written, or else at the end. */

/* A sale, an order, or both. */
struct change {
    int64_t at_us;                  /* sort key */
    const struct ledger_sale *sale; /* NULL for an order */
    const struct ledger_row *row;   /* the row that sold it, or NULL if there is none */
    int64_t *left;                  /* units left in that row at the time */
    int64_t sold, ordered;          /* units */
};

/* The drawn products: all of them, or only the one with the largest oversell, because in a sum the
 * units of other products would hide it. */
struct drawn {
    const struct round *round;
    size_t first, end; /* places in the round's ledgers */
    int64_t initial, available;
    bool has_rows;                  /* of the stock */
    size_t change_count, row_count; /* sizes of the two arrays */
    struct change *changes;
    int64_t *left; /* in each stock row */
};

static void chart_choose(struct drawn *drawn) {
    const struct round *round = drawn->round;
    int64_t most = 0;

    drawn->end = round->items;
    drawn->has_rows = !round->is_shop_named;
    for (size_t i = 0; i < round->items; i++) {
        const struct ledger *ledger = &round->ledgers[i];
        int64_t ordered = drawn->has_rows ? (int64_t)ledger->order_count : ledger_sold(ledger);
        int64_t beyond = ordered - ledger->initial;

        if (beyond > most) {
            most = beyond;
            drawn->first = i;
            drawn->end = i + 1;
        }
    }
    for (size_t i = drawn->first; i < drawn->end; i++) {
        drawn->initial += round->ledgers[i].initial;
        drawn->available += round->ledgers[i].available + round->ledgers[i].returned;
        drawn->change_count += round->ledgers[i].sale_count + round->ledgers[i].order_count;
        drawn->row_count += round->ledgers[i].row_count;
    }
}

/* `left` has the units left in each row of the ledger. */
static struct change change_of(const struct round *round, const struct ledger *ledger,
                               const struct ledger_sale *sale, int64_t *left) {
    struct change change = {.at_us = chart_ledger_us(round, sale->at_us), .sale = sale, .sold = 1};

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
            drawn->changes[count++] = (struct change){
                .at_us = chart_ledger_us(drawn->round, ledger->orders[o].at_us), .ordered = 1};
        left += ledger->row_count;
    }
    assert(count == drawn->change_count && left == drawn->left + drawn->row_count);
    qsort(drawn->changes, count, sizeof *drawn->changes, chart_by_number);
}

/* Sets the moment of each sale of the product that a reply confirmed; the first reply counts. */
static void find_moments(const struct chart *chart, size_t item, struct change *changes) {
    const struct ledger *ledger = &chart->round->ledgers[item];

    for (size_t i = 0; i < chart->count; i++) {
        const struct record *record = &chart->records[i];
        const struct ledger_sale *sale;
        struct change *change;

        if (record->outcome != RECORD_SOLD || record->item != item)
            continue;
        sale = ledger_find_sale(ledger, chart_order_id(record));
        change = sale != NULL ? &changes[sale - ledger->sales] : NULL;
        if (change != NULL && (change->at_us < 0 || chart_end_us(record) < change->at_us))
            change->at_us = chart_end_us(record);
    }
}

/* Of ledgers without rows of the stock. */
static void collect_orders(const struct chart *chart, struct drawn *drawn) {
    size_t count = 0;

    for (size_t i = drawn->first; i < drawn->end; i++) {
        const struct ledger *ledger = &drawn->round->ledgers[i];
        struct change *changes = &drawn->changes[count];

        for (size_t s = 0; s < ledger->sale_count; s++, count++)
            drawn->changes[count] = (struct change){.at_us = -1,
                                                    .sold = ledger->sales[s].quantity,
                                                    .ordered = ledger->sales[s].quantity};
        find_moments(chart, i, changes);
        for (size_t s = 0; s < ledger->sale_count; s++)
            if (changes[s].at_us < 0) {
                changes[s].at_us = chart_ledger_us(drawn->round, ledger->sales[s].at_us);
                changes[s].at_us = changes[s].at_us < 0 ? chart->end_us : changes[s].at_us;
            }
    }
    drawn->change_count = count;
    qsort(drawn->changes, count, sizeof *drawn->changes, chart_by_number);
}

struct counts {
    int64_t stock, sold, orders;
};

/* A returned unit is sold without its row: its sale says that 0 remain. */
static void count_change(struct counts *counts, const struct change *change) {
    const struct ledger_sale *sale = change->sale;

    counts->sold += change->sold;
    counts->orders += change->ordered;
    if (change->row == NULL || (sale->remaining == 0 && change->row->available > 0))
        return;
    counts->stock += sale->remaining - *change->left;
    *change->left = sale->remaining;
}

/* The lines of the drawing, a number per step. A line is NULL without memory. */
enum { LINE_T, LINE_STOCK, LINE_SOLD, LINE_ORDERS, LINES };
static const char *const line_names[LINES] = {"t", "stock", "sold", "orders"};

/* The moment when orders became more than units, and the count of the stock row then; without rows,
 * the count in the end. */
struct oversell {
    int64_t at_us; /* -1: never */
    int64_t left;
};

/* Lines end after the last planned request and the last change: a late answer adds nothing. */
static int64_t last_step_us(const struct chart *chart, const struct drawn *drawn) {
    int64_t last_us = drawn->change_count > 0 ? drawn->changes[drawn->change_count - 1].at_us : 0;

    last_us = last_us > chart->planned_us ? last_us : chart->planned_us;
    return last_us < chart->end_us ? last_us : chart->end_us;
}

static struct oversell draw_steps(const struct chart *chart, const struct drawn *drawn,
                                  json_t *lines[LINES]) {
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
                oversell = (struct oversell){change->at_us,
                                             drawn->has_rows ? counts.stock : drawn->available};
        }
        json_text_append(&lines[LINE_T], json_integer(at_us));
        json_text_append(&lines[LINE_STOCK],
                         drawn->has_rows ? json_integer(counts.stock) : json_null());
        json_text_append(&lines[LINE_SOLD], json_integer(counts.sold));
        json_text_append(&lines[LINE_ORDERS], json_integer(counts.orders));
    }
    return oversell;
}

/* Counts sales with a database time outside of their request. */
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
        at_us = chart_ledger_us(chart->round, sale->at_us);
        if (at_us < 0)
            continue;
        sales++;
        outside += at_us < record->sent_ns / CHART_US - CLOCK_US ||
                   at_us > record->received_ns / CHART_US + CLOCK_US;
    }
    return json_pack("{s:I, s:I}", "sales", sales, "outside", outside);
}

static json_t *chart_number_or_null(int64_t number) {
    return number >= 0 ? json_integer(number) : json_null();
}

/* Makes the lines, and sets `oversell`. NULL without memory. */
static json_t *chart_draw(const struct chart *chart, struct drawn *drawn,
                          struct oversell *oversell) {
    json_t *lines[LINES] = {json_array(), json_array(), json_array(), json_array()};
    json_t *json = NULL;

    drawn->changes = calloc(drawn->change_count + 1, sizeof *drawn->changes);
    drawn->left = calloc(drawn->row_count + 1, sizeof *drawn->left);
    if (drawn->changes != NULL && drawn->left != NULL) {
        if (drawn->has_rows)
            collect_changes(drawn);
        else
            collect_orders(chart, drawn);
        *oversell = draw_steps(chart, drawn, lines);
        json = json_object();
    }
    for (size_t i = 0; i < LINES; i++)
        json_text_set(&json, line_names[i], lines[i]);
    free(drawn->changes);
    free(drawn->left);
    return json;
}

void chart_set_stock(const struct chart *chart, json_t **json) {
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

/* ---- the requests around each counterexample */

/* The place of the instance of this name; adds a new name. -1 for "". */
static int instance_place(struct chart *chart, const char *name) {
    size_t i;
    json_t *known;

    if (name == NULL)
        return -1;
    json_array_foreach (chart->instances, i, known)
        if (strcmp(json_string_value(known), name) == 0)
            return (int)i;
    return json_array_append_new(chart->instances, json_string(name)) == 0 ? (int)i : -1;
}

/* The operations of a counterexample, with their times. */
struct proof {
    const struct counterexample *example;
    const struct ledger_sale *sales[COUNTEREXAMPLE_OPS]; /* NULL: it has no sale */
    int64_t at_ns[COUNTEREXAMPLE_OPS];                   /* -1: unknown */
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
        int64_t us = sale != NULL ? chart_ledger_us(chart->round, sale->at_us) : -1;

        proof->sales[i] = sale;
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
                     (json_int_t)(sale != NULL ? chart_ledger_us(chart->round, sale->at_us) : -1));
}

/* An order of the proof that has a ledger row, but no request in this run. */
static json_t *row_json(struct chart *chart, const struct proof *proof, size_t i) {
    const struct ledger_sale *sale = proof->sales[i];

    return json_pack("[s, i, i, i, i, i, I, I]", sale->order_id, (int)i + 1,
                     instance_place(chart, sale->instance), -1, -1, -1, (json_int_t)sale->unit,
                     (json_int_t)chart_ledger_us(chart->round, sale->at_us));
}

/* A request with a sort key: first its distance from the proof, then its sending time. */
struct near {
    int64_t ns;
    const struct record *record;
};

/* Sorts the nearest first, and returns how many to keep: at most CHART_OPS, and all or none of the
 * requests with the same distance. */
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
        if (!proof->has_request[i] && proof->sales[i] != NULL)
            json_text_append(&ops, row_json(chart, proof, i));
    free(near);
    return ops;
}

/* The events of a counterexample; each has the place of its order among A, B and C. */
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

static json_t *example_json(struct chart *chart, const struct counterexample *example) {
    struct proof proof = {.example = example};
    json_int_t of = 0;

    locate(chart, &proof);
    for (size_t i = 0; i < chart->count; i++)
        of += chart->records[i].item == example->item && chart->records[i].sent_ns > 0;
    return JSON_TEXT_OBJECT(
        {"anomaly", json_string(anomaly_name(example->anomaly))},
        {"lines", json_text_array(example->line[0], sizeof example->line[0], example->lines)},
        {"item", json_integer(example->item)}, {"shard", json_integer(example->shard)},
        {"of", json_integer(of)}, {"ops", ops_json(chart, &proof)},
        {"events", example_events(chart, example)});
}

json_t *chart_examples(struct chart *chart) {
    const struct verdict *verdict = &chart->round->verdict;
    json_t *examples = json_array();

    for (size_t i = 0; i < verdict->counterexamples && chart->round->ledgers != NULL; i++)
        json_text_append(&examples, example_json(chart, &verdict->counterexample[i]));
    return examples;
}
