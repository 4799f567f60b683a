#include "stage.h"

#include "clock.h"
#include "fiber.h"

#include <assert.h>

#define MS       INT64_C(1000000)

#define SLICE_MS 10 /* how soon a pause sees the end of the trial */

void stage_spoil(struct stage *stage, const char *reason) {
    if (stage->why.text[0] == '\0')
        (void)why_set(&stage->why, "%.1000s", reason);
    stage->is_over = true;
}

/* At its end the trial kills workers that wait: neither their deaths nor their requests count. */
void stage_note(struct stage *stage, const struct history_item *item) {
    const bool has_ended = item->kind != HISTORY_DEATH && item->end_ns != HISTORY_OPEN;

    if ((!stage->is_over || has_ended) && history_add(&stage->outcome->history, item) < 0)
        stage_spoil(stage, "out of memory");
}

bool stage_pause(struct stage *stage, int64_t ms) {
    const int64_t ends_ns = clock_now_ns() + ms * MS;
    int64_t rest_ns = ms * MS;

    do {
        const int64_t slice_ns = rest_ns < SLICE_MS * MS ? rest_ns : SLICE_MS * MS;

        stage->is_over = stage->is_over || *stage->setup->is_stopped;
        if (stage->is_over)
            return false;
        fiber_sleep(stage->setup->loop, (uint64_t)((slice_ns + MS - 1) / MS));
        rest_ns = ends_ns - clock_now_ns();
    } while (rest_ns > 0);
    return !stage->is_over;
}

void stage_move(struct stage *stage, enum stage_phase phase) {
    assert(phase > stage->phase);
    stage->phase = phase;
    if (phase == STAGE_SETTLED)
        stage->settled_ns = clock_now_ns();
}

void stage_start(struct stage *stage, void (*fn)(void *arg), void *arg) {
    stage->living++;
    if (fiber_start(fn, arg) == 0)
        return;
    stage->living--;
    stage_spoil(stage, "out of memory");
}
