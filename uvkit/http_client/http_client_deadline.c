/* The HTTP client's deadlines: a binary heap under one timer, so that ten thousand calls cost no
 * more than a few comparisons each. */
#include "http_client_internal.h"

#include <assert.h>
#include <stdlib.h>

static void on_timer(uv_timer_t *timer);

static void put(struct http_deadlines *deadlines, size_t place, struct http_deadline *deadline) {
    deadlines->heap[place] = deadline;
    deadline->place = place;
}

static void sift_up(struct http_deadlines *deadlines, size_t place,
                    struct http_deadline *deadline) {
    for (; place > 1 && deadlines->heap[place / 2]->at_ms > deadline->at_ms; place /= 2)
        put(deadlines, place, deadlines->heap[place / 2]);
    put(deadlines, place, deadline);
}

static void sift_down(struct http_deadlines *deadlines, size_t place,
                      struct http_deadline *deadline) {
    for (size_t child = place * 2; child <= deadlines->count; child = place * 2) {
        if (child < deadlines->count &&
            deadlines->heap[child + 1]->at_ms < deadlines->heap[child]->at_ms)
            child++;
        if (deadlines->heap[child]->at_ms >= deadline->at_ms)
            break;
        put(deadlines, place, deadlines->heap[child]);
        place = child;
    }
    put(deadlines, place, deadline);
}

/* A timer that fires too early only looks again; so it is set anew only for an earlier moment. */
static void arm(struct http_deadlines *deadlines) {
    int64_t now_ms = (int64_t)uv_now(deadlines->timer.loop);
    int64_t at_ms;

    if (deadlines->count == 0)
        return;
    at_ms = deadlines->heap[1]->at_ms;
    if (uv_is_active((uv_handle_t *)&deadlines->timer) && deadlines->armed_ms <= at_ms)
        return;
    deadlines->armed_ms = at_ms;
    (void)uv_timer_start(&deadlines->timer, on_timer, /* fails only without a callback */
                         at_ms > now_ms ? (uint64_t)(at_ms - now_ms) : 0, 0);
}

static bool has_passed(const struct http_deadlines *deadlines) {
    return deadlines->count > 0 &&
           deadlines->heap[1]->at_ms <= (int64_t)uv_now(deadlines->timer.loop);
}

static void on_polled(uv_check_t *polled) {
    struct http_deadlines *deadlines = polled->data;

    (void)uv_check_stop(polled);
    (void)uv_timer_stop(&deadlines->timer);
    while (has_passed(deadlines)) {
        struct http_deadline *passed = deadlines->heap[1];

        http_deadline_drop(deadlines, passed);
        passed->on_passed(passed->data);
    }
    arm(deadlines);
}

/* After a stall of this process, timers run before input is read, and an answer may have come in
 * time. So let the loop read first; the timer keeps it from waiting long for that. */
static void on_timer(uv_timer_t *timer) {
    struct http_deadlines *deadlines = timer->data;

    if (!has_passed(deadlines)) {
        arm(deadlines);
        return;
    }
    (void)uv_check_start(&deadlines->polled, on_polled); /* like the timer: cannot fail */
    (void)uv_timer_start(timer, on_timer, 1, 0);
}

int http_deadlines_init(struct http_deadlines *deadlines, uv_loop_t *loop, size_t most) {
    deadlines->heap = calloc(most + 1, sizeof *deadlines->heap);
    if (deadlines->heap == NULL)
        return UV_ENOMEM;
    (void)uv_timer_init(loop, &deadlines->timer); /* cannot fail */
    (void)uv_check_init(loop, &deadlines->polled);
    deadlines->timer.data = deadlines;
    deadlines->polled.data = deadlines;
    deadlines->count = 0;
    deadlines->most = most;
    return 0;
}

void http_deadline_set(struct http_deadlines *deadlines, struct http_deadline *deadline,
                       int64_t at_ms) {
    assert(deadline->place == 0 && deadlines->count < deadlines->most);
    deadline->at_ms = at_ms;
    sift_up(deadlines, ++deadlines->count, deadline);
    arm(deadlines);
}

void http_deadline_drop(struct http_deadlines *deadlines, struct http_deadline *deadline) {
    size_t place = deadline->place;
    struct http_deadline *last;

    if (place == 0)
        return;
    deadline->place = 0;
    last = deadlines->heap[deadlines->count--];
    if (last == deadline)
        return;
    if (place > 1 && deadlines->heap[place / 2]->at_ms > last->at_ms)
        sift_up(deadlines, place, last);
    else
        sift_down(deadlines, place, last);
}
