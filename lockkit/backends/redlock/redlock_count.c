/* Which answers of the nodes decide what. */
#include "redlock_count.h"

#include <assert.h>
#include <stdlib.h>

/* Even if all that are still out say the same, there is no majority. */
static bool is_beyond(const struct redlock_count *count, unsigned against) {
    return against > count->nodes - redlock_quorum(count->nodes);
}

static enum lk_status not_reached(const struct redlock_count *count) {
    return is_beyond(count, count->refused) ? LK_REFUSED : LK_UNAVAILABLE;
}

/* Decided as soon as it is won or cannot be won: who waits on for nodes that cannot turn it keeps
 * others from the votes that it has. BUSY is the word of a majority only, of whom some are ours: of
 * fewer one cannot say whether the lock is held. */
bool redlock_count_acquire(const struct redlock_count *count, enum lk_status *status) {
    const unsigned quorum = redlock_quorum(count->nodes);
    const unsigned maybe_ours = count->yes + count->unknown + count->hopeful;

    if (count->yes >= quorum)
        *status = LK_OK;
    else if (count->yes + count->hopeful >= quorum)
        return false;
    else if (maybe_ours >= quorum)
        *status = LK_UNKNOWN;
    else if (maybe_ours + count->no >= quorum)
        *status = LK_BUSY;
    else
        *status = not_reached(count);
    return true;
}

bool redlock_count_raise(const struct redlock_count *count, enum lk_status *status) {
    *status = count->yes >= redlock_quorum(count->nodes) ? LK_OK : LK_UNKNOWN;
    return *status == LK_OK || count->yes + count->hopeful < redlock_quorum(count->nodes);
}

/* Nobody waits for this one, so what is possible is waited for. */
bool redlock_count_renew(const struct redlock_count *count, enum lk_status *status) {
    if (count->yes >= redlock_quorum(count->nodes))
        *status = LK_OK;
    else if (is_beyond(count, count->no))
        *status = LK_LOST;
    else if (count->pending > 0)
        return false;
    else
        *status = count->unknown > 0 ? LK_UNKNOWN : not_reached(count);
    return true;
}

bool redlock_count_release(const struct redlock_count *count, enum lk_status *status) {
    if (count->yes >= redlock_quorum(count->nodes))
        *status = LK_OK;
    else if (is_beyond(count, count->no))
        *status = LK_LOST;
    else if (count->pending > 0)
        return false;
    else if (count->yes + count->no + count->unknown > 0)
        *status = LK_UNKNOWN;
    else
        *status = not_reached(count);
    return true;
}

/* When those that have not answered are too few for a majority, nobody has one any more. */
bool redlock_count_break(const struct redlock_count *count, enum lk_status *status) {
    if (is_beyond(count, count->yes + count->no))
        *status = count->yes > 0 ? LK_OK : LK_LOST;
    else if (count->pending > 0)
        return false;
    else if (count->yes + count->unknown > 0)
        *status = LK_UNKNOWN;
    else
        *status = not_reached(count);
    return true;
}

static int redlock_count_compare(const void *left, const void *right) {
    const int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;

    return (a > b) - (a < b);
}

int64_t redlock_rank(int64_t *values, unsigned count, unsigned rank) {
    assert(rank < count);
    qsort(values, count, sizeof *values, redlock_count_compare);
    return values[rank];
}
