/* The exact linearizability check of the counts of a stock that only fall, in O(n log n).
 *
 * A row of N units sells one at a time. A sale that leaves k units has the rank k, so the first
 * sale has N - 1 and the last one 0. Each operation takes effect at one moment between its invoke
 * and its return. At the end each row is read: it has `left` units, and all of its sales took
 * effect before. The check finds out whether such moments exist for all operations. They exist
 * exactly if
 * 1. the ranks of a row are distinct and in 0 .. N - 1, and none is below `left`;
 * 2. no sale begins after a sale of a lower rank has returned;
 * 3. no sale begins after a "sold out" has returned, and no unit is left after a "sold out";
 * 4. each rank that was passed and has no sale can get an open operation of its own that began
 *    before the return of the first operation that passed the rank. Sales of lower ranks pass a
 *    rank, and so do "sold out" and the count at the end.
 * Necessary: the opposite of each is a contradiction by itself. Sufficient: take the order of
 * ranks, then "sold out", then the count at the end; in it each operation can take effect at the
 * latest invoke so far. An open operation belongs to no row until it gets a rank, so rows share
 * them.
 *
 * A unit that came back is sold again, or can be: its rank was passed without a sale, because an
 * open operation took the unit. An undone operation can take only such a rank. In a stack, a sale
 * from a lower place than its rank passes each rank from that place up. If a sale may be of either
 * kind, it is one of a returned unit only if it began too late to be the first of its rank.
 *
 * Linearizability is Herlihy and Wing's (1990). The check is NP-complete in general, and easy if
 * each operation tells its place in the order; here the rank does (Gibbons and Korach, "Testing
 * Shared Memories", 1997, on this and other easy cases). */
#ifndef JUDGE_LINEAR_H
#define JUDGE_LINEAR_H

#include "linear_row.h"

/* Invokes of operations without a known end, for all rows together. The check sorts them. */
struct linear_open {
    int64_t *unknown_ns; /* each may have sold a unit at any time since, or none */
    size_t unknown_count;
    bool are_kept;      /* no unknown operation can have given its unit back */
    int64_t *undone_ns; /* each may have taken a unit that came back, or none */
    size_t undone_count;
};

enum linear_contradiction {
    LINEAR_RANGE,   /* a sale of a unit that never existed */
    LINEAR_TWIN,    /* two sales of one rank */
    LINEAR_STALE,   /* a sale began after one of the same or a lower rank had returned */
    LINEAR_EARLY,   /* a sale began after a refusal had returned */
    LINEAR_MISSING, /* a rank was passed, and no operation can have sold it */
    LINEAR_UNTAKEN, /* a unit came back, and no operation can have given it back */
    LINEAR_SURPLUS, /* a sale of a unit that is left */
    LINEAR_UNSOLD,  /* a refusal, and units are left */
    LINEAR_UNASKED, /* a nameless sale, and no open operation began in time for it */
    LINEAR_CONTRADICTION_COUNT
};

/* `op` has the indexes of the fewest operations that show it:
 * RANGE    the sale
 * TWIN     both sales, the earlier invoke first; the tightest pair in time
 * STALE    the sale that returned, then the sale that began after it
 * EARLY    the refusal, then the sale
 * MISSING  the first operation to return that had passed `rank`, or LINEAR_END; then the sale of
 *          the next higher rank, if there is one
 * UNTAKEN  the sale or the entry (LINEAR_BACK) that has the unit
 * SURPLUS  the sale, of the highest rank
 * UNSOLD   the last refusal
 * UNASKED  the sale */
struct linear_finding {
    int64_t count; /* of sales, units or refusals; EARLY: of refusals, or of sales of units that
                    * could have come back if enough operations had been undone */
    size_t ops;
    uint32_t op[2];
    int64_t rank; /* MISSING: the lowest of a run of ranks that cannot all be filled */
};

/* It is linearizable exactly if each count is 0 in each row. */
struct linear_answer {
    bool is_linearizable;
    struct linear_finding found[LINEAR_CONTRADICTION_COUNT];
};

/* Check all rows, and write an answer for each. During the call it allocates 16 bytes for each sale
 * of the largest row and up to 64 for each run of ranks without a sale. 0, or -1: out of memory. */
__attribute__((warn_unused_result)) int linear_check(const struct linear_row *rows,
                                                     size_t row_count,
                                                     const struct linear_open *open,
                                                     struct linear_answer *answers);

#endif
