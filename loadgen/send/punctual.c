/* Takes real-time priority, with a bound that the kernel keeps. */
#include "punctual.h"

#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define BUSY_US  200000
#define REST_NS  50000000 /* at most, between two looks at whether it has paused */
#define PAUSE_NS 50000    /* one that is over before it has begun would be none */

/* The kernel lets other processes have 5 % of each second, in one piece, and a process with
 * real-time priority that needs all of its processor stands still for 50 ms. */
#define FULL_PERCENT 90
#define FULL_LOOKS   8 /* in a row: 400 ms or longer */

static int64_t looked_ns, used_ns; /* the time of the last look, and the processor's till then */
static long pauses;                /* at that time */
static int full_looks;             /* in a row */

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

/* The kernel counts a process's time anew whenever it has waited for something. */
static void wait_a_moment(void) {
    static const struct timespec moment = {.tv_nsec = PAUSE_NS};

    (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &moment, NULL);
}

/* In a container the right may come with the program's file (Dockerfile): permitted, but not in
 * force, or the program could not even be started in a container that does not have it. */
static void use_right(void) {
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct rights[_LINUX_CAPABILITY_U32S_3];

    if (syscall(SYS_capget, &header, rights) != 0)
        return;
    rights[0].effective |= rights[0].permitted & 1U << CAP_SYS_NICE;
    (void)syscall(SYS_capset, &header, rights);
}

bool punctual_start(bool is_wanted) {
    const struct sched_param lowest = {.sched_priority = sched_get_priority_min(SCHED_RR)};

    (void)prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
    if (!is_wanted)
        return false;
    use_right();
    /* Threads, such as those that resolve names, are to be ordinary. */
    if (!bound() || sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &lowest) != 0)
        return false;
    full_looks = 0;
    wait_a_moment(); /* or what it computed before it lost the priority would count */
    return true;
}

bool punctual_stop(void) {
    bool was_kept = sched_getscheduler(0) == (SCHED_RR | SCHED_RESET_ON_FORK);

    if (was_kept)
        be_ordinary();
    return was_kept;
}

static int64_t ns_of(struct timeval time) {
    return (int64_t)time.tv_sec * 1000000000 + (int64_t)time.tv_usec * 1000;
}

/* One look at this thread's processor time, after `passed_ns`. */
static void count_full(const struct rusage *usage, int64_t passed_ns) {
    int64_t now_used_ns = ns_of(usage->ru_utime) + ns_of(usage->ru_stime);
    bool is_full = (now_used_ns - used_ns) * 100 > passed_ns * FULL_PERCENT;

    used_ns = now_used_ns;
    full_looks = is_full ? full_looks + 1 : 0;
    if (full_looks == FULL_LOOKS)
        (void)punctual_stop();
}

void punctual_rest(int64_t now_ns) {
    int64_t passed_ns = now_ns - looked_ns;
    struct rusage usage;

    if (passed_ns < REST_NS)
        return;
    looked_ns = now_ns;
    if (getrusage(RUSAGE_THREAD, &usage) != 0)
        return;
    if (usage.ru_nvcsw == pauses)
        wait_a_moment();
    pauses = usage.ru_nvcsw;
    count_full(&usage, passed_ns);
}
