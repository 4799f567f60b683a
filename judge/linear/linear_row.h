/* The history of one row, as data: what linear.h checks. */
#ifndef JUDGE_LINEAR_ROW_H
#define JUDGE_LINEAR_ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LINEAR_BEFORE INT64_MIN /* an invoke before everything */
#define LINEAR_NEVER  INT64_MAX /* a return that has not come */

enum linear_kind {
    LINEAR_OK,       /* sold: `rank` units were left */
    LINEAR_SOLD_OUT, /* saw no unit left */
    LINEAR_AGAIN,    /* has the unit that was sold as `rank` before and came back */
    LINEAR_EITHER,   /* one of LINEAR_OK and LINEAR_AGAIN: it cannot be told which */
    LINEAR_BACK      /* not sold: the unit of `rank` came back and waits */
};

struct linear_op {
    int64_t invoke_ns;
    int64_t return_ns; /* not before the invoke */
    int32_t rank;      /* not of LINEAR_SOLD_OUT */
    enum linear_kind kind;
    int32_t below;    /* of a stack: its unit lay so far below the place of its rank, or above */
    bool is_nameless; /* a sale by an open operation of unknown outcome, no one knows which */
};

#define LINEAR_UNREAD INT64_MIN /* `left`: the count at the end is not known */

/* Fewer than 2^32 - 1 operations on at most 2^31 - 1 units, of which 0 .. units are left. */
struct linear_row {
    int64_t units, left;
    const struct linear_op *ops;
    size_t count;
    bool is_stack; /* a unit that comes back lies on those that are left, and is sold next */
};

#define LINEAR_END UINT32_MAX /* for an operation: the count at the end */

#endif
