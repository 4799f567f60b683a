/* Takes real-time priority, with a bound that the kernel keeps. */
#include "punctual.h"

#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#define BUSY_US 200000

static void be_ordinary(void) {
    static const struct sched_param none = {.sched_priority = 0};

    /* To drop the flag, too, would need the right to take the priority again. */
    (void)sched_setscheduler(0, SCHED_OTHER | SCHED_RESET_ON_FORK, &none);
}

static void on_too_busy(int number) {
    (void)number;
    be_ordinary();
}

/* The kernel sends SIGXCPU past the soft limit, and would kill past the hard one, which stays. */
static bool bound(void) {
    struct sigaction action = {.sa_handler = on_too_busy, .sa_flags = SA_RESTART};
    struct rlimit busy;

    if (sigaction(SIGXCPU, &action, NULL) != 0 || getrlimit(RLIMIT_RTTIME, &busy) != 0)
        return false;
    if (busy.rlim_cur > BUSY_US)
        busy.rlim_cur = BUSY_US;
    return setrlimit(RLIMIT_RTTIME, &busy) == 0;
}

bool punctual_start(bool is_wanted) {
    const struct sched_param lowest = {.sched_priority = sched_get_priority_min(SCHED_RR)};

    (void)prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
    /* Threads, such as those that resolve names, are to be ordinary. */
    return is_wanted && bound() &&
           sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &lowest) == 0;
}

bool punctual_stop(void) {
    bool was_kept = sched_getscheduler(0) == (SCHED_RR | SCHED_RESET_ON_FORK);

    if (was_kept)
        be_ordinary();
    return was_kept;
}
