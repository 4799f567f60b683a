/* Tells in prose what does not add up: a LEAK, and orders that hold too little. */
#include "counterexample_internal.h"

#include <assert.h>
#include <inttypes.h>

/* If what is left and what is held are the stock, the stock row is right. */
void counterexample_tell_unbacked(struct counterexample *example, const struct judge *judge) {
    const int64_t left = judge->ledger->available + judge->ledger->returned;
    const bool is_right = left + judge->held == judge->ledger->initial;
    const int64_t count = judge->unbacked_count;

    assert(judge->unbacked != NULL);
    counterexample_tell_sale(example, judge, judge->unbacked);
    counterexample_say(example,
                       "A bought %" PRId32 " unit%s, and the shop holds %" PRId64 " for it.",
                       judge->unbacked->quantity, judge->unbacked->quantity == 1 ? "" : "s",
                       ledger_extra(judge->unbacked).reserved);
    if (is_right)
        counterexample_say(example,
                           "%" PRId64 " left and %" PRId64 " held are the stock of %" PRId64 ".",
                           left, judge->held, judge->ledger->initial);
    counterexample_say(example, "%s%" PRId64 " paid order%s %s: a contradiction.",
                       is_right ? "The stock row is right, and " : "", count, count == 1 ? "" : "s",
                       judge->empty_count == count
                           ? (count == 1 ? "has nothing in it" : "have nothing in it")
                       : count == 1 ? "has less in it than it bought"
                                    : "have less in it than they bought");
}

/* ---- LEAK */

static const struct ledger_row *tell_surplus(struct counterexample *example,
                                             const struct judge *judge) {
    const struct ledger_sale *a = judge->leak.last.sales[0], *b = judge->leak.last.sales[1];
    const struct ledger_row *row = judge_row(judge, a->shard);

    counterexample_tell_sale(example, judge, a);
    if (b != NULL && judge_sale_kind(judge, b) == SALE_COUNTED && b->remaining == row->available) {
        counterexample_tell_sale(example, judge, b);
        counterexample_say(example, "B wrote %" PRId64 " after A had written %" PRId64 ".",
                           b->remaining, a->remaining);
    }
    counterexample_say(example,
                       "%" PRId64 " are left, from unit %" PRId64 " up, so unit %" PRId64
                       " is in the stock; but A sold it: a contradiction.",
                       row->available, row->first_unit, a->unit);
    return row;
}

static const struct ledger_row *tell_missing(struct counterexample *example,
                                             const struct judge *judge) {
    const struct pair *missed = &judge->leak.missed;
    const struct ledger_row *row = judge->leak.row;

    counterexample_tell_pair(example, judge, missed);
    if (missed->sales[0] == NULL && missed->refusal == NULL)
        counterexample_say(
            example,
            "%" PRId64 " are left, from unit %" PRId64 " up, so unit %" PRId64
            " is gone; but no order has it, and no request gave it back: a contradiction.",
            row->available, row->first_unit, missed->unit);
    else if (judge->is_any_unknown)
        counterexample_say(
            example,
            "A saw units gone, from unit %" PRId64 " up, that no order has and no request "
            "gave back; too few requests of unknown outcome were sent in time to have "
            "taken them: a contradiction.",
            missed->unit);
    else
        counterexample_say(example,
                           "A saw unit %" PRId64
                           " gone; but no order has it, and no request gave it "
                           "back: a contradiction.",
                           missed->unit);
    return row;
}

static const struct ledger_row *tell_wrong(struct counterexample *example,
                                           const struct judge *judge) {
    const struct ledger_sale *sale = judge->leak.wrong_sale;
    const struct ledger_row *row = judge_row(judge, sale->shard);

    counterexample_tell_sale(example, judge, sale);
    if (row == NULL)
        counterexample_say(example,
                           "A sold from shard %" PRId32
                           ", but that shard has no stock row: a contradiction.",
                           sale->shard);
    else if (sale->remaining < 0 || sale->remaining >= row->initial)
        counterexample_say(example,
                           "A left %" PRId64 " there, but the row began with %" PRId64
                           " units: a contradiction.",
                           sale->remaining, row->initial);
    else
        counterexample_say(
            example,
            "A left %" PRId64 " there, from unit %" PRId64 " up, so it took unit %" PRId64
            "; but the ledger says unit %" PRId64 ": a contradiction.",
            sale->remaining, row->first_unit, row->first_unit + sale->remaining, sale->unit);
    return row;
}

/* Tell the plainest finding. Returns a row that shows it; NULL: only the sums do. */
static const struct ledger_row *tell_plainest(struct counterexample *example,
                                              const struct judge *judge) {
    const struct leak *leak = &judge->leak;

    if (leak->left != NULL)
        return tell_surplus(example, judge);
    if (leak->has_missed && !leak->is_elsewhere)
        return tell_missing(example, judge);
    if (leak->wrong_sale != NULL)
        return tell_wrong(example, judge);
    if (leak->unknown > 0)
        counterexample_say(example,
                           "Unit %" PRId64 " came back for sale to a stock row that "
                           "never had it: a contradiction.",
                           leak->unknown_unit);
    else if (leak->doubled > 0)
        counterexample_say(example,
                           "Unit %" PRId64 " came back for sale; but an order has it, or it came "
                           "back twice: a contradiction.",
                           leak->doubled_unit);
    else if (leak->untaken > 0 && !judge->is_keyless && !judge->is_loaded)
        counterexample_say(example,
                           "Unit %" PRId64 " came back; but an order with a key is "
                           "never given back: a contradiction.",
                           leak->back_unit);
    else if (leak->untaken > 0)
        counterexample_say(
            example,
            "Unit %" PRId64 " came back; but too few requests can have given a unit back: "
            "such a request was sent in time, and was %s: a contradiction.",
            leak->back_unit,
            judge->is_loaded ? "not told sold out" : "told busy, an error or nothing");
    return leak->row != NULL ? leak->row : leak->unbalanced_row;
}

void counterexample_tell_leak(struct counterexample *example, const struct judge *judge) {
    const struct ledger_row *row = tell_plainest(example, judge);
    char sums[VERDICT_TEXT];

    if (row != NULL && judge->row_count > 1) {
        example->shard = row->shard;
        (void)leak_write_row(judge, row, sums);
        counterexample_say(example, "%s", sums);
    }
    counterexample_say(example, "%s.", judge->leak.sums);
}
