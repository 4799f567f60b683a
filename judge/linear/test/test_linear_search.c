/* The linearizability check against a search through all orders of small random histories. */
#include "linear.h"
#include "test.h"

#include <inttypes.h>
#include <stdbool.h>

#define HISTORIES 40000 /* of each kind */

/* ---- a small history of several stock rows */

#define OPS_MAX   7
#define ROWS_MAX  2
#define UNITS_MAX 4

/* Open operations: the check does not get these as operations of a row. */
enum { UNKNOWN = LINEAR_BACK + 1, UNDONE };

struct past {
    size_t rows, count;
    int64_t units[ROWS_MAX], left[ROWS_MAX];
    struct linear_op ops[OPS_MAX];
    size_t row[OPS_MAX];        /* of each operation; UNKNOWN and UNDONE may be of any row */
    uint32_t excused[ROWS_MAX]; /* a bit for each rank that needs no sale */
};

static bool is_open(const struct linear_op *op) {
    return (int)op->kind == UNKNOWN || (int)op->kind == UNDONE;
}

/* ---- the search: try each operation that may be next, and all that can follow it */

struct search {
    const struct past *past;
    /* Dead ends: operations done, units left in the rows. */
    bool seen[1 << OPS_MAX][UNITS_MAX + 1][UNITS_MAX + 1];
};

/* Whether no operation that must still happen had returned before this one began. */
static bool may_be_next(const struct past *past, unsigned done, size_t candidate) {
    for (size_t i = 0; i < past->count; i++)
        if ((done >> i & 1) == 0 && !is_open(&past->ops[i]) &&
            past->ops[i].return_ns < past->ops[candidate].invoke_ns)
            return false;
    return true;
}

/* How many operations have the unit that was sold as this rank and came back. */
static int count_again(const struct past *past, size_t row, int64_t rank) {
    int count = 0;

    for (size_t i = 0; i < past->count; i++)
        count +=
            past->ops[i].kind == LINEAR_AGAIN && past->row[i] == row && past->ops[i].rank == rank;
    return count;
}

/* The units left in the row after the operation, or -1: it cannot happen with `left` units. */
static int64_t effect(const struct past *past, const struct linear_op *op, size_t row,
                      int64_t left) {
    const int again = count_again(past, row, op->rank);

    switch ((int)op->kind) {
    case LINEAR_OK:
        return left > 0 && op->rank == left - 1 && again == 0 ? left - 1 : -1;
    case LINEAR_SOLD_OUT:
        return left == 0 ? 0 : -1;
    case LINEAR_AGAIN: /* only an open operation can have taken its rank */
        return again == 1 && op->rank < past->units[row] && left <= op->rank ? left : -1;
    case UNDONE:
        return left > 0 && count_again(past, row, left - 1) == 1 ? left - 1 : -1;
    default:
        return left - 1; /* it may also have no effect: then it is left out */
    }
}

static bool is_complete(const struct past *past, unsigned done, const int64_t *left) {
    for (size_t i = 0; i < past->count; i++)
        if ((done >> i & 1) == 0 && !is_open(&past->ops[i]))
            return false;
    for (size_t row = 0; row < past->rows; row++)
        if (past->left[row] != LINEAR_UNREAD && past->left[row] != left[row])
            return false;
    return true;
}

static bool can_finish(struct search *search, unsigned done, const int64_t left[ROWS_MAX]);

/* Try each operation that can be next in this row. */
static bool can_finish_by(struct search *search, unsigned done, const int64_t left[ROWS_MAX],
                          size_t row) {
    const struct past *past = search->past;
    int64_t after[ROWS_MAX] = {left[0], left[1]};

    after[row] = left[row] - 1;
    if (left[row] > 0 && (past->excused[row] >> after[row] & 1) && can_finish(search, done, after))
        return true;
    for (size_t i = 0; i < past->count; i++) {
        if ((done >> i & 1) != 0 || (!is_open(&past->ops[i]) && past->row[i] != row))
            continue;
        after[row] = effect(past, &past->ops[i], row, left[row]);
        if (after[row] >= 0 && may_be_next(past, done, i) &&
            can_finish(search, done | 1u << i, after))
            return true;
    }
    return false;
}

static bool can_finish(struct search *search, unsigned done, const int64_t left[ROWS_MAX]) {
    if (is_complete(search->past, done, left))
        return true;
    if (search->seen[done][left[0]][left[1]])
        return false;
    search->seen[done][left[0]][left[1]] = true;
    for (size_t row = 0; row < search->past->rows; row++)
        if (can_finish_by(search, done, left, row))
            return true;
    return false;
}

static bool search_all(const struct past *past);

/* Try each unknown operation as the one that made the nameless sale. */
static bool search_nameless(const struct past *past, size_t which) {
    for (size_t i = 0; i < past->count; i++) {
        struct past one = *past;

        if ((int)past->ops[i].kind != UNKNOWN)
            continue;
        one.ops[which].is_nameless = false;
        one.ops[which].invoke_ns = past->ops[i].invoke_ns;
        one.ops[i] = one.ops[--one.count];
        one.row[i] = one.row[one.count];
        if (search_all(&one))
            return true;
    }
    return false;
}

static bool search_either(const struct past *past, size_t which) {
    struct past one = *past;

    one.ops[which].kind = LINEAR_OK;
    if (search_all(&one))
        return true;
    one.ops[which].kind = LINEAR_AGAIN;
    return search_all(&one);
}

static bool search_all(const struct past *past) {
    struct search search = {.past = past};

    for (size_t i = 0; i < past->count; i++) {
        if (past->ops[i].is_nameless)
            return search_nameless(past, i);
        if (past->ops[i].kind == LINEAR_EITHER)
            return search_either(past, i);
    }
    return can_finish(&search, 0, past->units);
}

/* ---- random histories */

static uint64_t seed;

static int64_t pick(int64_t from, int64_t to) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return from + (int64_t)(seed % (uint64_t)(to - from + 1));
}

static void move_op(struct linear_op *op, int64_t by) {
    if (op->is_nameless)
        return;
    op->invoke_ns += by;
    op->return_ns += op->return_ns != LINEAR_NEVER ? by : 0;
}

/* Change a rank, move an operation a little, swap the times of two, or change the count at the
 * end. */
static void spoil(struct past *past) {
    const size_t which = (size_t)pick(0, (int64_t)past->count - 1);
    struct linear_op *op = &past->ops[which];
    struct linear_op *other = &past->ops[pick(0, (int64_t)past->count - 1)];
    const bool is_known = !op->is_nameless && !other->is_nameless;
    const int64_t apart = is_known ? other->invoke_ns - op->invoke_ns : 0;
    int64_t *left = &past->left[past->row[which]];

    switch (pick(1, 4)) {
    case 1:
        op->rank = (int32_t)pick(-1, past->units[past->row[which]]);
        return;
    case 2:
        move_op(op, pick(-6, 6));
        return;
    case 3:
        *left = *left != LINEAR_UNREAD ? pick(0, past->units[past->row[which]]) : *left;
        return;
    default:
        move_op(op, apart);
        move_op(other, -apart);
    }
}

/* A unit is given back and sold again, if there is room. */
static void give_back(struct past *past, size_t taker) {
    struct linear_op *op = &past->ops[past->count];

    if (past->count == OPS_MAX || past->ops[taker].kind != LINEAR_OK)
        return;
    *op = past->ops[taker];
    op->kind = LINEAR_AGAIN;
    past->row[past->count++] = past->row[taker];
    move_op(op, pick(0, 6));
    op->return_ns = pick(0, 1) ? LINEAR_NEVER : op->return_ns;
    past->ops[taker].kind = (enum linear_kind)(pick(0, 1) ? UNKNOWN : UNDONE);
}

/* Hide the kind of some sales, and the operation that made some others. */
static void hide(struct past *past) {
    for (size_t i = 0; i < past->count; i++) {
        struct linear_op *op = &past->ops[i];

        if (op->kind == LINEAR_OK && pick(1, 100) <= 15)
            op->kind = LINEAR_EITHER;
        if (is_open(op) || op->kind == LINEAR_SOLD_OUT || past->count == OPS_MAX ||
            pick(1, 100) > 15)
            continue;
        past->ops[past->count] = *op;
        past->ops[past->count].kind = (enum linear_kind)UNKNOWN;
        past->row[past->count++] = past->row[i];
        op->is_nameless = true;
        op->invoke_ns = LINEAR_BEFORE;
        op->return_ns = LINEAR_NEVER;
    }
}

/* A history that a correct server can produce, perhaps spoiled afterwards. */
static void make_plausible(struct past *past) {
    int64_t left[ROWS_MAX] = {past->units[0], past->units[1]}, now = 0;
    const size_t count = past->count;

    for (size_t i = 0; i < count; i++) {
        const size_t row = past->row[i];
        struct linear_op *op = &past->ops[i];

        *op = (struct linear_op){.invoke_ns = now - pick(0, 4), .return_ns = now + pick(1, 4)};
        op->kind = left[row] > 0 ? LINEAR_OK : LINEAR_SOLD_OUT;
        op->rank = left[row] > 0 ? (int32_t)--left[row] : 0;
        if (pick(1, 100) <= 20)
            op->kind = (enum linear_kind)UNKNOWN;
        now += pick(1, 3);
    }
    for (size_t row = 0; row < past->rows; row++)
        past->left[row] = pick(0, 1) ? left[row] : LINEAR_UNREAD;
    if (pick(1, 100) <= 40)
        give_back(past, (size_t)pick(0, (int64_t)count - 1));
    hide(past);
    if (pick(1, 100) <= 60)
        spoil(past);
}

static void make_random(struct past *past) {
    static const int kinds[] = {LINEAR_OK,    LINEAR_OK, LINEAR_OK, LINEAR_SOLD_OUT,
                                LINEAR_AGAIN, UNKNOWN,   UNKNOWN,   UNDONE};

    for (size_t i = 0; i < past->count; i++) {
        struct linear_op *op = &past->ops[i];

        *op = (struct linear_op){.invoke_ns = pick(0, 10),
                                 .kind = (enum linear_kind)kinds[pick(0, 7)],
                                 .rank = (int32_t)pick(0, past->units[past->row[i]] - 1)};
        op->return_ns = pick(1, 10) == 1 ? LINEAR_NEVER : op->invoke_ns + pick(1, 6);
    }
    for (size_t row = 0; row < past->rows; row++)
        past->left[row] = pick(0, 2) == 0 ? pick(0, past->units[row]) : LINEAR_UNREAD;
    hide(past);
}

static void print_past(const struct past *past, uint64_t from_seed) {
    static const char *const names[] = {"ok",   "sold out", "again", "either",
                                        "back", "unknown",  "undone"};

    print_message("seed %" PRIu64 "\n", from_seed);
    for (size_t row = 0; row < past->rows; row++)
        print_message("  row %zu: %" PRId64 " units, %" PRId64 " left\n", row, past->units[row],
                      past->left[row]);
    for (size_t i = 0; i < past->count; i++)
        print_message("  %zu: row %zu %s rank %" PRId32 " from %" PRId64 " to %" PRId64 "\n", i,
                      past->row[i], names[past->ops[i].kind], past->ops[i].rank,
                      past->ops[i].invoke_ns, past->ops[i].return_ns);
}

/* Check all rows. `place` gets the index in `past` of each operation of the rows. */
static void check(const struct past *past, struct linear_answer *answers,
                  size_t place[ROWS_MAX][OPS_MAX]) {
    struct linear_op ops[ROWS_MAX][OPS_MAX] = {{{.rank = 0}}};
    struct linear_row rows[ROWS_MAX] = {{.units = 0}};
    int64_t unknown_ns[OPS_MAX], undone_ns[OPS_MAX];
    struct linear_open open = {.unknown_ns = unknown_ns, .undone_ns = undone_ns};

    for (size_t row = 0; row < past->rows; row++)
        rows[row] = (struct linear_row){past->units[row], past->left[row], ops[row], 0, false};
    for (size_t i = 0; i < past->count; i++) {
        struct linear_row *row = &rows[past->row[i]];

        if ((int)past->ops[i].kind == UNKNOWN) {
            unknown_ns[open.unknown_count++] = past->ops[i].invoke_ns;
        } else if ((int)past->ops[i].kind == UNDONE) {
            undone_ns[open.undone_count++] = past->ops[i].invoke_ns;
        } else {
            place[past->row[i]][row->count] = i;
            ops[past->row[i]][row->count++] = past->ops[i];
        }
    }
    assert_int_equal(linear_check(rows, past->rows, &open, answers), 0);
}

/* ---- counterexamples on their own */

static bool is_sold(const struct past *past, size_t row, int64_t rank) {
    for (size_t i = 0; i < past->count; i++)
        if (past->ops[i].kind == LINEAR_OK && past->row[i] == row && past->ops[i].rank == rank)
            return true;
    return false;
}

static void add_open(struct past *part, const struct past *past) {
    for (size_t i = 0; i < past->count; i++)
        if (is_open(&past->ops[i]))
            part->ops[part->count++] = past->ops[i];
}

/* Only the operations of a finding; any other rank may have been sold at any time. For a missing
 * rank the open operations are kept, and each rank from there up without a sale needs one of
 * them. */
static struct past alone(const struct past *past, size_t row, enum linear_contradiction kind,
                         const struct linear_finding *found, const size_t *place) {
    struct past part = {
        .rows = 1, .units = {past->units[row]}, .left = {LINEAR_UNREAD, LINEAR_UNREAD}};

    part.excused[0] = (1u << past->units[row]) - 1;
    if (kind == LINEAR_SURPLUS || kind == LINEAR_UNSOLD ||
        (kind == LINEAR_MISSING && found->op[0] == LINEAR_END))
        part.left[0] = past->left[row];
    for (size_t i = 0; i < found->ops; i++)
        if (found->op[i] != LINEAR_END)
            part.ops[part.count++] = past->ops[place[found->op[i]]];
    if (kind != LINEAR_MISSING)
        return part;
    for (int64_t rank = found->rank; rank < past->units[row]; rank++)
        if (!is_sold(past, row, rank))
            part.excused[0] &= ~(1u << rank);
    add_open(&part, past);
    return part;
}

/* Whether one row alone shows the contradiction. It does not if rows share open operations or units
 * came back. */
static bool is_told_alone(const struct past *past, enum linear_contradiction kind) {
    bool is_any_again = false;

    for (size_t i = 0; i < past->count; i++)
        is_any_again = is_any_again || past->ops[i].kind == LINEAR_AGAIN ||
                       past->ops[i].kind == LINEAR_EITHER || past->ops[i].is_nameless;
    if (kind == LINEAR_STALE || kind == LINEAR_EARLY)
        return !is_any_again;
    return kind != LINEAR_UNTAKEN && kind != LINEAR_UNASKED &&
           (kind != LINEAR_MISSING || (past->rows == 1 && !is_any_again));
}

static bool are_findings_contradictions(const struct past *past, size_t row,
                                        const struct linear_answer *answer, const size_t *place) {
    bool is_any = false;

    for (int kind = 0; kind < LINEAR_CONTRADICTION_COUNT; kind++) {
        const struct linear_finding *found = &answer->found[kind];
        struct past part;

        if ((found->count > 0) != (found->ops > 0))
            return false;
        if (found->count == 0)
            continue;
        is_any = true;
        if (!is_told_alone(past, (enum linear_contradiction)kind))
            continue;
        part = alone(past, row, (enum linear_contradiction)kind, found, place);
        if (search_all(&part))
            return false;
    }
    return is_any != answer->is_linearizable;
}

/* ---- properties */

struct tally {
    int possible, impossible, by_kind[LINEAR_CONTRADICTION_COUNT];
};

static void compare_one(void (*make)(struct past *), uint64_t from_seed, size_t rows,
                        struct tally *tally) {
    struct past past = {.rows = rows};
    struct linear_answer answers[ROWS_MAX];
    size_t place[ROWS_MAX][OPS_MAX];
    bool expected, is_linearizable = true, are_contradictions = true;

    seed = from_seed * UINT64_C(0x9e3779b97f4a7c15) | 1;
    for (int i = 0; i < 4; i++)
        (void)pick(0, 1);
    for (size_t row = 0; row < rows; row++)
        past.units[row] = pick(1, UNITS_MAX);
    past.count = (size_t)pick(1, OPS_MAX);
    for (size_t i = 0; i < OPS_MAX; i++)
        past.row[i] = (size_t)pick(0, (int64_t)rows - 1);
    make(&past);
    check(&past, answers, place);
    expected = search_all(&past);
    for (size_t row = 0; row < rows; row++) {
        is_linearizable = is_linearizable && answers[row].is_linearizable;
        are_contradictions = are_contradictions &&
                             are_findings_contradictions(&past, row, &answers[row], place[row]);
        for (int i = 0; i < LINEAR_CONTRADICTION_COUNT; i++)
            tally->by_kind[i] += answers[row].found[i].count > 0;
    }
    if (is_linearizable != expected || !are_contradictions) {
        print_past(&past, from_seed);
        fail_msg("the check says %d, the search %d; or a finding is no contradiction",
                 is_linearizable, expected);
    }
    *(expected ? &tally->possible : &tally->impossible) += 1;
}

static void compare_many(void (*make)(struct past *), size_t rows) {
    struct tally tally = {0};

    for (uint64_t from_seed = 1; from_seed <= HISTORIES; from_seed++)
        compare_one(make, from_seed, rows, &tally);
    assert_int_equal(tally.possible + tally.impossible, HISTORIES);
    assert_in_range(tally.possible, HISTORIES / 20, HISTORIES);
    assert_in_range(tally.impossible, HISTORIES / 20, HISTORIES);
    for (int i = LINEAR_TWIN; i < LINEAR_CONTRADICTION_COUNT; i++)
        assert_in_range(tally.by_kind[i], HISTORIES / 500, 2 * HISTORIES);
}

static void test_plausible_histories_agree_with_the_search(void **state) {
    compare_many(make_plausible, 1);
}

static void test_random_histories_agree_with_the_search(void **state) {
    compare_many(make_random, 1);
}

static void test_histories_of_two_rows_agree_with_the_search(void **state) {
    compare_many(make_plausible, 2);
    compare_many(make_random, 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plausible_histories_agree_with_the_search),
        cmocka_unit_test(test_random_histories_agree_with_the_search),
        cmocka_unit_test(test_histories_of_two_rows_agree_with_the_search),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
