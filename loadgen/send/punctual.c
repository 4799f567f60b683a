/* Takes real-time priority, with a limit that the kernel enforces. */
#include "punctual.h"

#include "clock.h"

#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define BUSY_US 200000

/* If real-time processes had 95 % of a processor within a second, the kernel stops them for the
 * remaining 50 ms; since Linux 6.12 often only if other processes wait for the processor. */
#define SHARE_PERCENT 93
#define LOOK_NS       1000000
#define OWED_NS       30000000 /* above this debt the priority is given back */

/* A shorter pause would be over before it begins. */
#define LEAST_PAUSE_NS 50000
#define MOST_PAUSE_NS  200000
#define REST_NS        50000000 /* without time it pauses only this often, and as short as possible */

static volatile sig_atomic_t is_kept;
/* At the last look: the time, the used processor time, and the part of it above the share. */
static int64_t looked_ns, used_ns, owed_ns;
static int64_t rested_ns; /* the end of the last pause */

static void be_ordinary(void) {
    static const struct sched_param none = {.sched_priority = 0};

    /* Only a process with the right to real-time priority may drop the flag, too. */
    (void)sched_setscheduler(0, SCHED_OTHER | SCHED_RESET_ON_FORK, &none);
}

static void on_too_busy(int number) {
    (void)number;
    is_kept = 0;
    be_ordinary();
}

/* Past the soft limit the kernel sends SIGXCPU. Past the hard limit, which stays, it would kill. */
static bool bound(void) {
    struct sigaction action = {.sa_handler = on_too_busy, .sa_flags = SA_RESTART};
    struct rlimit busy;

    if (sigaction(SIGXCPU, &action, NULL) != 0 || getrlimit(RLIMIT_RTTIME, &busy) != 0)
        return false;
    if (busy.rlim_cur > BUSY_US)
        busy.rlim_cur = BUSY_US;
    return setrlimit(RLIMIT_RTTIME, &busy) == 0;
}

/* The kernel counts the time of a process anew after each wait of the process. */
static void pause_for(int64_t ns) {
    const struct timespec moment = {.tv_nsec = ns};

    (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &moment, NULL);
    rested_ns = clock_now_ns();
}

/* In a container the right may come with the program's file (Dockerfile). There it is permitted but
 * not effective: an effective one would keep the program from starting in a container without
 * it. */
static void use_right(void) {
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct rights[_LINUX_CAPABILITY_U32S_3];

    if (syscall(SYS_capget, &header, rights) != 0)
        return;
    rights[0].effective |= rights[0].permitted & 1U << CAP_SYS_NICE;
    (void)syscall(SYS_capset, &header, rights);
}

/* The processor time since the last look. */
static int64_t punctual_look(int64_t now_ns) {
    int64_t before_ns = used_ns;

    looked_ns = now_ns;
    used_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    return used_ns - before_ns;
}

bool punctual_start(bool is_wanted) {
    const struct sched_param lowest = {.sched_priority = sched_get_priority_min(SCHED_RR)};

    (void)prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
    if (!is_wanted)
        return false;
    use_right();
    /* Threads, for example for name resolution, must have ordinary priority. */
    if (!bound() || sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &lowest) != 0)
        return false;
    pause_for(LEAST_PAUSE_NS); /* the time before the priority must not count */
    (void)punctual_look(rested_ns);
    owed_ns = 0;
    is_kept = 1;
    return true;
}

bool punctual_stop(void) {
    bool was_kept = sched_getscheduler(0) == (SCHED_RR | SCHED_RESET_ON_FORK);

    is_kept = 0;
    if (was_kept)
        be_ordinary();
    return was_kept;
}

static int64_t pause_ns(bool has_time) {
    if (!has_time || owed_ns < LEAST_PAUSE_NS)
        return LEAST_PAUSE_NS;
    return owed_ns < MOST_PAUSE_NS ? owed_ns : MOST_PAUSE_NS;
}

void punctual_rest(int64_t now_ns, bool has_time) {
    int64_t passed_ns = now_ns - looked_ns;

    if (!is_kept || passed_ns < LOOK_NS)
        return;
    owed_ns += punctual_look(now_ns) - passed_ns * SHARE_PERCENT / 100;
    if (owed_ns < 0)
        owed_ns = 0;
    if (owed_ns > OWED_NS)
        (void)punctual_stop();
    else if (owed_ns > 0 && (has_time || now_ns - rested_ns > REST_NS))
        pause_for(pause_ns(has_time));
}
