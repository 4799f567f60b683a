/* Checks a history of a falling stock: sort by rank, walk up once, and deal the unknown operations
 * out to the gaps.
 *
 * Walking from the lowest rank up, the earliest return so far is the deadline by which every higher
 * rank must have begun. It only falls, so the gaps are met in order of their deadlines, the latest
 * first; and unknown operations in order of their invokes fill the gaps from the other end. That
 * greedy choice leaves as few gaps as any, because an operation that began early enough for one
 * gap did so for all with a later deadline (the exchange argument behind Jackson's rule, 1955:
 * earliest deadline first). */
#include "linear.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define NO_OP      UINT32_MAX
#define DIGIT_BITS 11 /* three passes over ranks of 31 bits */
#define DIGITS     (1u << DIGIT_BITS)

/* A rank that needs no unknown operation: sold by `op`, or excused when that is NO_OP. */
struct ranked {
    uint32_t rank, op;
};

/* Ranks low .. low + count - 1 have no sale; `passer` is the first to return of those lower. */
struct gap {
    uint32_t low, count, passer;
};

struct check {
    const struct linear_op *ops;
    size_t count;
    uint32_t units;
    struct linear_answer *answer;
    struct ranked *ranked, *spare; /* by rank after sort_ranks() */
    size_t ranked_count;
    int64_t *unknown_ns; /* invokes */
    size_t unknown_count;
    struct gap *gaps; /* lowest ranks first */
    size_t gap_count;
    uint32_t refusal;    /* the first to return */
    uint32_t low_rank;   /* the lowest in need of a sale */
    int64_t tightest[2]; /* spans of the TWIN and the STALE pair kept */
};

static bool has_rank(const struct check *check, const struct linear_op *op) {
    return op->kind == LINEAR_OK && op->rank >= 0 && (uint32_t)op->rank < check->units;
}

static void find_out_of_range(struct check *check, uint32_t index) {
    struct linear_finding *found = &check->answer->found[LINEAR_RANGE];

    if (found->count++ > 0 && check->ops[found->op[0]].invoke_ns <= check->ops[index].invoke_ns)
        return;
    found->op[0] = index;
    found->ops = 1;
}

/* Sales and unknown operations to their arrays, the first refusal, and what is out of range. */
static void collect(struct check *check, const int32_t *excused, size_t excused_count) {
    check->low_rank = check->units;
    for (uint32_t i = 0; i < check->count; i++) {
        const struct linear_op *op = &check->ops[i];

        if (op->kind == LINEAR_UNKNOWN) {
            check->unknown_ns[check->unknown_count++] = op->invoke_ns;
        } else if (op->kind == LINEAR_SOLD_OUT) {
            if (check->refusal == NO_OP || op->return_ns < check->ops[check->refusal].return_ns)
                check->refusal = i;
        } else if (!has_rank(check, op)) {
            find_out_of_range(check, i);
        } else {
            check->ranked[check->ranked_count++] = (struct ranked){(uint32_t)op->rank, i};
            if ((uint32_t)op->rank < check->low_rank)
                check->low_rank = (uint32_t)op->rank;
        }
    }
    if (check->refusal != NO_OP)
        check->low_rank = 0;
    for (size_t i = 0; i < excused_count; i++)
        if (excused[i] >= (int64_t)check->low_rank && (uint32_t)excused[i] < check->units)
            check->ranked[check->ranked_count++] = (struct ranked){(uint32_t)excused[i], NO_OP};
}

/* By digits, the lowest first (radix sort, Knuth 5.2.5): it touches memory in order, where a
 * comparison sort would not. It keeps the order of equals, so sales stay in front of the excused.
 */
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

static int by_time(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* From the first's invoke to the second's return. */
static int64_t span_of(const struct linear_op *first, const struct linear_op *second) {
    int64_t end = first->return_ns > second->return_ns ? first->return_ns : second->return_ns;
    int64_t span;

    if (end == LINEAR_NEVER || __builtin_sub_overflow(end, first->invoke_ns, &span))
        return LINEAR_NEVER;
    return span;
}

/* Keep the pair when it is the first of its kind, or tighter in time than the one kept. */
static void keep_pair(struct check *check, enum linear_contradiction kind, int64_t *tightest,
                      uint32_t first, uint32_t second) {
    struct linear_finding *found = &check->answer->found[kind];
    int64_t span = span_of(&check->ops[first], &check->ops[second]);

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

/* Of the sales of one rank, the first to begin; each other one is a twin. */
static uint32_t first_of_rank(struct check *check, struct ranked *sales, size_t count) {
    assert(count > 0 && sales[0].op != NO_OP && sales[count - 1].op != NO_OP);
    if (count > 1)
        qsort_r(sales, count, sizeof *sales, by_invoke, check);
    check->answer->found[LINEAR_TWIN].count += (int64_t)count - 1;
    for (size_t i = 1; i < count; i++)
        keep_pair(check, LINEAR_TWIN, &check->tightest[0], sales[i - 1].op, sales[i].op);
    return sales[0].op;
}

/* A sale whose rank was passed by one that had returned before it began. */
static void find_stale(struct check *check, uint32_t passer, uint32_t op) {
    if (passer == NO_OP || check->ops[passer].return_ns >= check->ops[op].invoke_ns)
        return;
    check->answer->found[LINEAR_STALE].count++;
    keep_pair(check, LINEAR_STALE, &check->tightest[1], passer, op);
}

static uint32_t first_to_return(const struct check *check, uint32_t a, uint32_t b) {
    if (a == NO_OP || b == NO_OP)
        return a == NO_OP ? b : a;
    return check->ops[b].return_ns < check->ops[a].return_ns ? b : a;
}

static size_t count_gaps(const struct check *check) {
    size_t gaps = 0;
    uint32_t next = check->low_rank;

    for (size_t i = 0; i < check->ranked_count; i++) {
        gaps += check->ranked[i].rank > next;
        next = check->ranked[i].rank + 1;
    }
    return gaps + (next < check->units);
}

static int64_t deadline_of(const struct check *check, const struct gap *gap) {
    return check->ops[gap->passer].return_ns;
}

/* Something has passed each gap: the lowest rank in need of a sale is that of a sale, or below a
 * refusal. And what is passed later, going up, is passed by more. */
static void add_gap(struct check *check, uint32_t low, uint32_t end, uint32_t passer) {
    struct gap *gap = &check->gaps[check->gap_count];

    if (end <= low)
        return;
    assert(passer != NO_OP);
    *gap = (struct gap){low, end - low, passer};
    assert(check->gap_count == 0 || deadline_of(check, gap) <= deadline_of(check, gap - 1));
    check->gap_count++;
}

static void walk_up(struct check *check) {
    uint32_t next = check->low_rank, seller = NO_OP;

    for (size_t i = 0, end; i < check->ranked_count; i = end) {
        struct ranked *group = &check->ranked[i];
        size_t sales = 0;
        uint32_t op;

        for (end = i; end < check->ranked_count && check->ranked[end].rank == group->rank; end++)
            sales += check->ranked[end].op != NO_OP; /* which stand in front of the excused */
        assert(group->rank >= next && group->rank < check->units);
        add_gap(check, next, group->rank, first_to_return(check, check->refusal, seller));
        next = group->rank + 1;
        if (sales == 0)
            continue;
        op = first_of_rank(check, group, sales);
        find_stale(check, seller, op);
        seller = first_to_return(check, seller, op);
    }
    add_gap(check, next, check->units, first_to_return(check, check->refusal, seller));
}

/* The sale of the lowest rank above, for people to see between what the gap lies. */
static void add_neighbour(const struct check *check, struct linear_finding *found) {
    uint32_t best = NO_OP;

    for (uint32_t i = 0; i < check->count; i++)
        if (has_rank(check, &check->ops[i]) && check->ops[i].rank > found->rank &&
            (best == NO_OP || check->ops[i].rank < check->ops[best].rank))
            best = i;
    if (best != NO_OP)
        found->op[found->ops++] = best;
}

/* Unknown operations to the gaps, the earliest deadline first. */
static void fill_gaps(struct check *check) {
    struct linear_finding *found = &check->answer->found[LINEAR_MISSING];
    size_t used = 0;

    for (size_t g = check->gap_count; g-- > 0;) {
        const struct gap *gap = &check->gaps[g];
        uint32_t open = gap->count;

        for (; open > 0 && used < check->unknown_count &&
               check->unknown_ns[used] <= deadline_of(check, gap);
             used++)
            open--;
        if (open > 0 && found->count == 0)
            *found = (struct linear_finding){.ops = 1, .op = {gap->passer}, .rank = gap->low};
        found->count += open;
    }
    if (found->count > 0)
        add_neighbour(check, found);
}

/* The first buyer after the first refusal, and the last refusal before that buyer. */
static void find_early(struct check *check) {
    struct linear_finding *found = &check->answer->found[LINEAR_EARLY];
    const struct linear_op *ops = check->ops;
    uint32_t buyer = NO_OP, refusal = check->refusal;
    int64_t last_ns = LINEAR_BEFORE;

    if (refusal == NO_OP)
        return;
    for (uint32_t i = 0; i < check->count; i++) {
        if (!has_rank(check, &ops[i]) || ops[i].invoke_ns <= ops[check->refusal].return_ns)
            continue;
        last_ns = ops[i].invoke_ns > last_ns ? ops[i].invoke_ns : last_ns;
        buyer = buyer == NO_OP || ops[i].invoke_ns < ops[buyer].invoke_ns ? i : buyer;
    }
    if (buyer == NO_OP)
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

/* For the stale sale that was kept, the last to begin of those that had passed and returned. */
static void tighten_stale(struct check *check) {
    struct linear_finding *found = &check->answer->found[LINEAR_STALE];
    const struct linear_op *late;

    if (found->count == 0)
        return;
    late = &check->ops[found->op[1]];
    for (uint32_t i = 0; i < check->count; i++) {
        const struct linear_op *op = &check->ops[i];

        if (has_rank(check, op) && op->rank < late->rank && op->return_ns < late->invoke_ns &&
            op->invoke_ns > check->ops[found->op[0]].invoke_ns)
            found->op[0] = i;
    }
}

static int allocate(struct check *check, size_t excused_count) {
    size_t sales = excused_count, unknown = 0;

    for (size_t i = 0; i < check->count; i++) {
        sales += check->ops[i].kind == LINEAR_OK;
        unknown += check->ops[i].kind == LINEAR_UNKNOWN;
    }
    check->ranked = malloc((sales + 1) * sizeof *check->ranked);
    check->spare = malloc((sales + 1) * sizeof *check->spare);
    check->unknown_ns = malloc((unknown + 1) * sizeof *check->unknown_ns);
    return check->ranked && check->spare && check->unknown_ns ? 0 : -1;
}

int linear_check(int64_t units, const struct linear_op *ops, size_t count, const int32_t *excused,
                 size_t excused_count, struct linear_answer *answer) {
    struct check check = {.ops = ops,
                          .count = count,
                          .units = units > 0 ? (uint32_t)units : 0,
                          .answer = answer,
                          .refusal = NO_OP};
    int rc = allocate(&check, excused_count);

    assert(count < NO_OP);
    memset(answer, 0, sizeof *answer);
    if (rc == 0) {
        collect(&check, excused, excused_count);
        sort_ranks(&check);
        check.gaps = malloc((count_gaps(&check) + 1) * sizeof *check.gaps);
        rc = check.gaps ? 0 : -1;
    }
    if (rc == 0) {
        qsort(check.unknown_ns, check.unknown_count, sizeof *check.unknown_ns, by_time);
        walk_up(&check);
        fill_gaps(&check);
        find_early(&check);
        tighten_stale(&check);
        answer->is_linearizable = true;
        for (int i = 0; i < LINEAR_CONTRADICTION_COUNT; i++)
            answer->is_linearizable = answer->is_linearizable && answer->found[i].count == 0;
    }
    free(check.ranked);
    free(check.spare);
    free(check.unknown_ns);
    free(check.gaps);
    return rc;
}
