/* How many races a run could have shown: attempts that overlapped in time, of which one at least
 * took a unit. Two that were both refused compete for nothing.
 *
 * Those that overlap with one attempt are all that began before its end, less those that had ended
 * by its start: the latter are among the former. So sorted starts and sorted ends answer how many
 * they are, and each pair is counted from both of its sides. */
#include "judge.h"

#include <assert.h>
#include <stdlib.h>

struct span {
    int64_t start; /* the first member: overlap_by_time() sorts spans by it */
    int64_t end;
    bool is_buyer;
};

/* When attempts start and end, each in order. */
struct bounds {
    int64_t *starts, *ends;
    size_t count;
};

/* Bad requests, failures and what was not sent never came near the stock. */
static bool has_competed(const struct record *record) {
    return record->outcome == RECORD_SOLD || record->outcome == RECORD_SOLD_OUT ||
           record->outcome == RECORD_BUSY || record->outcome == RECORD_UNKNOWN;
}

/* From the first request that came near the stock to the first yes, or the last answer. Requests of
 * one key are one attempt, and do not compete with each other. False when none came near it. */
static bool overlap_span_of(const struct purchase *purchase, struct span *span) {
    bool has_any = false;

    for (size_t i = 0; i < purchase->count; i++) {
        const struct record *record = purchase->requests[i];

        if (!has_competed(record))
            continue;
        if (!has_any)
            *span = (struct span){record->sent_ns, record->received_ns, purchase->sale != NULL};
        has_any = true;
        if (record->received_ns > span->end)
            span->end = record->received_ns;
    }
    if (has_any && purchase->yes != NULL)
        span->end = purchase->answered_ns;
    if (has_any && span->end <= span->start) /* by a clock that is too coarse */
        span->end = span->start + 1;
    return has_any;
}

static int overlap_by_time(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* Of all attempts, which are sorted, or of those that took a unit, with room for them at `room`. */
static struct bounds bounds_of(const struct span *spans, size_t count, bool is_of_all,
                               int64_t *room) {
    struct bounds bounds = {.starts = room, .ends = room + count};

    for (size_t i = 0; i < count; i++) {
        if (!is_of_all && !spans[i].is_buyer)
            continue;
        bounds.starts[bounds.count] = spans[i].start;
        bounds.ends[bounds.count++] = spans[i].end;
    }
    qsort(bounds.ends, bounds.count, sizeof *bounds.ends, overlap_by_time);
    return bounds;
}

/* How many of the sorted times are before `end`. */
static size_t overlap_count_before(const int64_t *times, size_t count, int64_t end) {
    size_t low = 0;

    while (count > 0) {
        size_t half = count / 2;

        if (times[low + half] < end) {
            low += half + 1;
            count -= half + 1;
        } else {
            count = half;
        }
    }
    return low;
}

static size_t count_overlaps(const struct bounds *bounds, const struct span *span) {
    size_t begun = overlap_count_before(bounds->starts, bounds->count, span->end);
    size_t over = overlap_count_before(bounds->ends, bounds->count, span->start + 1);

    assert(begun >= over);
    return begun - over;
}

static void count_pairs(struct judge *judge, const struct span *spans, size_t count,
                        int64_t *room) {
    const struct bounds all = bounds_of(spans, count, true, room);
    const struct bounds buyers = bounds_of(spans, count, false, room + 2 * count);

    for (size_t i = 0; i < count; i++) {
        /* The rivals of a buyer are all but itself. */
        size_t rivals = spans[i].is_buyer ? count_overlaps(&all, &spans[i]) - 1
                                          : count_overlaps(&buyers, &spans[i]);

        judge->pairs += (int64_t)rivals;
        judge->overlapping += rivals > 0;
    }
    assert(judge->pairs % 2 == 0);
    judge->pairs /= 2;
}

int judge_overlaps(struct judge *judge) {
    struct span *spans = calloc(judge->purchase_count + 1, sizeof *spans);
    int64_t *room = calloc(4 * judge->purchase_count + 1, sizeof *room);
    size_t count = 0;

    for (size_t i = 0; i < judge->purchase_count && spans != NULL; i++)
        count += overlap_span_of(&judge->purchases[i], &spans[count]);
    if (spans != NULL && room != NULL) {
        qsort(spans, count, sizeof *spans, overlap_by_time);
        count_pairs(judge, spans, count, room);
    }
    free(spans);
    free(room);
    return spans != NULL && room != NULL ? 0 : -1;
}
