/* A small history of several stock rows, and the search through all orders of its operations. */
#ifndef TEST_PAST_SEARCH_H
#define TEST_PAST_SEARCH_H

#include "linear.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OPS_MAX   7
#define ROWS_MAX  2
#define UNITS_MAX 4

/* Those that the check does not see as operations of a row. */
enum { UNKNOWN = LINEAR_BACK + 1, UNDONE };

struct past {
    size_t rows, count;
    int64_t units[ROWS_MAX], left[ROWS_MAX];
    struct linear_op ops[OPS_MAX];
    size_t row[OPS_MAX];        /* of each operation; not of those above, which are of any */
    uint32_t excused[ROWS_MAX]; /* a bit for each rank that may have been sold to anyone */
};

static bool is_open(const struct linear_op *op) {
    return (int)op->kind == UNKNOWN || (int)op->kind == UNDONE;
}

/* The search: take any operation that may be next, and try all that can follow */

struct search {
    const struct past *past;
    /* Dead ends: operations done, units left in the rows. */
    bool seen[1 << OPS_MAX][UNITS_MAX + 1][UNITS_MAX + 1];
};

/* Nothing that must still happen has returned before it began. */
static bool may_be_next(const struct past *past, unsigned done, size_t candidate) {
    for (size_t i = 0; i < past->count; i++)
        if ((done >> i & 1) == 0 && !is_open(&past->ops[i]) &&
            past->ops[i].return_ns < past->ops[candidate].invoke_ns)
            return false;
    return true;
}

/* How many have the unit that was sold as this rank and came back. */
static int count_again(const struct past *past, size_t row, int64_t rank) {
    int count = 0;

    for (size_t i = 0; i < past->count; i++)
        count +=
            past->ops[i].kind == LINEAR_AGAIN && past->row[i] == row && past->ops[i].rank == rank;
    return count;
}

/* The units left in the row after it, or -1 when it cannot happen with so many. */
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
        return left - 1; /* without an effect it need not happen */
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

/* By what happens next in this row. */
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

/* As each of the unknown ones that may have made it. */
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

#endif
