/* Makes the points sharper by each other, and looks up moments between them. */
#include "offsets.h"

#include "number.h"

#include <assert.h>
#include <stdlib.h>

#define SECOND_NS INT64_C(1000000000)
#define TICK_NS   1000 /* the database tells whole microseconds, and cuts the rest */

/* The most that two clocks drift apart in this time. */
static int64_t drift_in(int64_t ns) {
    return (ns < 0 ? -ns : ns) / (SECOND_NS / OFFSETS_DRIFT) + 1;
}

static struct offset wider(struct offset offset, int64_t by_ns) {
    return (struct offset){offset.low_ns - by_ns, offset.high_ns + by_ns};
}

static struct offset sharper(struct offset a, struct offset b) {
    return (struct offset){number_max(a.low_ns, b.low_ns), -number_max(-a.high_ns, -b.high_ns)};
}

static struct offset hull(struct offset a, struct offset b) {
    return (struct offset){-number_max(-a.low_ns, -b.low_ns), number_max(a.high_ns, b.high_ns)};
}

/* The offset at the question: the answer may tell one of a later moment. */
static struct offset_point point_of(const struct clock_sample *sample) {
    const int64_t told_ns = sample->told_us * 1000;
    const struct offset offset = {told_ns - sample->answered_ns,
                                  told_ns + TICK_NS - sample->asked_ns};

    return (struct offset_point){
        sample->asked_ns, wider(offset, drift_in(sample->answered_ns - sample->asked_ns)), false};
}

static void note_step(struct offsets *offsets, const struct offset_point *before,
                      const struct offset_point *after) {
    const int64_t by_ns = after->offset.low_ns / 2 + after->offset.high_ns / 2 -
                          before->offset.low_ns / 2 - before->offset.high_ns / 2;

    offsets->steps++;
    offsets->steps_ns += llabs(by_ns);
    if (llabs(by_ns) <= llabs(offsets->step_ns))
        return;
    offsets->step_ns = by_ns;
    offsets->step_at_ns = after->at_ns;
}

/* Each point sharpens the next ones, up to a step. */
static void sharpen_forward(struct offsets *offsets) {
    for (size_t i = 1; i < offsets->count; i++) {
        struct offset_point *point = &offsets->points[i], *before = point - 1;
        const struct offset both =
            sharper(point->offset, wider(before->offset, drift_in(point->at_ns - before->at_ns)));

        point->is_after_step = both.low_ns > both.high_ns;
        if (point->is_after_step)
            note_step(offsets, before, point);
        else
            point->offset = both;
    }
}

static void sharpen_backward(struct offsets *offsets) {
    for (size_t i = offsets->count; i-- > 1;) {
        const struct offset_point *point = &offsets->points[i];
        struct offset_point *before = &offsets->points[i - 1];

        if (!point->is_after_step)
            before->offset = sharper(before->offset,
                                     wider(point->offset, drift_in(point->at_ns - before->at_ns)));
    }
}

int offsets_make(struct offsets *offsets, const struct clock_sample *samples, size_t count) {
    assert(count > 0);
    *offsets = (struct offsets){.count = count, .points = calloc(count, sizeof *offsets->points)};
    if (offsets->points == NULL)
        return -1;
    for (size_t i = 0; i < count; i++)
        offsets->points[i] = point_of(&samples[i]);
    sharpen_forward(offsets);
    sharpen_backward(offsets);
    return 0;
}

void offsets_free(struct offsets *offsets) {
    free(offsets->points);
    offsets->points = NULL;
}

/* The number of points that are not after the moment. */
static size_t points_until(const struct offsets *offsets, int64_t at_ns) {
    size_t low = 0, high = offsets->count;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (offsets->points[middle].at_ns <= at_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct offset offsets_at(const struct offsets *offsets, int64_t at_ns) {
    const size_t next = points_until(offsets, at_ns);
    const struct offset_point *after = &offsets->points[next], *before = after - 1;
    struct offset early, late;

    if (next > 0)
        early = wider(before->offset, drift_in(at_ns - before->at_ns));
    if (next == offsets->count)
        return early;
    late = wider(after->offset, drift_in(after->at_ns - at_ns));
    if (next == 0)
        return late;
    return after->is_after_step ? hull(early, late) : sharper(early, late);
}
