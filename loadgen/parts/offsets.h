/* How far the clock of one part is from the clock of the ledger's database, at each moment.
 *
 * A part asks the database for its time again and again. The database read its clock between the
 * question and the answer, so each sample gives an interval that certainly contains the offset. Two
 * clocks drift apart by at most OFFSETS_DRIFT: so a sample also bounds the offset before and after
 * it, the less sharply the longer. The offset is in all of these intervals.
 *
 * If two samples contradict each other, a clock stepped between them (or ran faster than that).
 * Then the samples before it bound nothing after it, and a moment between the two has the offset of
 * before, or that of after, or one between them. Two steps that undo each other between two samples
 * cannot be seen. */
#ifndef LOADGEN_OFFSETS_H
#define LOADGEN_OFFSETS_H

#include "round.h"

/* Nanoseconds in a second. Linux slews a clock by at most 500 us in a second (adjtimex(2)), each of
 * the two. */
#define OFFSETS_DRIFT 1000000

/* A moment of the part plus `low_ns` .. `high_ns` is a moment of the database since 1970. */
struct offset {
    int64_t low_ns, high_ns;
};
struct offset_point {
    int64_t at_ns; /* by the clock of the part */
    struct offset offset;
    bool is_after_step; /* a clock stepped between the point before and this one */
};

struct offsets {
    size_t count, steps;
    struct offset_point *points;
    int64_t step_at_ns,
        step_ns;      /* of the largest step: when by the clock of the part, and how far */
    int64_t steps_ns; /* of all */
};

/* The samples are in order of time, at least one. Returns 0, or -1 without memory. */
__attribute__((warn_unused_result)) int offsets_make(struct offsets *offsets,
                                                     const struct clock_sample *samples,
                                                     size_t count);
void offsets_free(struct offsets *offsets);
struct offset offsets_at(const struct offsets *offsets, int64_t at_ns);

#endif
