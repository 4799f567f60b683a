/* Checks a history of a falling stock: sort each row by rank, walk up once, and give the gaps, the
 * ranks that no sale of the row explains, to the open operations.
 *
 * The walk goes from the lowest rank up. The earliest return so far is the deadline by which each
 * higher rank must have begun. */
#include "linear.h"

#include "linear_stack.h"
#include "sorted.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define DIGIT_BITS 11 /* three passes over ranks of 31 bits */
#define DIGITS     (1u << DIGIT_BITS)

struct ranked {
    uint32_t rank, op;
};

/* The state that all rows share, and the current row. */
struct check {
    struct linear_gap *gaps;
    size_t gap_count, gap_room;
    struct ranked *ranked, *spare; /* by rank after sort_ranks() */
    size_t ranked_count, ranked_room;

    const struct linear_op *ops;
    size_t count;
    uint32_t row, units;
    int64_t left;
    struct linear_answer *answer;
    uint32_t refusal;    /* the first to return */
    uint32_t low_rank;   /* the lowest rank that needs a sale */
    int64_t tightest[2]; /* spans of the kept TWIN and STALE pairs */
    bool is_out_of_memory;
};

/* ---- sorting */

static bool has_rank(const struct check *check, const struct linear_op *op) {
    return op->kind != LINEAR_SOLD_OUT && op->rank >= 0 && (uint32_t)op->rank < check->units;
}

static bool linear_is_sale(const struct check *check, uint32_t op) {
    return check->ops[op].kind == LINEAR_OK;
}

/* The lowest rank that the operation passed. */
static uint32_t passed_by(const struct linear_op *op) {
    const int32_t below = op->below > 0 ? op->below : 0;

    return below < op->rank ? (uint32_t)(op->rank - below) : 0;
}

static void find_out_of_range(struct check *check, uint32_t index) {
    struct linear_finding *found = &check->answer->found[LINEAR_RANGE];

    if (found->count++ > 0 && check->ops[found->op[0]].invoke_ns <= check->ops[index].invoke_ns)
        return;
    found->op[0] = index;
    found->ops = 1;
}

static void find_unsold(struct check *check, uint32_t index) {
    struct linear_finding *found = &check->answer->found[LINEAR_UNSOLD];

    if (check->left <= 0 ||
        (found->count++ > 0 && check->ops[found->op[0]].return_ns >= check->ops[index].return_ns))
        return;
    found->op[0] = index;
    found->ops = 1;
}

/* Put operations with a rank into the array, and again under the lowest rank that they passed. Find
 * the first refusal and the sales that are out of range. */
static void linear_collect(struct check *check) {
    uint32_t lowest = check->units;

    for (uint32_t i = 0; i < check->count; i++) {
        const struct linear_op *op = &check->ops[i];

        assert(op->return_ns >= op->invoke_ns);
        if (op->kind == LINEAR_SOLD_OUT) {
            find_unsold(check, i);
            if (check->refusal == LINEAR_NO_OP ||
                op->return_ns < check->ops[check->refusal].return_ns)
                check->refusal = i;
        } else if (!has_rank(check, op)) {
            find_out_of_range(check, i);
        } else {
            check->ranked[check->ranked_count++] = (struct ranked){(uint32_t)op->rank, i};
            if (op->below > 0)
                check->ranked[check->ranked_count++] = (struct ranked){passed_by(op), i};
            lowest = passed_by(op) < lowest ? passed_by(op) : lowest;
        }
    }
    if (check->left != LINEAR_UNREAD)
        check->low_rank = (uint32_t)check->left;
    else
        check->low_rank = check->refusal != LINEAR_NO_OP ? 0 : lowest;
}

/* Sort by digits, the lowest first (radix sort, Knuth 5.2.5): unlike a comparison sort it touches
 * memory in order. */
static void sort_ranks(struct check *check) {
    for (unsigned shift = 0; shift < 32 && check->units >> shift > 0; shift += DIGIT_BITS) {
        size_t places[DIGITS + 1] = {0};
        struct ranked *sorted = check->spare;

        for (size_t i = 0; i < check->ranked_count; i++)
            places[(check->ranked[i].rank >> shift) % DIGITS + 1]++;
        for (size_t d = 1; d < DIGITS; d++)
            places[d] += places[d - 1];
        for (size_t i = 0; i < check->ranked_count; i++)
            sorted[places[(check->ranked[i].rank >> shift) % DIGITS]++] = check->ranked[i];
        check->spare = check->ranked;
        check->ranked = sorted;
    }
}

/* ---- pairs */

/* From the first's invoke to the later return. */
static int64_t linear_span_of(const struct linear_op *first, const struct linear_op *second) {
    int64_t end = first->return_ns > second->return_ns ? first->return_ns : second->return_ns;
    int64_t span;

    if (end == LINEAR_NEVER || __builtin_sub_overflow(end, first->invoke_ns, &span))
        return LINEAR_NEVER;
    return span;
}

/* Keep the pair if it is the first of its kind, or tighter in time than the kept one. */
static void keep_pair(struct check *check, enum linear_contradiction kind, int64_t *tightest,
                      uint32_t first, uint32_t second) {
    struct linear_finding *found = &check->answer->found[kind];
    int64_t span = linear_span_of(&check->ops[first], &check->ops[second]);

    if (found->ops > 0 && span >= *tightest)
        return;
    *tightest = span;
    found->ops = 2;
    found->op[0] = first;
    found->op[1] = second;
}

static int by_invoke(const void *a, const void *b, void *data) {
    const struct check *check = data;
    const struct linear_op *x = &check->ops[((const struct ranked *)a)->op];
    const struct linear_op *y = &check->ops[((const struct ranked *)b)->op];

    return (x->invoke_ns > y->invoke_ns) - (x->invoke_ns < y->invoke_ns);
}

/* Find twins: of the sales of one rank, each beyond the first to begin. */
static void linear_find_twins(struct check *check, struct ranked *group, size_t count) {
    if (count == 1)
        return;
    qsort_r(group, count, sizeof *group, by_invoke, check);
    check->answer->found[LINEAR_TWIN].count += (int64_t)count - 1;
    for (size_t i = 1; i < count; i++)
        keep_pair(check, LINEAR_TWIN, &check->tightest[0], group[i - 1].op, group[i].op);
}

/* Find sales that began after a sale of their rank, or of a lower one, had returned. */
static void find_stale(struct check *check, uint32_t passer, const struct ranked *group,
                       size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (!linear_is_sale(check, group[i].op) ||
            check->ops[passer].return_ns >= check->ops[group[i].op].invoke_ns)
            continue;
        check->answer->found[LINEAR_STALE].count++;
        keep_pair(check, LINEAR_STALE, &check->tightest[1], passer, group[i].op);
    }
}

/* ---- gaps */

static uint32_t first_to_return(const struct check *check, uint32_t a, uint32_t b) {
    if (a == LINEAR_NO_OP || b == LINEAR_NO_OP)
        return a == LINEAR_NO_OP ? b : a;
    return check->ops[b].return_ns < check->ops[a].return_ns ? b : a;
}

static int64_t return_of(const struct check *check, uint32_t op) {
    return op == LINEAR_NO_OP ? LINEAR_NEVER : check->ops[op].return_ns;
}

static void add_gap(struct check *check, struct linear_gap gap) {
    if (check->gap_count == check->gap_room) {
        size_t room = check->gap_room > 0 ? 2 * check->gap_room : 64;
        struct linear_gap *gaps = realloc(check->gaps, room * sizeof *gaps);

        check->is_out_of_memory = check->is_out_of_memory || gaps == NULL;
        if (gaps == NULL)
            return;
        check->gaps = gaps;
        check->gap_room = room;
    }
    gap.row = check->row;
    check->gaps[check->gap_count++] = gap;
}

/* No operation has the ranks `low` .. `end` - 1. Ranks that are left or were not passed need
 * none. */
static void add_empty(struct check *check, uint32_t low, uint32_t end, uint32_t seller) {
    uint32_t passer = first_to_return(check, check->refusal, seller);

    if (low < check->low_rank)
        low = check->low_rank;
    if (end > low)
        add_gap(check, (struct linear_gap){return_of(check, passer), low, end - low, passer, passer,
                                           0, LINEAR_GAP_EMPTY, false, LINEAR_NEVER});
}

/* Add a gap for a unit that came back, or for a nameless sale. `first` is the first operation to
 * return that shows the unit taken. */
static void add_taken(struct check *check, enum linear_gap_kind kind, uint32_t op, uint32_t first) {
    const bool is_any_time = kind == LINEAR_GAP_NAMELESS && check->ops[op].kind == LINEAR_AGAIN;

    add_gap(check, (struct linear_gap){is_any_time ? LINEAR_NEVER : return_of(check, first),
                                       (uint32_t)check->ops[op].rank, 1, op, first, 0, kind, false,
                                       LINEAR_NEVER});
}

static void linear_find_surplus(struct check *check, uint32_t op) {
    struct linear_finding *found = &check->answer->found[LINEAR_SURPLUS];

    found->count++;
    found->ops = 1;
    found->op[0] = op; /* the highest rank is the last */
}

/* Whether the operation began in time to be the first of its rank. */
static bool may_be_first(const struct check *check, uint32_t op, uint32_t first) {
    return linear_is_sale(check, op) || (check->ops[op].kind == LINEAR_EITHER &&
                                         check->ops[op].invoke_ns <= return_of(check, first));
}

/* Walk over the operations of one rank. `seller` is the first other to return that passed the
 * rank. */
static uint32_t walk_rank(struct check *check, struct ranked *group, size_t count,
                          uint32_t seller) {
    uint32_t first = seller, passer;
    bool is_any_first = false;

    linear_find_twins(check, group, count);
    for (size_t i = 0; i < count; i++)
        first = first_to_return(check, first, group[i].op);
    passer = first_to_return(check, check->refusal, first);
    for (size_t i = 0; i < count; i++) {
        is_any_first = is_any_first || may_be_first(check, group[i].op, passer);
        if (check->ops[group[i].op].is_nameless)
            add_taken(check, LINEAR_GAP_NAMELESS, group[i].op, passer);
    }
    find_stale(check, first, group, count);
    if ((int64_t)group[0].rank < check->left)
        linear_find_surplus(check, group[0].op);
    else if (!is_any_first)
        add_taken(check, LINEAR_GAP_BACK, group[0].op, passer);
    return first;
}

/* Move operations of this rank to the front, and update the first to return. Returns their
 * number. */
static size_t part_group(const struct check *check, struct ranked *group, size_t count,
                         uint32_t *seller) {
    size_t own = 0;

    for (size_t i = 0; i < count; i++) {
        const struct ranked entry = group[i];

        if ((uint32_t)check->ops[entry.op].rank != entry.rank) {
            *seller = first_to_return(check, *seller, entry.op);
            continue;
        }
        group[i] = group[own];
        group[own++] = entry;
    }
    return own;
}

static void walk_up(struct check *check) {
    uint32_t next = 0, seller = LINEAR_NO_OP;

    for (size_t i = 0, end; i < check->ranked_count; i = end) {
        const uint32_t rank = check->ranked[i].rank;
        size_t own;

        for (end = i; end < check->ranked_count && check->ranked[end].rank == rank;)
            end++;
        assert(rank >= next && rank < check->units);
        add_empty(check, next, rank, seller);
        own = part_group(check, &check->ranked[i], end - i, &seller);
        next = own > 0 ? rank + 1 : rank;
        if (own > 0)
            seller = walk_rank(check, &check->ranked[i], own, seller);
    }
    add_empty(check, next, check->units, seller);
}

/* ---- refusals, and tighter pairs */

/* Find the first buyer after the first refusal, and the last refusal before that buyer. */
static void find_early(struct check *check) {
    struct linear_finding *found = &check->answer->found[LINEAR_EARLY];
    const struct linear_op *ops = check->ops;
    uint32_t buyer = LINEAR_NO_OP, refusal = check->refusal;
    int64_t last_ns = LINEAR_BEFORE;

    if (refusal == LINEAR_NO_OP)
        return;
    for (uint32_t i = 0; i < check->count; i++) {
        if (!has_rank(check, &ops[i]) || !linear_is_sale(check, i) ||
            ops[i].invoke_ns <= ops[check->refusal].return_ns)
            continue;
        last_ns = ops[i].invoke_ns > last_ns ? ops[i].invoke_ns : last_ns;
        buyer = buyer == LINEAR_NO_OP || ops[i].invoke_ns < ops[buyer].invoke_ns ? i : buyer;
    }
    if (buyer == LINEAR_NO_OP)
        return;
    for (uint32_t i = 0; i < check->count; i++) {
        if (ops[i].kind != LINEAR_SOLD_OUT || ops[i].return_ns >= last_ns)
            continue;
        found->count++;
        if (ops[i].return_ns < ops[buyer].invoke_ns && ops[i].return_ns > ops[refusal].return_ns)
            refusal = i;
    }
    found->ops = 2;
    found->op[0] = refusal;
    found->op[1] = buyer;
}

/* For the kept stale sale, find the last to begin of the operations that passed it and returned. */
static void tighten_stale(struct check *check) {
    struct linear_finding *found = &check->answer->found[LINEAR_STALE];
    const struct linear_op *late;

    if (found->count == 0)
        return;
    late = &check->ops[found->op[1]];
    for (uint32_t i = 0; i < check->count; i++) {
        const struct linear_op *op = &check->ops[i];

        if (has_rank(check, op) && passed_by(op) <= (uint32_t)late->rank &&
            op->return_ns < late->invoke_ns && op->invoke_ns > check->ops[found->op[0]].invoke_ns)
            found->op[0] = i;
    }
}

/* ---- a row */

static int linear_make_room(struct check *check, size_t count) {
    if (check->ranked != NULL && count <= check->ranked_room)
        return 0;
    free(check->ranked);
    free(check->spare);
    check->ranked_room = count;
    check->ranked = malloc((count + 1) * sizeof *check->ranked);
    check->spare = malloc((count + 1) * sizeof *check->spare);
    return check->ranked != NULL && check->spare != NULL ? 0 : -1;
}

static int check_row(struct check *check, const struct linear_row *row) {
    size_t ranked = 0;

    assert(row->count < LINEAR_NO_OP && row->units >= 0 && row->units <= INT32_MAX);
    assert(row->left == LINEAR_UNREAD || (row->left >= 0 && row->left <= row->units));
    for (size_t i = 0; i < row->count; i++)
        ranked += row->ops[i].kind == LINEAR_SOLD_OUT ? 0 : row->ops[i].below > 0 ? 2 : 1;
    if (linear_make_room(check, ranked) != 0)
        return -1;
    check->ops = row->ops;
    check->count = row->count;
    check->units = (uint32_t)row->units;
    check->left = row->left;
    check->refusal = LINEAR_NO_OP;
    check->ranked_count = 0;
    linear_collect(check);
    sort_ranks(check);
    walk_up(check);
    find_early(check);
    tighten_stale(check);
    return check->is_out_of_memory ? -1 : 0;
}

/* ---- dealing the open operations out to the gaps of all rows
 *
 * Open operations in order of their invokes fill the gaps in order of their deadlines. No other
 * choice leaves fewer gaps, because an operation that began early enough for one gap also did so
 * for each gap with a later deadline (the exchange argument behind Jackson's rule, 1955:
 * earliest deadline first). Operations that can fill only few gaps go first: undone ones, into
 * the ranks of units that came back. */

/* In one row the highest ranks come first: they were passed first. */
static int by_deadline(const void *a, const void *b) {
    const struct linear_gap *x = a, *y = b;

    if (x->deadline_ns != y->deadline_ns)
        return x->deadline_ns < y->deadline_ns ? -1 : 1;
    return x->row != y->row ? (x->row > y->row) - (x->row < y->row)
                            : (x->low < y->low) - (x->low > y->low);
}

static void sort(void *array, size_t count, size_t size,
                 int (*compare)(const void *, const void *)) {
    if (count > 1)
        qsort(array, count, size, compare);
}

/* The open operations, and the index of the next unused one of each kind. */
struct dealer {
    const struct linear_row *rows;
    const struct linear_open *open;
    struct linear_gap *gaps;
    size_t count, undone, unknown;
    /* Filled gaps of nameless sales that may be sales of returned units, the last on top. */
    size_t *flexible;
    size_t flexible_count;
};

/* Fill the gap with operations from *used on that began in time. */
static void fill_gap(struct linear_gap *gap, const int64_t *invokes_ns, size_t count,
                     size_t *used) {
    for (; gap->count > 0 && *used < count && invokes_ns[*used] <= gap->deadline_ns; ++*used)
        gap->count--;
}

static bool is_flexible(const struct dealer *dealer, const struct linear_gap *gap) {
    return gap->kind == LINEAR_GAP_NAMELESS && !gap->is_again &&
           dealer->rows[gap->row].ops[gap->op].kind == LINEAR_EITHER;
}

/* Take unknown operations away from earlier, flexible gaps, which undone ones may fill instead. */
static void take_over(struct dealer *dealer, struct linear_gap *gap) {
    for (; gap->count > 0 && dealer->flexible_count > 0; gap->count--) {
        struct linear_gap *other = &dealer->gaps[dealer->flexible[--dealer->flexible_count]];

        other->is_again = true;
        other->count = 1;
    }
}

static void fill_by_unknown(struct dealer *dealer, size_t g) {
    struct linear_gap *gap = &dealer->gaps[g];

    if (gap->kind == LINEAR_GAP_BACK && dealer->open->are_kept)
        return;
    fill_gap(gap, dealer->open->unknown_ns, dealer->open->unknown_count, &dealer->unknown);
    if (!is_flexible(dealer, gap))
        take_over(dealer, gap);
    else if (gap->count == 0)
        dealer->flexible[dealer->flexible_count++] = g;
    else
        gap->is_again = true;
}

/* The unit of a nameless sale had come back: an undone operation took it first, and any unknown one
 * made the sale. */
static void fill_again(struct dealer *dealer, struct linear_gap *gap) {
    const struct linear_open *open = dealer->open;

    if (gap->count == 0 || !gap->is_again || dealer->unknown == open->unknown_count ||
        open->unknown_ns[dealer->unknown] > gap->late_ns)
        return;
    fill_gap(gap, open->undone_ns, open->undone_count, &dealer->undone);
    dealer->unknown += gap->count == 0;
}

static void deal_gaps(struct dealer *dealer) {
    sort(dealer->gaps, dealer->count, sizeof *dealer->gaps, by_deadline);
    for (size_t g = 0; g < dealer->count; g++)
        if (dealer->gaps[g].kind == LINEAR_GAP_BACK)
            fill_gap(&dealer->gaps[g], dealer->open->undone_ns, dealer->open->undone_count,
                     &dealer->undone);
    for (size_t g = 0; g < dealer->count; g++)
        fill_by_unknown(dealer, g);
    for (size_t g = 0; g < dealer->count; g++)
        fill_again(dealer, &dealer->gaps[g]);
}

/* The contradiction if no open operation is left for a gap. A sale that might have been the
 * first of its rank began too late for that. */
static enum linear_contradiction contradiction_of(const struct linear_gap *gap,
                                                  const struct linear_op *ops) {
    if (gap->kind == LINEAR_GAP_NAMELESS)
        return LINEAR_UNASKED;
    if (gap->kind == LINEAR_GAP_EMPTY)
        return LINEAR_MISSING;
    if (ops[gap->op].kind != LINEAR_EITHER || gap->passer == gap->op || gap->passer == LINEAR_NO_OP)
        return LINEAR_UNTAKEN;
    return ops[gap->passer].kind == LINEAR_SOLD_OUT ? LINEAR_EARLY : LINEAR_STALE;
}

static void tell_open(const struct linear_gap *gap, const struct linear_row *row,
                      struct linear_answer *answer) {
    const enum linear_contradiction kind = contradiction_of(gap, row->ops);
    struct linear_finding *found = &answer->found[kind];

    if (found->count == 0 && (kind == LINEAR_EARLY || kind == LINEAR_STALE))
        *found = (struct linear_finding){.ops = 2, .op = {gap->passer, gap->op}};
    else if (found->count == 0)
        *found = (struct linear_finding){.ops = 1, .op = {gap->op}, .rank = gap->low};
    found->count += gap->count;
}

/* Append the gaps of stacks to the gaps of all rows, which are in order of rows. 0, or -1. */
static int add_stacks(struct dealer *dealer, size_t row_count) {
    const size_t count = dealer->count;
    size_t next = 0;

    for (size_t r = 0; r < row_count; r++) {
        const size_t first = next;
        int64_t added = 0;

        while (next < count && dealer->gaps[next].row == r)
            next++;
        if (dealer->rows[r].is_stack)
            added = linear_stack_find(&dealer->rows[r], &dealer->gaps[first], next - first,
                                      &dealer->gaps[dealer->count]);
        if (added < 0)
            return -1;
        for (; added > 0; added--)
            dealer->gaps[dealer->count++].row = (uint32_t)r;
    }
    return 0;
}

/* 0, or -1: out of memory. */
static int deal_out(struct check *check, const struct linear_row *rows, size_t row_count,
                    const struct linear_open *open, struct linear_answer *answers) {
    struct dealer dealer = {.rows = rows, .open = open, .count = check->gap_count};
    size_t room = check->gap_count + 1;

    for (size_t r = 0; r < row_count; r++)
        room += rows[r].is_stack ? 3 * rows[r].count : 0;
    dealer.gaps = realloc(check->gaps, room * sizeof *dealer.gaps);
    if (dealer.gaps == NULL)
        return -1;
    check->gaps = dealer.gaps;
    if (add_stacks(&dealer, row_count) != 0)
        return -1;
    dealer.flexible = malloc((dealer.count + 1) * sizeof *dealer.flexible);
    if (dealer.flexible == NULL)
        return -1;
    sorted_sort(open->undone_ns, open->undone_count, sizeof *open->undone_ns);
    sorted_sort(open->unknown_ns, open->unknown_count, sizeof *open->unknown_ns);
    deal_gaps(&dealer);
    free(dealer.flexible);
    for (size_t g = 0; g < dealer.count; g++)
        if (dealer.gaps[g].count > 0)
            tell_open(&dealer.gaps[g], &rows[dealer.gaps[g].row], &answers[dealer.gaps[g].row]);
    return 0;
}

/* ---- all rows */

/* Add the sale of the next higher rank, so that people see both sides of the gap. */
static void add_neighbour(const struct linear_row *row, struct linear_finding *found) {
    uint32_t best = LINEAR_NO_OP;

    for (uint32_t i = 0; i < row->count; i++)
        if (row->ops[i].kind == LINEAR_OK && row->ops[i].rank > found->rank &&
            row->ops[i].rank < row->units &&
            (best == LINEAR_NO_OP || row->ops[i].rank < row->ops[best].rank))
            best = i;
    if (best != LINEAR_NO_OP)
        found->op[found->ops++] = best;
}

static void linear_conclude(const struct linear_row *row, struct linear_answer *answer) {
    if (answer->found[LINEAR_MISSING].count > 0)
        add_neighbour(row, &answer->found[LINEAR_MISSING]);
    answer->is_linearizable = true;
    for (int i = 0; i < LINEAR_CONTRADICTION_COUNT; i++)
        answer->is_linearizable = answer->is_linearizable && answer->found[i].count == 0;
}

int linear_check(const struct linear_row *rows, size_t row_count, const struct linear_open *open,
                 struct linear_answer *answers) {
    struct check check = {.gaps = NULL};
    int rc = 0;

    assert(row_count < UINT32_MAX);
    memset(answers, 0, row_count * sizeof *answers);
    for (size_t r = 0; r < row_count && rc == 0; r++) {
        check.row = (uint32_t)r;
        check.answer = &answers[r];
        rc = check_row(&check, &rows[r]);
    }
    if (rc == 0)
        rc = deal_out(&check, rows, row_count, open, answers);
    for (size_t r = 0; r < row_count && rc == 0; r++)
        linear_conclude(&rows[r], &answers[r]);
    free(check.gaps);
    free(check.ranked);
    free(check.spare);
    return rc;
}
