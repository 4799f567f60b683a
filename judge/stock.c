/* The rules for stock rows: clients were refused while there were units, or the counts that the sales
 * of a row saw contradict each other. */
#include "judge.h"
#include "verdict.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Find the first and the last refusal by arrival. Returns the number of refusals. */
static int64_t find_refusals(struct judge *judge) {
    struct judge_walk walk = {.purchase = 0};
    const struct record *record;
    int64_t count = 0;

    while ((record = judge_next(judge, &walk)) != NULL) {
        if (record->outcome != RECORD_SOLD_OUT)
            continue;
        count++;
        if (judge->refused_first == NULL || record->received_ns < judge->refused_first->received_ns)
            judge->refused_first = record;
        if (judge->refused_last == NULL || record->received_ns > judge->refused_last->received_ns)
            judge->refused_last = record;
    }
    return count;
}

/* A unit that is left and was never sold was in the stock at every refusal: a refused customer
 * could have bought it, if as many are left as each order has. A unit that came back is not
 * counted: it may have done so after the last refusal. */
static void find_undersell(struct judge *judge, int64_t refusals) {
    int64_t left = 0;

    for (size_t i = 0; i < judge->row_count; i++)
        if (judge->rows[i].available > 0)
            left += judge->rows[i].available;
    judge->has_ended = left < judge->most || refusals > 0;
    judge->left = left;
    if (refusals > 0 && left >= judge->most && !judge->ledger->can_return && !judge->is_mixed)
        judge_found(judge, ANOMALY_UNDERSELL,
                    refusals < left / judge->most ? refusals : left / judge->most,
                    "%" PRId64 " requests were told sold out, and %" PRId64 " units are left",
                    refusals, left);
}

/* The last refusal before `next_ns`. `early` gets how many there are before `latest_ns`. */
static const struct record *find_before(const struct judge *judge, int64_t next_ns,
                                        int64_t latest_ns, int64_t *early) {
    const struct record *before = NULL, *record;
    struct judge_walk walk = {.purchase = 0};

    *early = 0;
    while ((record = judge_next(judge, &walk)) != NULL) {
        if (record->outcome != RECORD_SOLD_OUT)
            continue;
        *early += record->received_ns < latest_ns;
        if (record->received_ns < next_ns &&
            (before == NULL || record->received_ns > before->received_ns))
            before = record;
    }
    assert(before != NULL && *early > 0); /* refused_first is before both */
    return before;
}

/* Count the refusals before the latest buyer. The evidence is the next buyer and the last refusal
 * before it: these two are the closest in time. */
static void found_early_sold_out(struct judge *judge, const struct ledger_sale *next,
                                 const struct ledger_sale *latest) {
    const int64_t next_ns = judge_buyer(judge, next).sent_ns;
    const int64_t latest_ns = judge_buyer(judge, latest).sent_ns;
    int64_t early;
    const struct record *before = find_before(judge, next_ns, latest_ns, &early);

    judge->refused_early = early;
    judge->early = (struct pair){.sales = {next}, .refusal = before};
    judge_found(judge, ANOMALY_EARLY_SOLD_OUT, early,
                "request %s was told sold out at %.3f s, and order %s, sent at %.3f s, got %s",
                record_key(judge->refused_first), (double)judge->refused_first->received_ns / 1e9,
                latest->order_id, (double)latest_ns / 1e9,
                latest->quantity == 1 ? "a unit" : "units");
}

static void found_early_yes(struct judge *judge, const struct record *next,
                            const struct record *latest) {
    int64_t early;

    judge->early.refusal = find_before(judge, next->sent_ns, latest->sent_ns, &early);
    judge->early_yes = next;
    judge->refused_early = early;
    judge_found(judge, ANOMALY_EARLY_SOLD_OUT, early,
                "request %s was told sold out at %.3f s, and request %s, sent at %.3f s, was %s",
                record_key(judge->refused_first), (double)judge->refused_first->received_ns / 1e9,
                record_key(latest), (double)latest->sent_ns / 1e9,
                record_outcome_text(latest->outcome));
}

/* Find sales with a request that was sent after a refusal had arrived. Their units were in the
 * stock then, unless they came back later; the check of the rows says how many cannot have. */
static void find_early_sold_out(struct judge *judge) {
    const struct ledger_sale *next = NULL, *latest = NULL;

    for (size_t i = 0; i < judge->ledger->sale_count; i++) {
        const struct ledger_sale *sale = &judge->ledger->sales[i];
        const int64_t sent_ns = judge_buyer(judge, sale).sent_ns;
        enum sale_kind kind = judge_sale_kind(judge, sale);

        if (sent_ns <= judge->refused_first->received_ns || kind == SALE_EITHER ||
            kind == SALE_AGAIN)
            continue;
        if (next == NULL || sent_ns < judge_buyer(judge, next).sent_ns)
            next = sale;
        if (latest == NULL || sent_ns > judge_buyer(judge, latest).sent_ns)
            latest = sale;
    }
    if (next != NULL)
        found_early_sold_out(judge, next, latest);
}

/* The same by the replies: each yes without an id has an order, if there are enough of them. Its
 * request may have sold the unit from its sending on. */
static void find_early_yes(struct judge *judge) {
    const int64_t refused_ns = judge->refused_first->received_ns;
    const struct record *next = NULL, *latest = NULL;

    for (size_t i = 0; i < judge->purchase_count; i++) {
        const struct purchase *purchase = &judge->purchases[i];
        int64_t sent_ns;

        if (purchase->yes == 0 || purchase->is_named)
            continue;
        sent_ns = purchase_sent_ns(purchase);
        if (sent_ns <= refused_ns)
            continue;
        if (next == NULL || sent_ns < next->sent_ns)
            next = purchase_yes(purchase);
        if (latest == NULL || sent_ns > latest->sent_ns)
            latest = purchase_yes(purchase);
    }
    if (next != NULL && judge->empty_promises <= 0 && !judge->has_found[ANOMALY_EARLY_SOLD_OUT])
        found_early_yes(judge, next, latest);
}

static void check_refusals(struct judge *judge) {
    int64_t refusals = find_refusals(judge);

    find_undersell(judge, refusals);
    if (refusals > 0 && !judge->is_mixed)
        find_early_sold_out(judge);
    if (refusals > 0 && !judge->is_mixed && !judge->ledger->can_return)
        find_early_yes(judge);
    judge_stuck(judge);
}

/* ---- the linearizability check of the rows: their sales, the first refusal, unknown outcomes, and
 * the counts at the end
 *
 * The simpler rules ran before, because their findings are easier to tell: two sales of one rank
 * are a TWIN, a sale after a refusal is early, and units left after a refusal are an UNDERSELL.
 * So this check reports only stale counts, and units that a row lost or has too many. */

/* The operations on all rows, one row after the other. */
struct rows {
    struct judge *judge;
    uint32_t *first; /* of each row, a place in the ledger's sales plus one; 0: none */
    uint32_t *after; /* of each sale, in its place, the next of its row */
    const struct purchase **ghosts; /* told yes, without a sale */
    size_t ghost_count;
    struct linear_row *rows;
    struct linear_answer *answers;
    struct linear_op *ops;
    size_t count;
    struct linear_open open;
};

/* List each row's sales, in the order of the ledger. Sales of a shard without a row are left
 * out. */
static void list_by_row(struct rows *rows) {
    const struct judge *judge = rows->judge;

    for (size_t i = judge->ledger->sale_count; i-- > 0;) {
        const struct ledger_sale *sale = &judge->ledger->sales[i];
        const struct ledger_row *row = judge_row(judge, sale->shard);

        if (row == NULL)
            continue;
        rows->after[i] = rows->first[row - judge->rows];
        rows->first[row - judge->rows] = (uint32_t)i + 1;
    }
}

/* ---- open operations: requests without a row, each of which may explain one thing */

/* Whether it may have taken as many units as the largest order, without a row of its own. */
static bool is_open(const struct purchase *purchase) {
    return purchase->is_seated || (purchase->yes > 0 && !purchase->is_named) ||
           (purchase->yes == 0 && !purchase->has_sale && purchase->is_unknown);
}

static void add_undone(struct rows *rows, const struct record *record) {
    rows->open.undone_ns[rows->open.undone_count++] = record->sent_ns;
}

/* Each request may have given a unit back, except one: the request that took the unit of its
 * key, or that may have taken a unit without a row or made a nameless sale. */
static void open_requests(struct rows *rows, const struct purchase *purchase) {
    bool is_one_spoken_for = purchase->yes == 0 && purchase->has_sale;

    if (is_open(purchase))
        for (int64_t i = 0; i < rows->judge->most; i++)
            rows->open.unknown_ns[rows->open.unknown_count++] = purchase_sent_ns(purchase);
    if (is_open(purchase) && !purchase->is_seated)
        rows->judge->is_any_unknown = is_one_spoken_for = true;
    for (size_t i = purchase->count; i-- > 0;) {
        const struct record *record = purchase_request(purchase, i);

        if (judge_may_have_two(rows->judge, record))
            add_undone(rows, record);
        if (!judge_may_undo(rows->judge, record))
            continue;
        if (!is_one_spoken_for)
            add_undone(rows, record);
        is_one_spoken_for = false;
    }
}

static void find_open(struct rows *rows) {
    rows->open.are_kept = !rows->judge->is_keyless;
    for (size_t i = 0; i < rows->judge->purchase_count; i++) {
        const struct purchase *purchase = &rows->judge->purchases[i];

        open_requests(rows, purchase);
        if (purchase->yes > 0 && !purchase->has_sale)
            rows->ghosts[rows->ghost_count++] = purchase;
    }
}

/* ---- the operations of a row */

static int64_t within(int64_t number, int64_t low, int64_t high) {
    return number < low ? low : number > high ? high : number;
}

static int32_t rows_rank_of(const struct ledger_row *row, int64_t unit) {
    int64_t rank = unit - row->first_unit;

    if (rank > INT32_MAX)
        return INT32_MAX;
    return rank < INT32_MIN ? INT32_MIN : (int32_t)rank;
}

static void rows_add_op(struct rows *rows, struct linear_op op, const struct ledger_sale *sale) {
    op.tag = sale != NULL ? (uint32_t)(sale - rows->judge->ledger->sales) + 1 : 0;
    rows->ops[rows->count++] = op;
}

/* How far below its rank a unit lay: one that came back to the count may be sold from any place. */
static int32_t below_of(const struct ledger_row *row, const struct ledger_sale *sale,
                        enum sale_kind kind) {
    if (kind != SALE_AGAIN || !row->returns_to_count)
        return 0;
    return (int32_t)within(sale->unit - row->first_unit - sale->remaining, INT32_MIN, INT32_MAX);
}

/* A sale of several units is as many sales at the same time: a correct count may make them one
 * after the other. */
static void rows_add_sale(struct rows *rows, const struct ledger_row *row,
                          const struct ledger_sale *sale) {
    static const enum linear_kind kinds[] = {[SALE_COUNTED] = LINEAR_OK,
                                             [SALE_EITHER] = LINEAR_EITHER,
                                             [SALE_AGAIN] = LINEAR_AGAIN,
                                             [SALE_WRONG] = LINEAR_OK};
    const struct buyer buyer = judge_buyer(rows->judge, sale);
    const enum sale_kind kind = judge_sale_kind(rows->judge, sale);

    for (int64_t i = 0; i < sale->quantity; i++)
        rows_add_op(
            rows,
            (struct linear_op){.invoke_ns = buyer.sent_ns,
                               .return_ns = buyer.answered_ns,
                               .rank = rows_rank_of(row, sale->unit + i),
                               .kind = kinds[kind],
                               .below = below_of(row, sale, kind),
                               .is_nameless = buyer.purchase != NULL && buyer.purchase->is_seated},
            sale);
}

/* A unit was taken, at an unknown time. */
static struct linear_op taken(int64_t rank, enum linear_kind kind) {
    return (struct linear_op){
        .invoke_ns = LINEAR_BEFORE, .return_ns = LINEAR_NEVER, .rank = (int32_t)rank, .kind = kind};
}

/* A promise without a row is told as a GHOST, so its unit counts as sold, at an unknown time. */
static void add_ghosts(struct rows *rows, const struct ledger_row *row, int64_t left) {
    for (size_t i = 0; i < rows->ghost_count; i++) {
        int64_t rank = purchase_yes(rows->ghosts[i])->unit - row->first_unit;

        if (rank >= left && rank < row->initial)
            rows_add_op(rows, taken(rank, LINEAR_OK), NULL);
    }
}

static void rows_add_others(struct rows *rows, const struct ledger_row *row) {
    const struct ledger *ledger = rows->judge->ledger;
    const struct record *refusal = rows->judge->refused_first;

    if (refusal != NULL && rows->judge->most == 1) /* else units may have been left for it */
        rows_add_op(rows,
                    (struct linear_op){.invoke_ns = refusal->sent_ns,
                                       .return_ns = refusal->received_ns > refusal->sent_ns
                                                        ? refusal->received_ns
                                                        : refusal->sent_ns,
                                       .kind = LINEAR_SOLD_OUT},
                    NULL);
    for (size_t i = 0; i < ledger->returned_count; i++)
        if (ledger->returned_units[i].shard == row->shard)
            rows_add_op(rows, taken(rows_rank_of(row, ledger->returned_units[i].unit), LINEAR_BACK),
                        NULL);
}

static void rows_collect(struct rows *rows, size_t which) {
    const struct ledger *ledger = rows->judge->ledger;
    const struct ledger_row *row = &rows->judge->rows[which];
    const size_t begin = rows->count;
    const int64_t units = within(row->initial, 0, INT32_MAX);
    int64_t left = within(row->available, 0, units);

    for (uint32_t place = rows->first[which]; place > 0; place = rows->after[place - 1])
        rows_add_sale(rows, row, &ledger->sales[place - 1]);
    add_ghosts(rows, row, left);
    rows_add_others(rows, row);
    if (ledger->counted != rows->judge->sold) /* the ledger changed while it was read */
        left = LINEAR_UNREAD;
    rows->rows[which] =
        (struct linear_row){units, left, &rows->ops[begin], rows->count - begin,
                            row->returns_to_count && rows->judge->may_have_returned};
}

/* ---- findings */

/* NULL: it is not a sale. */
static const struct ledger_sale *sale_at(const struct rows *rows, const struct linear_op *op) {
    return op->tag > 0 ? &rows->judge->ledger->sales[op->tag - 1] : NULL;
}

static struct pair pair_of(const struct rows *rows, size_t which,
                           const struct linear_finding *found) {
    const struct linear_row *row = &rows->rows[which];
    struct pair pair = {.unit = rows->judge->rows[which].first_unit + found->rank};

    assert(found->ops <= 2);
    for (size_t i = 0; i < found->ops; i++) {
        if (found->op[i] == LINEAR_END)
            continue;
        pair.sales[i] = sale_at(rows, &row->ops[found->op[i]]);
        if (row->ops[found->op[i]].kind == LINEAR_SOLD_OUT)
            pair.refusal = rows->judge->refused_first;
    }
    return pair;
}

static void found_stale(const struct rows *rows, size_t which, const struct linear_finding *found) {
    struct judge *judge = rows->judge;
    struct pair pair = pair_of(rows, which, found);

    if (found->count == 0 || pair.sales[0] == NULL || pair.sales[1] == NULL)
        return; /* the promise without a row is a GHOST already */
    if (judge->stale.sales[0] == NULL)
        judge->stale = pair;
    judge_found(judge, ANOMALY_STALE, found->count,
                "order %s got unit %" PRId64 " and was answered at %.3f s; order %s, sent at "
                "%.3f s, got unit %" PRId64,
                pair.sales[0]->order_id, pair.sales[0]->unit,
                (double)judge_buyer(judge, pair.sales[0]).answered_ns / 1e9,
                pair.sales[1]->order_id, (double)judge_buyer(judge, pair.sales[1]).sent_ns / 1e9,
                pair.sales[1]->unit);
}

/* A row sold a unit that it did not have. The unit may be of another row. */
static void found_out_of_range(const struct rows *rows, size_t which,
                               const struct linear_finding *found) {
    struct judge *judge = rows->judge;
    const struct ledger_row *row = &judge->rows[which];
    struct pair pair = pair_of(rows, which, found);

    if (found->count == 0 || pair.sales[0] == NULL)
        return; /* a unit that came back: leak.c reports it */
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

/* The unit might have come back, but too few requests can have given one back. */
static void found_early(const struct rows *rows, size_t which, const struct linear_finding *found) {
    const struct ledger_sale *sale = NULL;

    if (found->count > 0)
        sale = sale_at(rows, &rows->rows[which].ops[found->op[1]]);
    if (sale != NULL && !rows->judge->has_found[ANOMALY_EARLY_SOLD_OUT])
        found_early_sold_out(rows->judge, sale, sale);
}

static void found_unasked(const struct rows *rows, size_t which,
                          const struct linear_finding *found) {
    struct judge *judge = rows->judge;
    const struct ledger_sale *sale;
    char place[JUDGE_PLACE];

    if (found->count == 0)
        return;
    sale = pair_of(rows, which, found).sales[0];
    judge_found(judge, ANOMALY_ORPHAN, found->count,
                "order %s took unit %" PRId64 "%s, and every request that may have bought it "
                "was sent after the unit was gone",
                sale->order_id, sale->unit, judge_place(sale, place));
    judge->unasked = judge->unasked != NULL ? judge->unasked : sale;
}

/* Count the units of a row below zero or above its beginning that its sales do not explain. */
static void found_beyond(const struct rows *rows, size_t which) {
    const struct ledger_row *row = &rows->judge->rows[which];
    struct leak *leak = &rows->judge->leak;
    int64_t below = 0;

    for (size_t i = 0; i < rows->rows[which].count; i++)
        below += rows->rows[which].ops[i].rank < 0;
    if (row->available > row->initial)
        leak->surplus += row->available - row->initial;
    else if (-row->available > below)
        leak->missing += -row->available - below;
    else
        return;
    leak->row = leak->row != NULL ? leak->row : row;
}

static void found_leak(const struct rows *rows, size_t which, const struct linear_answer *answer) {
    const struct linear_finding *missing = &answer->found[LINEAR_MISSING];
    const struct linear_finding *untaken = &answer->found[LINEAR_UNTAKEN];
    const struct linear_finding *surplus = &answer->found[LINEAR_SURPLUS];
    struct leak *leak = &rows->judge->leak;

    if (missing->count > 0 && !leak->has_missed) {
        leak->row = &rows->judge->rows[which];
        leak->missed = pair_of(rows, which, missing);
        leak->has_missed = true;
    }
    if (untaken->count > 0 && leak->untaken == 0)
        leak->back_unit = pair_of(rows, which, untaken).unit;
    if (surplus->count > 0 && leak->left == NULL)
        leak->left = pair_of(rows, which, surplus).sales[0];
    leak->missing += missing->count;
    leak->untaken += untaken->count;
    leak->surplus += surplus->count;
    found_beyond(rows, which);
}

static void rows_tell(const struct rows *rows) {
    for (size_t r = 0; r < rows->judge->row_count; r++) {
        const struct linear_answer *answer = &rows->answers[r];

        found_out_of_range(rows, r, &answer->found[LINEAR_RANGE]);
        found_stale(rows, r, &answer->found[LINEAR_STALE]);
        found_early(rows, r, &answer->found[LINEAR_EARLY]);
        found_unasked(rows, r, &answer->found[LINEAR_UNASKED]);
        found_leak(rows, r, answer);
    }
}

/* ---- all rows */

static int allocate(struct rows *rows) {
    const struct judge *judge = rows->judge;
    size_t sales = judge->ledger->sale_count;
    size_t ops = (size_t)judge->sold + judge->purchase_count + judge->row_count +
                 judge->ledger->returned_count;
    size_t unknown = 0;

    for (size_t i = 0; i < judge->purchase_count; i++)
        unknown += is_open(&judge->purchases[i]);
    rows->first = calloc(judge->row_count, sizeof *rows->first);
    rows->after = calloc(sales + 1, sizeof *rows->after);
    rows->ghosts = calloc(judge->purchase_count + 1, sizeof(const struct purchase *));
    rows->rows = calloc(judge->row_count, sizeof *rows->rows);
    rows->answers = calloc(judge->row_count, sizeof *rows->answers);
    rows->ops = calloc(ops, sizeof *rows->ops);
    rows->open.unknown_ns = calloc(unknown * (size_t)judge->most + 1, sizeof(int64_t));
    rows->open.undone_ns =
        calloc((judge->is_loaded ? 2 : 1) * judge->request_count + 1, sizeof(int64_t));
    return rows->first != NULL && rows->after != NULL && rows->ghosts != NULL &&
                   rows->rows != NULL && rows->answers != NULL && rows->ops != NULL &&
                   rows->open.unknown_ns != NULL && rows->open.undone_ns != NULL
               ? 0
               : -1;
}

static int rows_check(struct rows *rows) {
    find_open(rows);
    list_by_row(rows);
    for (size_t r = 0; r < rows->judge->row_count; r++)
        rows_collect(rows, r);
    free(rows->after); /* the check needs memory */
    rows->after = NULL;
    if (linear_check(rows->rows, rows->judge->row_count, &rows->open, rows->answers) != 0)
        return -1;
    rows_tell(rows);
    return 0;
}

int judge_stock(struct judge *judge) {
    struct rows rows = {.judge = judge};
    int rc;

    check_refusals(judge);
    if (judge->ledger->is_unnumbered)
        return 0;
    rc = allocate(&rows) == 0 ? rows_check(&rows) : -1;

    free(rows.first);
    free(rows.after);
    free(rows.ghosts);
    free(rows.rows);
    free(rows.answers);
    free(rows.ops);
    free(rows.open.unknown_ns);
    free(rows.open.undone_ns);
    return rc;
}
