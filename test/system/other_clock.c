/* A monotonic clock that is not that of the machine, for the process that loads this library with LD_PRELOAD.
 * OTHER_CLOCK has its offset (ns), its drift (parts per million), and a step (ns) with its moment (ns after the start). */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

static long long off_ns, ppm, step_ns, step_at_ns, base_ns;

static long long real_ns(void) {
    struct timespec now;

    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

__attribute__((constructor)) static void begin(void) {
    const char *text = getenv("OTHER_CLOCK");

    if (text == NULL ||
        sscanf(text, "%lld,%lld,%lld,%lld", &off_ns, &ppm, &step_ns, &step_at_ns) != 4)
        abort();
    base_ns = real_ns();
}

static long long ahead_ns(long long at_ns) {
    const long long since_ns = at_ns - base_ns;

    return off_ns + since_ns / 1000000 * ppm + (since_ns >= step_at_ns ? step_ns : 0);
}

static struct timespec moment(long long ns) {
    return (struct timespec){ns / 1000000000, ns % 1000000000};
}

int clock_gettime(clockid_t id, struct timespec *at) {
    const long long now_ns = real_ns();

    if (id != CLOCK_MONOTONIC && id != CLOCK_MONOTONIC_COARSE)
        return (int)syscall(SYS_clock_gettime, id, at);
    *at = moment(now_ns + ahead_ns(now_ns));
    return 0;
}

/* A timer of this clock is one of the machine. */
int timerfd_settime(int fd, int flags, const struct itimerspec *wanted, struct itimerspec *old) {
    struct itimerspec real = *wanted;

    if ((flags & TFD_TIMER_ABSTIME) != 0 &&
        (real.it_value.tv_sec != 0 || real.it_value.tv_nsec != 0)) {
        const long long ns =
            real.it_value.tv_sec * 1000000000LL + real.it_value.tv_nsec - ahead_ns(real_ns());

        real.it_value = moment(ns > 1 ? ns : 1);
    }
    return (int)syscall(SYS_timerfd_settime, fd, flags, &real, old);
}
