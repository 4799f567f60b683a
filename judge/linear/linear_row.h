/* The history of one row, the input of linear.h. */
#ifndef JUDGE_LINEAR_ROW_H
#define JUDGE_LINEAR_ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LINEAR_BEFORE INT64_MIN /* an invoke before all others */
#define LINEAR_NEVER  INT64_MAX /* a return that did not come */

/* A byte, because there are millions of operations. */
enum linear_kind {
    LINEAR_OK,       /* sold: `rank` units were left */
    LINEAR_SOLD_OUT, /* saw no unit left */
    LINEAR_AGAIN,    /* sold: the unit that was sold as `rank` before and came back */
    LINEAR_EITHER,   /* LINEAR_OK or LINEAR_AGAIN: not known which */
    LINEAR_BACK      /* not sold: the unit of `rank` came back and can be sold */
} __attribute__((packed));

struct linear_op {
    int64_t invoke_ns;
    int64_t return_ns; /* not before the invoke */
    int32_t rank;      /* not of LINEAR_SOLD_OUT */
    int32_t below; /* of a stack: how far its unit lay below the place of its rank; < 0: above */
    uint32_t tag;  /* the caller's; the check does not use it */
    enum linear_kind kind;
    bool is_nameless; /* a sale by an open operation of unknown outcome; not known which */
};

#define LINEAR_UNREAD INT64_MIN /* `left`: the count at the end is not known */

/* Fewer than 2^32 - 1 operations on at most 2^31 - 1 units; 0 .. units of them are left. */
struct linear_row {
    int64_t units, left;
    const struct linear_op *ops;
    size_t count;
    bool is_stack; /* a unit that comes back is put on top of the others, and is sold next */
};

#define LINEAR_END UINT32_MAX /* for an operation: the count at the end */

#endif
