/* The gaps that the check of a row (linear.c) leaves to the open operations, and the additional
 * gaps of a stack. */
#ifndef JUDGE_LINEAR_STACK_H
#define JUDGE_LINEAR_STACK_H

#include "linear_row.h"

#define LINEAR_NO_OP LINEAR_END

/* The kinds of gap. An open operation must have taken each rank of a gap. */
enum linear_gap_kind {
    LINEAR_GAP_EMPTY,   /* ranks without a sale */
    LINEAR_GAP_BACK,    /* the rank of a unit that came back */
    LINEAR_GAP_NAMELESS /* a sale that an open operation made */
};

/* Ranks low .. low + count - 1 of a row. */
struct linear_gap {
    int64_t deadline_ns;
    uint32_t low, count;
    uint32_t op;     /* the sale, or the entry of the unit that came back; EMPTY: as `passer` */
    uint32_t passer; /* the first to return that passed the gap, or LINEAR_NO_OP */
    uint32_t row;
    enum linear_gap_kind kind;
    bool is_again;   /* the nameless sale must be of a unit that came back */
    int64_t late_ns; /* the operation of such a nameless sale must have begun by then */
};

/* Write the additional gaps of a stack to `more`, at most three for each of its sales, and set
 * `late_ns` of the row's own gaps (which have a first taker for each unit that came back). Returns
 * the number of additional gaps; -1: out of memory. */
__attribute__((warn_unused_result)) int64_t linear_stack_find(const struct linear_row *row,
                                                              struct linear_gap *own,
                                                              size_t own_count,
                                                              struct linear_gap *more);

#endif
