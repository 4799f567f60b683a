/* Calls back at planned moments, to a few microseconds. It is the clock of an open loop.
 *
 * libuv's own timers count milliseconds. The pacer sets a timerfd to the absolute nanosecond of the
 * next moment, and that wakes the loop's epoll at once. If the moment is nearer than a sleep takes,
 * the loop turns without waiting. */
#ifndef LOADGEN_PACER_H
#define LOADGEN_PACER_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

typedef void (*pacer_cb)(void *data);

/* The caller owns it, zeroes it and fills in the first part. */
struct pacer {
    /* Returns the next moment, of clock_now_ns(); 0: there is none now. Called before each wait of
     * the loop. */
    int64_t (*next_ns)(void *data);
    pacer_cb on_due; /* the moment has come, or is less than 30 us away: look at the clock */
    void *data;

    /* Private. */
    int timer_fd;
    uv_poll_t poll;
    uv_prepare_t prepare;
    uv_idle_t near;   /* active while the next moment is too near for the timer */
    int64_t armed_ns; /* when the timer fires, 0 for never */
    unsigned open_handles;
    pacer_cb on_closed;
};

/* Starts it. 0; or a negative libuv code, and then there is nothing to close. */
__attribute__((warn_unused_result)) int pacer_start(struct pacer *pacer, uv_loop_t *loop);
/* Ends it. `cb` runs once, later, on the loop. */
void pacer_close(struct pacer *pacer, pacer_cb cb);

#endif
