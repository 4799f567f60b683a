/* Tells a LEAK: units that are in the stock although they were sold, or are gone although nobody
 * has them, and the sums that are wrong. */
#include "example_text.h"

#include <inttypes.h>
#include <string.h>

/* The last sale of a unit that is in the stock all the same, and the last sale of its row, which
 * wrote what is left there. */
static struct pair example_leak_find_surplus(const struct judge *judge) {
    struct pair pair = {.sales = {judge->leak.left, NULL}};

    for (size_t i = 0; i < judge->ledger->sale_count; i++) {
        const struct ledger_sale *sale = &judge->ledger->sales[i];
        const struct ledger_row *row = judge_row(judge, sale->shard);

        if (row != NULL && judge_sale_kind(judge, sale) == SALE_COUNTED &&
            sale->remaining < row->available && strcmp(sale->at, pair.sales[0]->at) > 0)
            pair.sales[0] = sale;
    }
    for (size_t i = 0; i < judge->ledger->sale_count; i++) {
        const struct ledger_sale *sale = &judge->ledger->sales[i];

        if (sale->shard == pair.sales[0]->shard && strcmp(sale->at, pair.sales[0]->at) > 0 &&
            (pair.sales[1] == NULL || strcmp(sale->at, pair.sales[1]->at) > 0))
            pair.sales[1] = sale;
    }
    return pair;
}

static const struct ledger_row *tell_surplus(struct counterexample *example,
                                             const struct judge *judge) {
    const struct pair pair = example_leak_find_surplus(judge);
    const struct ledger_sale *a = pair.sales[0], *b = pair.sales[1];
    const struct ledger_row *row = judge_row(judge, a->shard);

    example_tell_sale(example, judge, a);
    if (b != NULL && judge_sale_kind(judge, b) == SALE_COUNTED && b->remaining == row->available) {
        example_tell_sale(example, judge, b);
        example_say(example, "B wrote %" PRId64 " after A had written %" PRId64 ".", b->remaining,
                    a->remaining);
    }
    example_say(example,
                "%" PRId64 " are left, from unit %" PRId64 " up: unit %" PRId64
                " is in the stock, and A sold it: a contradiction.",
                row->available, row->first_unit, a->unit);
    return row;
}

static const struct ledger_row *tell_missing(struct counterexample *example,
                                             const struct judge *judge) {
    const struct pair *missed = &judge->leak.missed;
    const struct ledger_row *row = judge->leak.row;

    example_tell_pair(example, judge, missed);
    if (missed->sales[0] == NULL && missed->refusal == NULL)
        example_say(example,
                    "%" PRId64 " are left, from unit %" PRId64 " up: unit %" PRId64
                    " is gone, no order has it, and nobody gave it back: a contradiction.",
                    row->available, row->first_unit, missed->unit);
    else if (judge->is_any_unknown)
        example_say(example,
                    "A saw units gone that no order has and nobody gave back, from unit %" PRId64
                    " up; too few requests of unknown outcome were sent in time to have taken "
                    "them: a contradiction.",
                    missed->unit);
    else
        example_say(example,
                    "A saw %s, and no order has unit %" PRId64
                    ", and nobody gave it back: a contradiction.",
                    missed->refusal != NULL ? "none left" : "that unit gone", missed->unit);
    return row;
}

static const struct ledger_row *tell_wrong(struct counterexample *example,
                                           const struct judge *judge) {
    const struct ledger_sale *sale = judge->leak.wrong_sale;
    const struct ledger_row *row = judge_row(judge, sale->shard);

    example_tell_sale(example, judge, sale);
    if (row == NULL)
        example_say(example, "A sold from shard %" PRId64 ", which has no stock: a contradiction.",
                    sale->shard);
    else if (sale->remaining < 0 || sale->remaining >= row->initial)
        example_say(example,
                    "A left %" PRId64 " there, and the row began with %" PRId64
                    " units: a contradiction.",
                    sale->remaining, row->initial);
    else
        example_say(example,
                    "A left %" PRId64 " there, from unit %" PRId64 " up, so it took unit %" PRId64
                    "; and the ledger says unit %" PRId64 ": a contradiction.",
                    sale->remaining, row->first_unit, row->first_unit + sale->remaining,
                    sale->unit);
    return row;
}

/* The row whose own sums are wrong, or NULL. */
static const struct ledger_row *example_leak_find_unbalanced(const struct judge *judge) {
    char sums[VERDICT_TEXT];

    for (size_t i = 0; i < judge->row_count; i++)
        if (judge_write_row(judge, &judge->rows[i], sums) != 0)
            return &judge->rows[i];
    return NULL;
}

/* The plainest of what was found, and a row that shows it; NULL: the sums alone do. */
static const struct ledger_row *tell_plainest(struct counterexample *example,
                                              const struct judge *judge) {
    const struct leak *leak = &judge->leak;

    if (leak->left != NULL)
        return tell_surplus(example, judge);
    if (leak->has_missed && !judge_is_somewhere(judge, leak->missed.unit))
        return tell_missing(example, judge);
    if (leak->wrong_sale != NULL)
        return tell_wrong(example, judge);
    if (leak->unknown > 0)
        example_say(example,
                    "Unit %" PRId64 " came back for sale to a stock row that "
                    "never had it: a contradiction.",
                    leak->unknown_unit);
    else if (leak->doubled > 0)
        example_say(example,
                    "Unit %" PRId64 " came back for sale, and an order has it, or it came "
                    "back twice: a contradiction.",
                    leak->doubled_unit);
    else if (leak->untaken > 0 && !judge->is_keyless)
        example_say(example,
                    "Unit %" PRId64 " came back, and an order of a key is "
                    "never given back: a contradiction.",
                    leak->back_unit);
    else if (leak->untaken > 0)
        example_say(example,
                    "Unit %" PRId64 " came back, and fewer requests can have given a unit back, as "
                    "they were told busy, an error or nothing, than units did: a contradiction.",
                    leak->back_unit);
    return leak->row != NULL ? leak->row : example_leak_find_unbalanced(judge);
}

bool example_tell_leak(struct counterexample *example, const struct judge *judge) {
    const struct ledger_row *row;
    char sums[VERDICT_TEXT];

    *example = example_begin(judge, ANOMALY_LEAK, NULL);
    row = tell_plainest(example, judge);
    if (row != NULL && judge->row_count > 1) {
        example->shard = row->shard;
        (void)judge_write_row(judge, row, sums);
        example_say(example, "%s", sums);
    }
    (void)judge_write_sums(judge, sums);
    example_say(example, "%s.", sums);
    return true;
}
