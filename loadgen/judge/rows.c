/* The linearizability check of each stock row: its sales, the first refusal, and what is not known.
 *
 * The simpler rules have looked before, and say more plainly what they find. Two sales of one rank
 * have one unit, too, and a sale after a refusal is early by their count; what remains are stale
 * counts, and units that a row passed over although its sums are right. */
#include "judge.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

/* The operations on one row; `sales` are those behind them, or NULL: the first refusal, or unknown.
 */
struct row_ops {
    const struct ledger_row *row;
    struct linear_op *ops;
    const struct ledger_sale **sales;
    size_t count;
    int32_t *excused;
    size_t excused_count;
};

/* Sales in order of the rows they were made from, and what is common to all rows. */
struct rows {
    struct judge *judge;
    const struct ledger_sale **by_row;
    size_t *ends;                 /* of each row's sales in by_row */
    const struct purchase **open; /* those without a row that may have one yet, or should */
    size_t open_count;
    struct row_ops room;
};

static size_t row_index(const struct judge *judge, int64_t shard) {
    const struct ledger_row *row = judge_row(judge, shard);

    return row ? (size_t)(row - judge->rows) : judge->row_count;
}

/* By counting: ends[r + 1] first counts the sales of row r, then, summed up, says where they begin,
 * and is ends[r] when they are all in place. Those of no known row come last, and are left out. */
static void sort_by_row(struct rows *rows) {
    const struct judge *judge = rows->judge;
    const struct ledger *ledger = judge->ledger;

    for (size_t i = 0; i < ledger->sale_count; i++)
        rows->ends[row_index(judge, ledger->sales[i].shard) + 1]++;
    for (size_t r = 0; r < judge->row_count; r++)
        rows->ends[r + 1] += rows->ends[r];
    for (size_t i = 0; i < ledger->sale_count; i++)
        rows->by_row[rows->ends[row_index(judge, ledger->sales[i].shard)]++] = &ledger->sales[i];
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

static void add_op(struct row_ops *ops, struct linear_op op, const struct ledger_sale *sale) {
    ops->ops[ops->count] = op;
    ops->sales[ops->count++] = sale;
}

static void excuse(struct row_ops *ops, int64_t unit) {
    int64_t rank = unit - ops->row->first_unit;

    if (rank >= 0 && rank < ops->row->initial)
        ops->excused[ops->excused_count++] = rank_of(rank);
}

static void add_sale(const struct judge *judge, struct row_ops *ops,
                     const struct ledger_sale *sale) {
    const struct purchase *buyer = judge_buyer(judge, sale);
    struct linear_op op = {LINEAR_BEFORE, LINEAR_NEVER, rank_of(sale->remaining), LINEAR_OK};

    if (!judge_is_counted(judge, sale)) {
        excuse(ops, sale->unit);
        return;
    }
    if (buyer != NULL) {
        op.invoke_ns = buyer->sent_ns;
        op.return_ns = buyer->answered_ns;
    }
    add_op(ops, op, sale);
}

static void add_requests(const struct rows *rows, struct row_ops *ops) {
    const struct record *refusal = rows->judge->refused_first;

    if (refusal != NULL)
        add_op(ops, (struct linear_op){refusal->sent_ns, refusal->received_ns, 0, LINEAR_SOLD_OUT},
               NULL);
    for (size_t i = 0; i < rows->open_count; i++) {
        const struct purchase *purchase = rows->open[i];

        if (purchase->yes == NULL)
            add_op(ops, (struct linear_op){purchase->sent_ns, LINEAR_NEVER, 0, LINEAR_UNKNOWN},
                   NULL);
        else
            excuse(ops, purchase->yes->unit); /* a GHOST, which says enough */
    }
}

static const struct row_ops *collect(struct rows *rows, size_t r) {
    const struct judge *judge = rows->judge;
    const struct ledger *ledger = judge->ledger;
    struct row_ops *ops = &rows->room;

    ops->row = &judge->rows[r];
    ops->count = ops->excused_count = 0;
    for (size_t i = r > 0 ? rows->ends[r - 1] : 0; i < rows->ends[r]; i++)
        add_sale(judge, ops, rows->by_row[i]);
    add_requests(rows, ops);
    for (size_t i = 0; i < ledger->returned_count; i++)
        if (ledger->returned_units[i].shard == ops->row->shard)
            excuse(ops, ledger->returned_units[i].unit);
    return ops;
}

static struct pair pair_of(const struct judge *judge, const struct row_ops *ops,
                           const struct linear_finding *found) {
    struct pair pair = {.unit = ops->row->first_unit + found->rank};

    assert(found->ops <= 2);
    for (size_t i = 0; i < found->ops; i++) {
        pair.sales[i] = ops->sales[found->op[i]];
        if (ops->ops[found->op[i]].kind == LINEAR_SOLD_OUT)
            pair.refusal = judge->refused_first;
    }
    return pair;
}

static void found_stale(struct judge *judge, const struct row_ops *ops,
                        const struct linear_finding *found) {
    struct pair pair = pair_of(judge, ops, found);

    if (found->count == 0)
        return;
    /* Without a buyer a sale has neither been answered nor been sent after anything. */
    assert(judge_buyer(judge, pair.sales[0]) && judge_buyer(judge, pair.sales[1]));
    if (judge->stale.sales[0] == NULL)
        judge->stale = pair;
    judge_found(judge, ANOMALY_STALE, found->count,
                "order %s left %" PRId64 " and was answered at %.3f s; order %s, sent at %.3f s, "
                "left %" PRId64,
                pair.sales[0]->order_id, pair.sales[0]->remaining,
                (double)judge_buyer(judge, pair.sales[0])->answered_ns / 1e9,
                pair.sales[1]->order_id, (double)judge_buyer(judge, pair.sales[1])->sent_ns / 1e9,
                pair.sales[1]->remaining);
}

/* Sold by a row that did not have it. The unit may be one of another row. */
static void found_out_of_range(struct judge *judge, const struct row_ops *ops,
                               const struct linear_finding *found) {
    struct pair pair = pair_of(judge, ops, found);

    if (found->count == 0)
        return;
    if (judge->range.sales[0] == NULL)
        judge->range = pair;
    if (judge->outside != NULL || judge->twin_count > 0)
        return;
    judge_found(judge, ANOMALY_OVERSELL, found->count,
                "shard %" PRId64 " had units %" PRId64 " to %" PRId64 ", and sold %" PRId64
                ": order %s",
                ops->row->shard, ops->row->first_unit, ops->row->first_unit + ops->row->initial - 1,
                pair.sales[0]->unit, pair.sales[0]->order_id);
}

static int check_row(struct judge *judge, const struct row_ops *ops, int64_t *missing) {
    struct linear_answer answer;
    const struct linear_finding *found = &answer.found[LINEAR_MISSING];

    if (linear_check(ops->row->initial, ops->ops, ops->count, ops->excused, ops->excused_count,
                     &answer) != 0)
        return -1;
    found_out_of_range(judge, ops, &answer.found[LINEAR_RANGE]);
    found_stale(judge, ops, &answer.found[LINEAR_STALE]);
    if (found->count > 0 && *missing == 0)
        judge->missing = pair_of(judge, ops, found);
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

    rows->by_row = calloc(sales + 1, sizeof(const struct ledger_sale *));
    rows->ends = calloc(judge->row_count + 2, sizeof *rows->ends);
    rows->open = calloc(judge->purchase_count + 1, sizeof(const struct purchase *));
    rows->room.ops = calloc(ops, sizeof *rows->room.ops);
    rows->room.sales = calloc(ops, sizeof(const struct ledger_sale *));
    rows->room.excused = calloc(excused, sizeof *rows->room.excused);
    return rows->by_row && rows->ends && rows->open && rows->room.ops && rows->room.sales &&
                   rows->room.excused
               ? 0
               : -1;
}

int judge_rows(struct judge *judge) {
    struct rows rows = {.judge = judge};
    int64_t missing = 0;
    int rc = allocate(&rows);

    if (rc == 0) {
        find_open(&rows);
        sort_by_row(&rows);
    }
    for (size_t r = 0; r < judge->row_count && rc == 0; r++)
        rc = check_row(judge, collect(&rows, r), &missing);
    if (rc == 0)
        found_missing(judge, missing);
    free(rows.by_row);
    free(rows.ends);
    free(rows.open);
    free(rows.room.ops);
    free(rows.room.sales);
    free(rows.room.excused);
    return rc;
}
