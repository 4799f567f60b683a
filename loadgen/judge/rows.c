/* The linearizability check of each stock row: its sales, the first refusal, and what is not known.
 *
 * The simpler rules have looked before, and say more plainly what they find. Two sales of one rank
 * have one unit, too, and a sale after a refusal is early by their count; what remains are stale
 * counts, and units that a row passed over although its sums are right. */
#include "judge.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

/* What is common to all rows, and the operations on the one that is looked at. */
struct rows {
    struct judge *judge;
    const struct ledger_sale **first; /* of each row, or NULL */
    const struct ledger_sale **after; /* each sale, in its place, the next of its row, or NULL */
    const struct purchase **open;     /* those without a row that may have one yet, or should */
    size_t open_count;
    const struct ledger_row *row;
    struct linear_op *ops;
    const struct ledger_sale **sales; /* behind `ops`; NULL: the first refusal, or unknown */
    size_t count;
    int32_t *excused;
    size_t excused_count;
};

/* Each row's sales as a list, in the order of the ledger. Sales of a shard that has no row are left
 * out. */
static void list_by_row(struct rows *rows) {
    const struct judge *judge = rows->judge;

    for (size_t i = judge->ledger->sale_count; i-- > 0;) {
        const struct ledger_sale *sale = &judge->ledger->sales[i];
        const struct ledger_row *row = judge_row(judge, sale->shard);

        if (row == NULL)
            continue;
        rows->after[i] = rows->first[row - judge->rows];
        rows->first[row - judge->rows] = sale;
    }
}

static void find_open(struct rows *rows) {
    for (size_t i = 0; i < rows->judge->purchase_count; i++) {
        const struct purchase *purchase = &rows->judge->purchases[i];

        if (purchase->sale != NULL || (purchase->yes == NULL && !purchase->is_unknown))
            continue;
        rows->open[rows->open_count++] = purchase;
        rows->judge->is_any_unknown = rows->judge->is_any_unknown || purchase->yes == NULL;
    }
}

static int32_t rank_of(int64_t remaining) {
    if (remaining > INT32_MAX)
        return INT32_MAX;
    return remaining < INT32_MIN ? INT32_MIN : (int32_t)remaining;
}

static void add_op(struct rows *rows, struct linear_op op, const struct ledger_sale *sale) {
    rows->ops[rows->count] = op;
    rows->sales[rows->count++] = sale;
}

static void excuse(struct rows *rows, int64_t unit) {
    int64_t rank = unit - rows->row->first_unit;

    if (rank >= 0 && rank < rows->row->initial)
        rows->excused[rows->excused_count++] = rank_of(rank);
}

static void add_sale(struct rows *rows, const struct ledger_sale *sale) {
    const struct purchase *buyer = judge_buyer(rows->judge, sale);
    struct linear_op op = {LINEAR_BEFORE, LINEAR_NEVER, rank_of(sale->remaining), LINEAR_OK};

    if (!judge_is_counted(rows->judge, sale)) {
        excuse(rows, sale->unit);
        return;
    }
    if (buyer != NULL) {
        op.invoke_ns = buyer->sent_ns;
        op.return_ns = buyer->answered_ns;
    }
    add_op(rows, op, sale);
}

static void add_requests(struct rows *rows) {
    const struct record *refusal = rows->judge->refused_first;

    if (refusal != NULL)
        add_op(rows, (struct linear_op){refusal->sent_ns, refusal->received_ns, 0, LINEAR_SOLD_OUT},
               NULL);
    for (size_t i = 0; i < rows->open_count; i++) {
        const struct purchase *purchase = rows->open[i];

        if (purchase->yes == NULL)
            add_op(rows, (struct linear_op){purchase->sent_ns, LINEAR_NEVER, 0, LINEAR_UNKNOWN},
                   NULL);
        else
            excuse(rows, purchase->yes->unit); /* a GHOST, which says enough */
    }
}

static void collect(struct rows *rows, const struct ledger_row *row) {
    const struct ledger *ledger = rows->judge->ledger;

    rows->row = row;
    rows->count = rows->excused_count = 0;
    for (const struct ledger_sale *sale = rows->first[row - rows->judge->rows]; sale != NULL;
         sale = rows->after[sale - ledger->sales])
        add_sale(rows, sale);
    add_requests(rows);
    for (size_t i = 0; i < ledger->returned_count; i++)
        if (ledger->returned_units[i].shard == row->shard)
            excuse(rows, ledger->returned_units[i].unit);
}

static struct pair pair_of(const struct rows *rows, const struct linear_finding *found) {
    struct pair pair = {.unit = rows->row->first_unit + found->rank};

    assert(found->ops <= 2);
    for (size_t i = 0; i < found->ops; i++) {
        pair.sales[i] = rows->sales[found->op[i]];
        if (rows->ops[found->op[i]].kind == LINEAR_SOLD_OUT)
            pair.refusal = rows->judge->refused_first;
    }
    return pair;
}

static void found_stale(const struct rows *rows, const struct linear_finding *found) {
    struct judge *judge = rows->judge;
    struct pair pair = pair_of(rows, found);
    const struct purchase *first, *second;

    if (found->count == 0)
        return;
    first = judge_buyer(judge, pair.sales[0]);
    second = judge_buyer(judge, pair.sales[1]);
    /* Without a buyer a sale has neither been answered nor been sent after anything. */
    assert(first != NULL && second != NULL);
    if (judge->stale.sales[0] == NULL)
        judge->stale = pair;
    judge_found(judge, ANOMALY_STALE, found->count,
                "order %s left %" PRId64 " and was answered at %.3f s; order %s, sent at %.3f s, "
                "left %" PRId64,
                pair.sales[0]->order_id, pair.sales[0]->remaining, (double)first->answered_ns / 1e9,
                pair.sales[1]->order_id, (double)second->sent_ns / 1e9, pair.sales[1]->remaining);
}

/* Sold by a row that did not have it. The unit may be one of another row. */
static void found_out_of_range(const struct rows *rows, const struct linear_finding *found) {
    struct judge *judge = rows->judge;
    const struct ledger_row *row = rows->row;
    struct pair pair = pair_of(rows, found);

    if (found->count == 0)
        return;
    if (judge->range.sales[0] == NULL)
        judge->range = pair;
    if (judge->outside != NULL || judge->twin_count > 0)
        return;
    judge_found(judge, ANOMALY_OVERSELL, found->count,
                "shard %" PRId64 " had units %" PRId64 " to %" PRId64 ", and sold %" PRId64
                ": order %s",
                row->shard, row->first_unit, row->first_unit + row->initial - 1,
                pair.sales[0]->unit, pair.sales[0]->order_id);
}

static int check_row(struct rows *rows, const struct ledger_row *row, int64_t *missing) {
    struct linear_answer answer;
    const struct linear_finding *found = &answer.found[LINEAR_MISSING];

    collect(rows, row);
    if (linear_check(row->initial, rows->ops, rows->count, rows->excused, rows->excused_count,
                     &answer) != 0)
        return -1;
    found_out_of_range(rows, &answer.found[LINEAR_RANGE]);
    found_stale(rows, &answer.found[LINEAR_STALE]);
    if (found->count > 0 && *missing == 0)
        rows->judge->missing = pair_of(rows, found);
    *missing += found->count;
    return 0;
}

/* Sums that are wrong, units left at a refusal and promises without a row have been told already.
 * And a ledger read while it changed may lack a sale. */
static void found_missing(struct judge *judge, int64_t missing) {
    if (missing == 0 || judge->has_found[ANOMALY_LEAK] || judge->has_found[ANOMALY_UNDERSELL] ||
        judge->ledger->counted != (int64_t)judge->ledger->sale_count)
        return;
    judge_found(judge, ANOMALY_LEAK, missing,
                "unit %" PRId64 " was passed over: a later one was sold or all were refused, and "
                "no order has it",
                judge->missing.unit);
}

static int allocate(struct rows *rows) {
    const struct judge *judge = rows->judge;
    size_t sales = judge->ledger->sale_count, ops = sales + judge->purchase_count + 1;
    size_t excused = ops + judge->ledger->returned_count;

    rows->first = calloc(judge->row_count, sizeof(const struct ledger_sale *));
    rows->after = calloc(sales + 1, sizeof(const struct ledger_sale *));
    rows->open = calloc(judge->purchase_count + 1, sizeof(const struct purchase *));
    rows->ops = calloc(ops, sizeof *rows->ops);
    rows->sales = calloc(ops, sizeof(const struct ledger_sale *));
    rows->excused = calloc(excused, sizeof *rows->excused);
    return rows->first && rows->after && rows->open && rows->ops && rows->sales && rows->excused
               ? 0
               : -1;
}

int judge_rows(struct judge *judge) {
    struct rows rows = {.judge = judge};
    int64_t missing = 0;
    int rc = allocate(&rows);

    if (rc == 0) {
        find_open(&rows);
        list_by_row(&rows);
    }
    for (size_t r = 0; r < judge->row_count && rc == 0; r++)
        rc = check_row(&rows, &judge->rows[r], &missing);
    if (rc == 0)
        found_missing(judge, missing);
    free(rows.first);
    free(rows.after);
    free(rows.open);
    free(rows.ops);
    free(rows.sales);
    free(rows.excused);
    return rc;
}
