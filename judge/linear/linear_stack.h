/* The gaps that the check of a row (linear.c) leaves to the open operations, and those that follow
 * when the row is a stack. */
#ifndef JUDGE_LINEAR_STACK_H
#define JUDGE_LINEAR_STACK_H

#include "linear_row.h"

#define LINEAR_NO_OP LINEAR_END

/* An open operation must have taken one of these. */
enum linear_gap_kind {
    LINEAR_GAP_EMPTY,   /* ranks without a sale */
    LINEAR_GAP_BACK,    /* a rank whose unit came back */
    LINEAR_GAP_NAMELESS /* a sale that one of them made */
};

/* Ranks low .. low + count - 1 of a row. */
struct linear_gap {
    int64_t deadline_ns;
    uint32_t low, count;
    uint32_t op;     /* the sale, or what has the unit that came back; EMPTY: as `passer` */
    uint32_t passer; /* what passed the gap first, or LINEAR_NO_OP */
    uint32_t row;
    enum linear_gap_kind kind;
    bool is_again;   /* a nameless sale that had to be one of a unit that came back */
    int64_t late_ns; /* by when the operation must have begun that made such a nameless sale */
};

/* Add at `more` the gaps of a stack besides a first taker for each unit that came back: at most
 * three for each of its sales. Sets `late_ns` of the row's own gaps. Returns how many it added; -1
 * without memory. */
__attribute__((warn_unused_result)) int64_t linear_stack_find(const struct linear_row *row,
                                                              struct linear_gap *own,
                                                              size_t own_count,
                                                              struct linear_gap *more);

#endif
