/* The exact linearizability check of a stock that only falls, in O(n log n).
 *
 * A stock of N units sells one at a time. A sale that leaves k units has the rank k, so the first
 * one has N - 1 and the last one 0. An operation takes effect at one moment between its invoke and
 * its return; it is asked whether such moments exist for all of them. They do exactly when
 * 1. the ranks are distinct and in 0 .. N - 1;
 * 2. no sale begins after one of a lower rank has returned;
 * 3. no sale begins after a "sold out" has returned;
 * 4. each rank that was passed and has no sale can be given to an unknown operation of its own,
 *    which began before the first operation that had passed the rank returned.
 * Necessary: each is a contradiction by itself. Sufficient: in the order of ranks, with "sold out"
 * last, every operation can take effect at the latest invoke so far.
 *
 * Linearizability is Herlihy and Wing's (1990). To check it is NP-complete in general, and easy
 * where each operation tells its place in the order, as the rank does here (Gibbons and Korach,
 * "Testing Shared Memories", 1997, on this and other easy cases). */
#ifndef LOADGEN_LINEAR_H
#define LOADGEN_LINEAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LINEAR_BEFORE INT64_MIN /* an invoke before everything */
#define LINEAR_NEVER  INT64_MAX /* a return that has not come */

enum linear_kind {
    LINEAR_OK,       /* sold: `rank` units were left */
    LINEAR_SOLD_OUT, /* saw no unit left */
    LINEAR_UNKNOWN   /* may have sold a unit at any time after its invoke, or not at all */
};

struct linear_op {
    int64_t invoke_ns;
    int64_t return_ns; /* of an unknown operation it is not read */
    int32_t rank;      /* of LINEAR_OK alone */
    enum linear_kind kind;
};

enum linear_contradiction {
    LINEAR_RANGE,   /* a sale of a unit that there never was */
    LINEAR_TWIN,    /* two sales of one rank */
    LINEAR_STALE,   /* a sale began after one of a lower rank had returned */
    LINEAR_EARLY,   /* a sale began after a refusal had returned */
    LINEAR_MISSING, /* a rank was passed, and nothing can have sold it */
    LINEAR_CONTRADICTION_COUNT
};

/* `op` are indexes of the fewest operations that show it:
 * RANGE    the sale
 * TWIN     both sales, the one that began first in front; of all such pairs the tightest in time
 * STALE    the sale that returned, then the one that began after it
 * EARLY    the refusal, then the sale
 * MISSING  the first operation that returned of those which passed `rank`, then the sale of the
 *          next higher rank, if there is one */
struct linear_finding {
    int64_t count; /* sales, sales beyond the first, sales, refusals, ranks */
    size_t ops;
    uint32_t op[2];
    int64_t rank; /* MISSING: the lowest of a run of ranks that cannot all be filled */
};

/* Linearizable exactly when every count is 0. A rank with several sales goes by the one that began
 * first in the counts other than TWIN. */
struct linear_answer {
    bool is_linearizable;
    struct linear_finding found[LINEAR_CONTRADICTION_COUNT];
};

/* Check `count` operations, fewer than 2^32 - 1, on a stock of `units`, at most 2^31 - 1. Ranks in
 * `excused` may be without a sale, whatever the reason: units that came back. Pure; allocates, for
 * the time of the call, 16 bytes for each sale and excused rank, 12 for each run of ranks without
 * a sale and 16 for each unknown operation. 0, or -1 without memory. */
__attribute__((warn_unused_result)) int linear_check(int64_t units, const struct linear_op *ops,
                                                     size_t count, const int32_t *excused,
                                                     size_t excused_count,
                                                     struct linear_answer *answer);

#endif
