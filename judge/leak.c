/* LEAK: units and counts that do not add up.
 *
 * The sums of the product are compared with its stock, and so is each row by itself (stock.c),
 * because a unit too many in one row hides a missing one in another row. A unit sold twice counts
 * once: that is a TWIN, and no LEAK unless more is missing. */
#include "judge.h"
#include "number.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- sums */

/* Words for `excess` units too many. If units were sold that never existed, or a row is below
 * zero or above its beginning, nothing more is known about the units that did exist. */
static const char *tell_excess(const struct judge *judge, int64_t excess) {
    const struct ledger *ledger = judge->ledger;

    for (size_t i = 0; i < judge->row_count; i++)
        if (judge->rows[i].available < 0 || judge->rows[i].available > judge->rows[i].initial)
            return excess > 0 ? "too many" : "too few";
    if (excess < 0)
        return "neither sold nor left";
    return judge->outside == NULL && ledger->returned == 0 ? "sold and still in the stock"
                                                           : "too many";
}

/* Without unit numbers an oversell leaves nothing, or as many below zero. */
static int64_t find_miscount(struct judge *judge) {
    const struct ledger *ledger = judge->ledger;
    const int64_t sold = ledger->counted, left = ledger->available + ledger->returned;
    const int64_t right = ledger->initial > sold ? ledger->initial - sold : 0;
    const int64_t excess = sold + left == ledger->initial ? 0 : left - right;

    snprintf(judge->leak.sums, VERDICT_TEXT,
             "%" PRId64 " sold of a stock of %" PRId64 " leaves %" PRId64
             ", and the ledger says that %" PRId64 " are left",
             sold, ledger->initial, right, left);
    return excess;
}

static int64_t write_sums(const struct judge *judge, char text[VERDICT_TEXT]) {
    const struct ledger *ledger = judge->ledger;
    const int64_t sum = ledger->available + ledger->returned + ledger->units;
    const int64_t excess = sum - ledger->initial;
    char returned[40] = "";
    int used;

    if (ledger->returned != 0)
        snprintf(returned, sizeof returned, " + %" PRId64 " returned", ledger->returned);
    used = snprintf(text, VERDICT_TEXT, "%" PRId64 " left%s + %" PRId64 " unit%s sold is %" PRId64,
                    ledger->available, returned, ledger->units, ledger->units == 1 ? "" : "s", sum);
    if (excess == 0)
        snprintf(text + used, VERDICT_TEXT - (size_t)used, ", which equals the stock");
    else
        snprintf(text + used, VERDICT_TEXT - (size_t)used,
                 ", and the stock was %" PRId64 ": %" PRId64 " %s %s", ledger->initial,
                 excess > 0 ? excess : -excess,
                 excess == 1 || excess == -1 ? "unit is" : "units are", tell_excess(judge, excess));
    return excess;
}

/* The number of different units that this shard sold. */
static int64_t units_sold(const struct judge *judge, int64_t shard) {
    int64_t count = 0, end = INT64_MIN;

    for (size_t i = 0; i < judge->ledger->sale_count; i++) {
        const struct ledger_sale *sale = judge_by_unit(judge, i);
        const int64_t first = judge_first_unit(sale), own_end = first + sale->quantity;

        if (sale->shard != shard || own_end <= end)
            continue;
        count += own_end - number_max(end, first);
        end = own_end;
    }
    return count;
}

int64_t leak_write_row(const struct judge *judge, const struct ledger_row *row,
                       char text[VERDICT_TEXT]) {
    const int64_t sold = units_sold(judge, row->shard);
    int64_t back = 0;
    char returned[40] = "", name[40] = "The stock";

    for (size_t i = 0; i < judge->ledger->returned_count; i++)
        back += judge->ledger->returned_units[i].shard == row->shard;
    if (back > 0)
        snprintf(returned, sizeof returned, ", %" PRId64 " came back", back);
    if (judge->row_count > 1)
        snprintf(name, sizeof name, "Shard %" PRId64, row->shard);
    snprintf(text, VERDICT_TEXT,
             "%s began with %" PRId64 " units, %" PRId64 " to %" PRId64 ": %" PRId64
             " different ones sold, %" PRId64 " left%s.",
             name, row->initial, row->first_unit, row->first_unit + row->initial - 1, sold,
             row->available, returned);
    return sold + row->available + back - row->initial;
}

/* ---- contradictions within the ledger */

static void find_wrong(struct judge *judge) {
    for (size_t i = 0; i < judge->ledger->sale_count; i++) {
        const struct ledger_sale *sale = &judge->ledger->sales[i];

        if (judge_sale_kind(judge, sale) != SALE_WRONG)
            continue;
        judge->leak.wrong++;
        judge->leak.wrong_sale = judge->leak.wrong_sale != NULL ? judge->leak.wrong_sale : sale;
    }
}

static bool leak_is_sold(const struct judge *judge, int64_t unit) {
    size_t low = 0;

    for (size_t count = judge->ledger->sale_count; count > 0; count /= 2)
        if (judge_by_unit(judge, low + count / 2)->unit < unit) {
            low += count / 2 + 1;
            count--;
        }
    return low < judge->ledger->sale_count && judge_by_unit(judge, low)->unit == unit;
}

static bool is_somewhere(const struct judge *judge, int64_t unit) {
    for (size_t i = 0; i < judge->ledger->returned_count; i++)
        if (judge->ledger->returned_units[i].unit == unit)
            return true;
    return leak_is_sold(judge, unit);
}

static bool is_of_row(const struct judge *judge, const struct ledger_returned *returned) {
    const struct ledger_row *row = judge_row(judge, returned->shard);

    return row != NULL && returned->unit >= row->first_unit &&
           returned->unit - row->first_unit < row->initial;
}

static int by_returned(const void *a, const void *b) {
    const struct ledger_returned *x = a, *y = b;

    return (x->unit > y->unit) - (x->unit < y->unit);
}

/* Find units in the list of returned units that are not of their row, that an order has, or that
 * are in the list twice. */
static int find_returned(struct judge *judge) {
    const size_t count = judge->ledger->returned_count;
    struct ledger_returned *units = calloc(count + 1, sizeof *units);
    struct leak *leak = &judge->leak;

    if (units == NULL)
        return -1;
    if (count > 0) {
        memcpy(units, judge->ledger->returned_units, count * sizeof *units);
        qsort(units, count, sizeof *units, by_returned);
    }
    for (size_t i = 0; i < count; i++) {
        const int64_t unit = units[i].unit;

        if (!is_of_row(judge, &units[i])) {
            leak->unknown++;
            leak->unknown_unit = unit;
        } else if (leak_is_sold(judge, unit) || (i > 0 && units[i - 1].unit == unit)) {
            leak->doubled++;
            leak->doubled_unit = unit;
        }
    }
    free(units);
    return 0;
}

/* Count the units that each row, by itself, has too many or too few. */
static void find_unbalanced(struct judge *judge) {
    struct leak *leak = &judge->leak;
    char sums[VERDICT_TEXT];

    for (size_t i = 0; i < judge->row_count; i++) {
        const int64_t excess = leak_write_row(judge, &judge->rows[i], sums);

        leak->unbalanced += excess > 0 ? excess : -excess;
        if (excess != 0 && leak->unbalanced_row == NULL)
            leak->unbalanced_row = &judge->rows[i];
    }
}

/* The last sale of a unit that is still in the stock, and the last sale of its row, which wrote the
 * number that is left there. */
static struct pair find_last(const struct judge *judge) {
    struct pair pair = {.sales = {judge->leak.left, NULL}};

    for (size_t i = 0; i < judge->ledger->sale_count; i++) {
        const struct ledger_sale *sale = &judge->ledger->sales[i];
        const struct ledger_row *row = judge_row(judge, sale->shard);

        if (row != NULL && judge_sale_kind(judge, sale) == SALE_COUNTED &&
            sale->remaining < row->available && sale->at_us > pair.sales[0]->at_us)
            pair.sales[0] = sale;
    }
    for (size_t i = 0; i < judge->ledger->sale_count; i++) {
        const struct ledger_sale *sale = &judge->ledger->sales[i];

        if (sale->shard == pair.sales[0]->shard && sale->at_us > pair.sales[0]->at_us &&
            (pair.sales[1] == NULL || sale->at_us > pair.sales[1]->at_us))
            pair.sales[1] = sale;
    }
    return pair;
}

/* ---- all of it */

/* Add the parts of `count` to the sums: a unit too many hides a missing one there. */
static void leak_write_parts(struct leak *leak, int64_t count) {
    const struct {
        int64_t units;
        const char *text;
    } parts[] = {{leak->missing, "gone"},
                 {leak->surplus, "sold and in the stock"},
                 {leak->untaken, "came back, and no request can have given them back"},
                 {leak->unknown, "came back to a row that never had them"},
                 {leak->doubled, "came back while sold, or twice"},
                 {leak->wrong, "sold with a wrong count"}};
    size_t used = strlen(leak->sums);
    const char *before = ": ";

    used += (size_t)snprintf(leak->sums + used, VERDICT_TEXT - used, " (%" PRId64 " leaked", count);
    for (size_t i = 0; i < sizeof parts / sizeof *parts && used < VERDICT_TEXT; i++) {
        if (parts[i].units == 0)
            continue;
        used += (size_t)snprintf(leak->sums + used, VERDICT_TEXT - used, "%s%" PRId64 " %s", before,
                                 parts[i].units, parts[i].text);
        before = ", ";
    }
    if (used < VERDICT_TEXT)
        snprintf(leak->sums + used, VERDICT_TEXT - used, ")");
}

/* Count `count` units, and give an example of each kind. */
static void leak_tell(struct judge *judge, int64_t excess, int64_t count) {
    const struct leak *leak = &judge->leak;

    judge->found[ANOMALY_LEAK].count += count;
    if (excess != 0)
        judge_found(judge, ANOMALY_LEAK, 0, "%s", leak->sums);
    if (leak->wrong_sale != NULL)
        judge_found(judge, ANOMALY_LEAK, 0,
                    "order %s has unit %" PRId64 " of shard %" PRId32 " and left %" PRId64
                    " there: these contradict each other",
                    leak->wrong_sale->order_id, leak->wrong_sale->unit, leak->wrong_sale->shard,
                    leak->wrong_sale->remaining);
    if (leak->left != NULL)
        judge_found(judge, ANOMALY_LEAK, 0, "unit %" PRId64 " is in the stock, and order %s has it",
                    leak->left->unit, leak->left->order_id);
    if (leak->has_missed && leak->is_elsewhere)
        judge_found(judge, ANOMALY_LEAK, 0,
                    "unit %" PRId64 " is gone from shard %" PRId64
                    ", and the ledger has it under another one",
                    leak->missed.unit, leak->row->shard);
    else if (leak->has_missed)
        judge_found(judge, ANOMALY_LEAK, 0,
                    "unit %" PRId64 " was passed over: it is not in the stock, and no order has it",
                    leak->missed.unit);
    if (leak->unknown > 0)
        judge_found(judge, ANOMALY_LEAK, 0,
                    "unit %" PRId64 " came back for sale to a stock row that never had it",
                    leak->unknown_unit);
    if (leak->doubled > 0)
        judge_found(judge, ANOMALY_LEAK, 0, "unit %" PRId64 " came back for sale%s",
                    leak->doubled_unit,
                    leak_is_sold(judge, leak->doubled_unit) ? ", and an order has it" : " twice");
    if (leak->untaken > 0)
        judge_found(judge, ANOMALY_LEAK, 0,
                    "unit %" PRId64 " came back, and no request can have given it back",
                    leak->back_unit);
    if (!judge->has_found[ANOMALY_LEAK])
        judge_found(judge, ANOMALY_LEAK, 0, "%s", leak->sums);
}

/* If units can come back, a customer that has no order, and was not told sold out, may still hold
 * some: a payment failed, and the shop gives the customer some minutes to try again. */
static int64_t count_held(const struct judge *judge) {
    int64_t holders = 0;

    for (size_t i = 0; i < judge->purchase_count && judge->ledger->can_return; i++) {
        const struct purchase *purchase = &judge->purchases[i];
        const enum record_outcome last = purchase_request(purchase, purchase->count - 1)->outcome;

        holders += purchase->yes == 0 && !purchase->has_sale && last != RECORD_SOLD_OUT;
    }
    return holders * judge->most;
}

static void judge_counts(struct judge *judge) {
    const int64_t excess = find_miscount(judge);
    const int64_t held = excess < 0 ? number_min(-excess, count_held(judge)) : 0;
    const int64_t count = excess < 0 ? -excess - held : excess;

    judge->may_be_held = held > 0;
    if (count > 0)
        judge_found(judge, ANOMALY_LEAK, count, "%s", judge->leak.sums);
}

int judge_leaks(struct judge *judge) {
    const bool is_whole = judge->ledger->counted == judge->sold;
    struct leak *leak = &judge->leak;
    int64_t count, excess;

    if (judge->ledger->is_unnumbered) {
        judge_counts(judge);
        return 0;
    }
    /* A ledger that changed while it was read may lack a sale. */
    if (!is_whole)
        *leak = (struct leak){.missing = 0};
    excess = write_sums(judge, leak->sums);
    find_unbalanced(judge);
    if (is_whole) {
        find_wrong(judge);
        if (find_returned(judge) != 0)
            return -1;
    }
    count =
        leak->missing + leak->surplus + leak->untaken + leak->unknown + leak->doubled + leak->wrong;
    if (excess > count || -excess > count)
        count = excess > 0 ? excess : -excess;
    if (count == 0 && is_whole)
        count = leak->unbalanced;
    if (count == 0)
        return 0;
    if (count != excess && count != -excess)
        leak_write_parts(leak, count);
    leak->is_elsewhere = leak->has_missed && is_somewhere(judge, leak->missed.unit);
    if (leak->left != NULL)
        leak->last = find_last(judge);
    leak_tell(judge, excess, count);
    return 0;
}
