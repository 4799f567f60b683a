/* The exact linearizability check of the counts of a stock that only fall, in O(n log n).
 *
 * A row of N units sells one at a time. A sale that leaves k units has the rank k, so the first one
 * has N - 1 and the last one 0. An operation takes effect at one moment between its invoke and its
 * return, and at the end each row is read: it has `left` units, which all of its sales have
 * preceded. It is asked whether such moments exist for all of them. They do exactly when
 * 1. the ranks of a row are distinct and in 0 .. N - 1, and none is below `left`;
 * 2. no sale begins after one of a lower rank has returned;
 * 3. no sale begins after a "sold out" has returned, and none is left after a "sold out";
 * 4. each rank that was passed and has no sale can be given to an open operation of its own, which
 *    began before the first operation that had passed the rank returned. A rank is passed by sales
 *    of lower ranks, by "sold out", and by the count at the end.
 * Necessary: each is a contradiction by itself. Sufficient: in the order of ranks, with "sold out"
 * and the count at the end behind them, every operation can take effect at the latest invoke so
 * far. An open operation belongs to no row until it is given a rank, so the rows share them.
 *
 * A unit that came back is sold again, or waits to be: the rank that it had was passed without a
 * sale, and an open operation has taken it. One that was undone has taken none but such a rank.
 * In a stack a sale from a lower place than its rank passes each rank from that place up. A sale
 * that may be either kind is one of a returned unit only if it began too late to be the first of
 * its rank.
 *
 * Linearizability is Herlihy and Wing's (1990). To check it is NP-complete in general, and easy
 * where each operation tells its place in the order, as the rank does here (Gibbons and Korach,
 * "Testing Shared Memories", 1997, on this and other easy cases). */
#ifndef JUDGE_LINEAR_H
#define JUDGE_LINEAR_H

#include "linear_row.h"

/* Invokes of operations without a known end, for all rows together; the check sorts them. */
struct linear_open {
    int64_t *unknown_ns; /* may have sold a unit at any time since, or not at all */
    size_t unknown_count;
    bool are_kept;      /* no unknown one can have given its unit back */
    int64_t *undone_ns; /* may have sold one that then came back, or none at all */
    size_t undone_count;
};

enum linear_contradiction {
    LINEAR_RANGE,   /* a sale of a unit that there never was */
    LINEAR_TWIN,    /* two sales of one rank */
    LINEAR_STALE,   /* a sale began after one of the same or a lower rank had returned */
    LINEAR_EARLY,   /* a sale began after a refusal had returned */
    LINEAR_MISSING, /* a rank was passed, and nothing can have sold it */
    LINEAR_UNTAKEN, /* a unit came back, and nothing can have given it back */
    LINEAR_SURPLUS, /* a sale of a unit that is left */
    LINEAR_UNSOLD,  /* a refusal, and units are left */
    LINEAR_UNASKED, /* a nameless sale, and no open operation began in time to be it */
    LINEAR_CONTRADICTION_COUNT
};

/* `op` are indexes of the fewest operations that show it:
 * RANGE    the sale
 * TWIN     both sales, the one that began first in front; of all such pairs the tightest in time
 * STALE    the sale that returned, then the one that began after it
 * EARLY    the refusal, then the sale
 * MISSING  the first operation that returned of those which passed `rank`, or LINEAR_END; then the
 *          sale of the next higher rank, if there is one
 * UNTAKEN  what has the unit
 * SURPLUS  the sale, of the highest rank
 * UNSOLD   the last refusal
 * UNASKED  the sale */
struct linear_finding {
    int64_t count; /* of what the list above begins with; EARLY: refusals, or sales of units that
                    * could have come back, had enough operations been undone */
    size_t ops;
    uint32_t op[2];
    int64_t rank; /* MISSING: the lowest of a run of ranks that cannot all be filled */
};

/* Linearizable exactly when every count is 0 in every row. */
struct linear_answer {
    bool is_linearizable;
    struct linear_finding found[LINEAR_CONTRADICTION_COUNT];
};

/* Check all rows; an answer for each. Allocates, for the time of the call, 16 bytes for each sale
 * of the largest row and up to 64 for each run of ranks without a sale. 0, or -1 without memory. */
__attribute__((warn_unused_result)) int linear_check(const struct linear_row *rows,
                                                     size_t row_count,
                                                     const struct linear_open *open,
                                                     struct linear_answer *answers);

#endif
