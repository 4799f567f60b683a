/* The stock as its rows told it, beside the orders that were confirmed. */
#include "chart_internal.h"
#include "json_text.h"

#include <assert.h>
#include <stdlib.h>

#define CLOCK_US 1000 /* a database time this far outside of its request is told */

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

static void choose(struct drawn *drawn) {
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

static void collect(struct drawn *drawn) {
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

/* The lines go on while requests are due or the ledgers change: a late answer adds nothing. */
static int64_t end_of(const struct chart *chart, const struct drawn *drawn) {
    int64_t last_us = drawn->change_count > 0 ? drawn->changes[drawn->change_count - 1].at_us : 0;

    last_us = last_us > chart->planned_us ? last_us : chart->planned_us;
    return last_us < chart->end_us ? last_us : chart->end_us;
}

static struct oversell sample(const struct chart *chart, const struct drawn *drawn,
                              struct lines *lines) {
    struct counts counts = {.stock = drawn->initial};
    struct oversell oversell = {.at_us = -1};
    const struct change *change = drawn->changes, *end = change + drawn->change_count;
    int64_t end_us = end_of(chart, drawn);

    for (int64_t step = 0; step < CHART_STEPS; step++) {
        int64_t at_us = end_us * step / (CHART_STEPS - 1);
        bool is_last = step == CHART_STEPS - 1;

        for (; change < end && (change->at_us <= at_us || is_last); change++) {
            count_change(&counts, change);
            if (oversell.at_us < 0 && counts.orders > drawn->initial)
                oversell = (struct oversell){change->at_us, counts.stock};
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

/* The lines, and when the stock was oversold. NULL without memory. */
static json_t *draw(const struct chart *chart, struct drawn *drawn, struct oversell *oversell) {
    struct lines lines = {json_array(), json_array(), json_array(), json_array()};
    json_t *json = NULL;

    drawn->changes = calloc(drawn->change_count + 1, sizeof *drawn->changes);
    drawn->left = calloc(drawn->row_count + 1, sizeof *drawn->left);
    if (drawn->changes != NULL && drawn->left != NULL) {
        collect(drawn);
        *oversell = sample(chart, drawn, &lines);
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

void chart_stock(const struct chart *chart, json_t **json) {
    const struct round *round = chart->round;
    struct oversell oversell = {.at_us = -1};
    struct drawn drawn = {.round = round};
    bool is_one_of_many;
    json_t *lines;

    if (round->ledgers == NULL) {
        json_text_set(json, "stock", json_null());
        return;
    }
    choose(&drawn);
    is_one_of_many = drawn.end - drawn.first < round->items;
    lines = draw(chart, &drawn, &oversell);
    json_text_set(json, "oversold_us", number_or_null(oversell.at_us));
    json_text_set(json, "oversold_left", json_integer(oversell.left));
    json_text_set(json, "stock", lines);
    json_text_set(json, "initial", json_integer(drawn.initial));
    json_text_set(json, "product", number_or_null(is_one_of_many ? (int64_t)drawn.first : -1));
    json_text_set(json, "clock", clock_check(chart));
}
