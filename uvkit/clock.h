/* The one source of time: a monotonic clock, in milliseconds and nanoseconds.
 *
 * CLOCK_MONOTONIC, the clock of uv_now() and uv_hrtime(), so that a deadline (a moment,
 * `deadline_ms`) compares with either. Only lock validity counts on CLOCK_BOOTTIME, which goes on
 * while the machine is suspended (see lockkit). Use the wall clock only to print or store a
 * date. */
#ifndef UVKIT_CLOCK_H
#define UVKIT_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline int64_t clock_ns(clockid_t id) {
    struct timespec now;

    (void)clock_gettime(id, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Nanoseconds on the monotonic clock. */
static inline int64_t clock_now_ns(void) {
    return clock_ns(CLOCK_MONOTONIC);
}

/* Milliseconds on the monotonic clock: comparable with uv_now(). */
static inline int64_t clock_now_ms(void) {
    return clock_now_ns() / 1000000;
}

/* Microseconds since 1970, for dates that people read. */
static inline int64_t clock_wall_us(void) {
    return clock_ns(CLOCK_REALTIME) / 1000;
}

#endif
