/* The stock as its rows told it, beside the orders that were confirmed. */
#include "chart_internal.h"
#include "json_text.h"

#include <stdlib.h>
#include <string.h>

#define CLOCK_US 1000 /* a database time this far outside of its request is told */

/* A sale or an order; `left` is what it made of its stock row. */
struct event {
    int64_t at_us;               /* they are sorted by it */
    const struct ledger *ledger; /* NULL for an order */
    const struct ledger_sale *sale;
};

struct counts {
    int64_t stock, sold, orders;
};

/* What is drawn: the product that was oversold the most, for in a sum the units of others hide it;
 * or all of them. */
struct products {
    size_t first, end; /* places in the round's ledgers */
};

static struct products choose(const struct round *round) {
    struct products chosen = {0, round->items};
    int64_t most = 0;

    for (size_t i = 0; i < round->items; i++) {
        int64_t beyond = (int64_t)round->ledgers[i].order_count - round->ledgers[i].initial;

        if (beyond > most) {
            most = beyond;
            chosen = (struct products){i, i + 1};
        }
    }
    return chosen;
}

static int64_t initial_of(const struct round *round, struct products products) {
    int64_t initial = 0;

    for (size_t i = products.first; i < products.end; i++)
        initial += round->ledgers[i].initial;
    return initial;
}

static size_t collect(const struct round *round, struct products products, struct event *events) {
    size_t count = 0;

    for (size_t i = products.first; i < products.end; i++) {
        const struct ledger *ledger = &round->ledgers[i];

        for (size_t s = 0; s < ledger->sale_count; s++)
            events[count++] = (struct event){chart_ledger_us(round, ledger->sales[s].at), ledger,
                                             &ledger->sales[s]};
        for (size_t o = 0; o < ledger->order_count; o++)
            events[count++] =
                (struct event){chart_ledger_us(round, ledger->orders[o].at), NULL, NULL};
    }
    qsort(events, count, sizeof *events, chart_by_number);
    return count;
}

/* What each stock row of all products holds: `left[base of the product + place of the row]`. */
struct rows {
    const struct round *round;
    int64_t *left;
};

static int rows_open(struct rows *rows, const struct round *round) {
    size_t count = 0;

    rows->round = round;
    for (size_t i = 0; i < round->items; i++)
        count += round->ledgers[i].row_count;
    rows->left = calloc(count + 1, sizeof *rows->left);
    if (rows->left == NULL)
        return -1;
    count = 0;
    for (size_t i = 0; i < round->items; i++)
        for (size_t r = 0; r < round->ledgers[i].row_count; r++)
            rows->left[count++] = round->ledgers[i].rows[r].initial;
    return 0;
}

/* How the sale changed the stock. A unit that had come back is sold without its row, and tells 0.
 */
static int64_t rows_take(struct rows *rows, const struct event *event) {
    const struct ledger *ledger = event->ledger;
    size_t base = 0;

    for (const struct ledger *l = rows->round->ledgers; l != ledger; l++)
        base += l->row_count;
    for (size_t r = 0; r < ledger->row_count; r++) {
        int64_t *left = &rows->left[base + r], change = event->sale->remaining - *left;

        if (ledger->rows[r].shard != event->sale->shard)
            continue;
        if (event->sale->remaining == 0 && ledger->rows[r].available > 0)
            return 0;
        *left += change;
        return change;
    }
    return 0;
}

static void count_event(struct counts *counts, struct rows *rows, const struct event *event) {
    if (event->ledger == NULL) {
        counts->orders++;
        return;
    }
    counts->sold++;
    counts->stock += rows_take(rows, event);
}

/* The numbers of each step; NULL without memory. */
struct lines {
    json_t *t, *stock, *sold, *orders;
};

static void append(struct lines *lines, int64_t at_us, const struct counts *counts) {
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

static struct oversell sample(const struct chart *chart, const struct event *events, size_t count,
                              struct rows *rows, int64_t initial, struct lines *lines) {
    struct counts counts = {.stock = initial};
    struct oversell oversell = {.at_us = -1};
    size_t next = 0;

    for (int64_t step = 0; step < CHART_STEPS; step++) {
        int64_t at_us = chart->end_us * step / (CHART_STEPS - 1);
        bool is_last = step == CHART_STEPS - 1;

        for (; next < count && (events[next].at_us <= at_us || is_last); next++) {
            count_event(&counts, rows, &events[next]);
            if (oversell.at_us < 0 && counts.orders > initial)
                oversell = (struct oversell){events[next].at_us, counts.stock};
        }
        append(lines, at_us, &counts);
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

static json_t *number_or_null(int64_t number) {
    return number >= 0 ? json_integer(number) : json_null();
}

static size_t event_count(const struct round *round) {
    size_t count = 0;

    for (size_t i = 0; i < round->items; i++)
        count += round->ledgers[i].sale_count + round->ledgers[i].order_count;
    return count;
}

/* The lines, and when the stock was oversold. NULL without memory. */
static json_t *draw(const struct chart *chart, struct products products, int64_t initial,
                    struct oversell *oversell) {
    struct lines lines = {json_array(), json_array(), json_array(), json_array()};
    struct event *events = calloc(event_count(chart->round) + 1, sizeof *events);
    json_t *json = json_object();
    struct rows rows;

    if (rows_open(&rows, chart->round) != 0 || events == NULL)
        json_text_set(&json, "t", NULL);
    else
        *oversell =
            sample(chart, events, collect(chart->round, products, events), &rows, initial, &lines);
    json_text_set(&json, "t", lines.t);
    json_text_set(&json, "stock", lines.stock);
    json_text_set(&json, "sold", lines.sold);
    json_text_set(&json, "orders", lines.orders);
    free(rows.left);
    free(events);
    return json;
}

void chart_stock(const struct chart *chart, json_t **json) {
    const struct round *round = chart->round;
    struct oversell oversell = {.at_us = -1};
    struct products products;
    bool is_one_of_many;
    int64_t initial;
    json_t *lines;

    if (round->ledgers == NULL) {
        json_text_set(json, "stock", json_null());
        return;
    }
    products = choose(round);
    is_one_of_many = products.end - products.first < round->items;
    initial = initial_of(round, products);
    lines = draw(chart, products, initial, &oversell);
    json_text_set(json, "oversold_us", number_or_null(oversell.at_us));
    json_text_set(json, "oversold_left", json_integer(oversell.left));
    json_text_set(json, "stock", lines);
    json_text_set(json, "initial", json_integer(initial));
    json_text_set(json, "product", number_or_null(is_one_of_many ? (int64_t)products.first : -1));
    json_text_set(json, "clock", clock_check(chart));
}
