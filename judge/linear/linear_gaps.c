/* Deals the open operations out to the gaps of all rows.
 *
 * Open operations in order of their invokes fill the gaps in order of their deadlines. That greedy
 * choice leaves as few gaps as any, because an operation that began early enough for one gap did so
 * for all with a later deadline (the exchange argument behind Jackson's rule, 1955: earliest
 * deadline first). Operations that can fill few gaps go first: those undone, into the ranks of
 * units that came back. */
#include "linear_internal.h"

#include <stdlib.h>
#include <string.h>

int linear_by_time(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* Of one row the highest ranks first, which were passed first. */
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

/* The open operations, and from which on they are not used. */
struct dealer {
    const struct linear_row *rows;
    const struct linear_open *open;
    struct linear_gap *gaps;
    size_t count, undone, unknown;
    /* Filled gaps of nameless sales that may be those of units that came back, the last on top. */
    size_t *flexible;
    size_t flexible_count;
};

/* Fill as much of the gap as operations that began in time can, from the one at *used on. */
static void linear_gaps_fill(struct linear_gap *gap, const int64_t *invokes_ns, size_t count,
                             size_t *used) {
    for (; gap->count > 0 && *used < count && invokes_ns[*used] <= gap->deadline_ns; ++*used)
        gap->count--;
}

static bool is_flexible(const struct dealer *dealer, const struct linear_gap *gap) {
    return gap->kind == LINEAR_GAP_NAMELESS && !gap->is_again &&
           dealer->rows[gap->row].ops[gap->op].kind == LINEAR_EITHER;
}

/* An unknown one that fills an earlier gap, which can do with others. */
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
    linear_gaps_fill(gap, dealer->open->unknown_ns, dealer->open->unknown_count, &dealer->unknown);
    if (!is_flexible(dealer, gap))
        take_over(dealer, gap);
    else if (gap->count == 0)
        dealer->flexible[dealer->flexible_count++] = g;
    else
        gap->is_again = true;
}

/* The unit of a nameless sale came back: it was taken first by one that was undone, and the sale
 * was made by any unknown one. */
static void fill_again(struct dealer *dealer, struct linear_gap *gap) {
    const struct linear_open *open = dealer->open;

    if (gap->count == 0 || !gap->is_again || dealer->unknown == open->unknown_count ||
        open->unknown_ns[dealer->unknown] > gap->late_ns)
        return;
    linear_gaps_fill(gap, open->undone_ns, open->undone_count, &dealer->undone);
    dealer->unknown += gap->count == 0;
}

static void linear_gaps_deal(struct dealer *dealer) {
    sort(dealer->gaps, dealer->count, sizeof *dealer->gaps, by_deadline);
    for (size_t g = 0; g < dealer->count; g++)
        if (dealer->gaps[g].kind == LINEAR_GAP_BACK)
            linear_gaps_fill(&dealer->gaps[g], dealer->open->undone_ns, dealer->open->undone_count,
                             &dealer->undone);
    for (size_t g = 0; g < dealer->count; g++)
        fill_by_unknown(dealer, g);
    for (size_t g = 0; g < dealer->count; g++)
        fill_again(dealer, &dealer->gaps[g]);
}

/* The contradiction when no open operation is left for a gap. A sale that could have been the
 * first of its rank is late for that. */
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

/* Add the gaps of the stacks behind the gaps of all rows, which come row by row. 0, or -1. */
static int add_stacks(struct dealer *dealer, size_t row_count) {
    const size_t count = dealer->count;
    size_t next = 0;

    for (size_t r = 0; r < row_count; r++) {
        const size_t first = next;
        int64_t added = 0;

        while (next < count && dealer->gaps[next].row == r)
            next++;
        if (dealer->rows[r].is_stack)
            added = linear_stack(&dealer->rows[r], &dealer->gaps[first], next - first,
                                 &dealer->gaps[dealer->count]);
        if (added < 0)
            return -1;
        for (; added > 0; added--)
            dealer->gaps[dealer->count++].row = (uint32_t)r;
    }
    return 0;
}

static void deal_out(struct dealer *dealer, struct linear_answer *answers) {
    const struct linear_open *open = dealer->open;

    sort(open->undone_ns, open->undone_count, sizeof *open->undone_ns, linear_by_time);
    sort(open->unknown_ns, open->unknown_count, sizeof *open->unknown_ns, linear_by_time);
    linear_gaps_deal(dealer);
    for (size_t g = 0; g < dealer->count; g++)
        if (dealer->gaps[g].count > 0)
            tell_open(&dealer->gaps[g], &dealer->rows[dealer->gaps[g].row],
                      &answers[dealer->gaps[g].row]);
}

int linear_fill(const struct linear_gap *gaps, size_t gap_count, const struct linear_row *rows,
                size_t row_count, const struct linear_open *open, struct linear_answer *answers) {
    struct dealer dealer = {.rows = rows, .open = open, .count = gap_count};
    size_t room = gap_count + 1;
    int rc = -1;

    for (size_t r = 0; r < row_count; r++)
        room += rows[r].is_stack ? 3 * rows[r].count : 0;
    dealer.gaps = malloc(room * sizeof *dealer.gaps);
    if (dealer.gaps != NULL) {
        if (gap_count > 0)
            memcpy(dealer.gaps, gaps, gap_count * sizeof *gaps);
        rc = add_stacks(&dealer, row_count);
    }
    dealer.flexible = malloc((dealer.count + 1) * sizeof *dealer.flexible);
    if (dealer.flexible == NULL)
        rc = -1;
    if (rc == 0)
        deal_out(&dealer, answers);
    free(dealer.flexible);
    free(dealer.gaps);
    return rc;
}
