/* lockjudge-clock.so: a wall clock that the judge can move. LD_PRELOAD loads it into a worker. It
 * adds a shift, which the judge writes into a page (clock_page.h), to all that the program reads of
 * the wall clock. The monotonic clock stays as it is.
 *
 * A program that waits until a moment of its wall clock names a moved one, so the wait is moved
 * back. A wait that is under way when the clock moves is not: that hides a fault, and makes none.
 * Timers of timer_settime() and C11's cnd_timedwait() are not moved.
 *
 * The time is read by system calls: the lookup of libc's own function may allocate memory, and some
 * allocators read the clock for that. Programs in Go read it without libc: in such a program the
 * page is not mapped, and so the judge sees that its clock cannot be moved. */
#include "clock_page.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define SECOND INT64_C(1000000000)
/* Since 1970: no machine runs for so long, so a later moment is one of the wall clock. */
#define WALL_SECONDS (SECOND / 2)

_Static_assert(sizeof(time_t) == 8 && sizeof(long) == 8, "the kernel's struct timespec is another");

static const struct clock_page *page; /* NULL: the clock is the real one */

static int64_t shift_ns(void) {
    return page != NULL ? __atomic_load_n(&page->shift_ns, __ATOMIC_RELAXED) : 0;
}

static bool is_wall(clockid_t id) {
    return id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE || id == CLOCK_REALTIME_ALARM ||
           id == CLOCK_TAI;
}

static struct timespec moved(const struct timespec *at, int64_t by_ns) {
    const int64_t ns = at->tv_nsec + by_ns % SECOND;
    struct timespec to = {at->tv_sec + by_ns / SECOND, ns};

    if (ns < 0 || ns >= SECOND) {
        to.tv_sec += ns < 0 ? -1 : 1;
        to.tv_nsec += ns < 0 ? SECOND : -SECOND;
    }
    return to;
}

/* The real moment of a moved one. A moment that no clock can show stays as it is, for its error. */
static struct timespec real(const struct timespec *at) {
    struct timespec to = *at;

    if (at->tv_nsec >= 0 && at->tv_nsec < SECOND)
        to = moved(at, -shift_ns());
    if (to.tv_sec < 0 && at->tv_sec >= 0)
        to.tv_sec = 0;
    return to;
}

/* libc's function of this name. */
#define NEXT(name) ((__typeof__(&(name)))(uintptr_t)dlsym(RTLD_NEXT, #name))

/* ---- the page */

static bool has_go_note(const char *notes, size_t size) {
    while (size >= sizeof(ElfW(Nhdr))) {
        const ElfW(Nhdr) *note = (const void *)notes;
        const size_t name = (note->n_namesz + 3U) & ~3U, all = (note->n_descsz + 3U) & ~3U;

        if (note->n_namesz == 4 && size >= sizeof *note + 4 &&
            memcmp(notes + sizeof *note, "Go\0", 4) == 0)
            return true;
        if (sizeof *note + name + all > size)
            return false;
        notes += sizeof *note + name + all;
        size -= sizeof *note + name + all;
    }
    return false;
}

/* The first object is the program. */
static int is_go(struct dl_phdr_info *object, size_t size, void *data) {
    bool *found = data;

    (void)size;
    for (int i = 0; i < object->dlpi_phnum; i++)
        if (object->dlpi_phdr[i].p_type == PT_NOTE)
            *found = *found ||
                     has_go_note((const char *)(object->dlpi_addr + object->dlpi_phdr[i].p_vaddr),
                                 object->dlpi_phdr[i].p_memsz);
    return 1;
}

__attribute__((constructor)) static void page_map(void) {
    const char *path = getenv(CLOCK_PAGE_VARIABLE);
    bool reads_without_libc = false;
    void *memory;
    int fd;

    (void)dl_iterate_phdr(is_go, &reads_without_libc);
    if (path == NULL || reads_without_libc)
        return;
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    memory = mmap(NULL, sizeof *page, PROT_READ, MAP_SHARED, fd, 0);
    (void)close(fd);
    if (memory != MAP_FAILED)
        page = memory;
}

/* ---- what a program reads */

int clock_gettime(clockid_t id, struct timespec *at) {
    const int code = (int)syscall(SYS_clock_gettime, id, at);

    if (code == 0 && is_wall(id))
        *at = moved(at, shift_ns());
    return code;
}

int gettimeofday(struct timeval *restrict at, void *restrict zone) {
    struct timespec now;

    if (clock_gettime(CLOCK_REALTIME, &now) != 0)
        return -1;
    *at = (struct timeval){now.tv_sec, now.tv_nsec / 1000};
    if (zone != NULL)
        memset(zone, 0, sizeof(struct timezone));
    return 0;
}

time_t time(time_t *at) {
    struct timespec now = {0, 0};

    (void)clock_gettime(CLOCK_REALTIME_COARSE, &now);
    if (at != NULL)
        *at = now.tv_sec;
    return now.tv_sec;
}

int timespec_get(struct timespec *at, int base) {
    return base == TIME_UTC && clock_gettime(CLOCK_REALTIME, at) == 0 ? base : 0;
}

/* ---- what it waits for */

int clock_nanosleep(clockid_t id, int flags, const struct timespec *until, struct timespec *rest) {
    const bool is_moved = is_wall(id) && flags & TIMER_ABSTIME;
    const struct timespec at = real(until);

    return NEXT(clock_nanosleep)(id, flags, is_moved ? &at : until, rest);
}

int timerfd_settime(int fd, int flags, const struct itimerspec *new, struct itimerspec *old) {
    struct itimerspec at = *new;

    if (flags & TFD_TIMER_ABSTIME && at.it_value.tv_sec > WALL_SECONDS)
        at.it_value = real(&at.it_value);
    return NEXT(timerfd_settime)(fd, flags, &at, old);
}

int pthread_cond_clockwait(pthread_cond_t *cond, pthread_mutex_t *mutex, clockid_t id,
                           const struct timespec *until) {
    const struct timespec at = is_wall(id) ? real(until) : *until;

    return NEXT(pthread_cond_clockwait)(cond, mutex, id, &at);
}

/* Its clock is that of the condition's attributes, which no function tells. */
int pthread_cond_timedwait(pthread_cond_t *restrict cond, pthread_mutex_t *restrict mutex,
                           const struct timespec *restrict until) {
    return pthread_cond_clockwait(
        cond, mutex, until->tv_sec > WALL_SECONDS ? CLOCK_REALTIME : CLOCK_MONOTONIC, until);
}

#define WAITS_BY_CLOCK(timed, clocked, type)                                                       \
    int clocked(type *what, clockid_t id, const struct timespec *until) {                          \
        const struct timespec at = is_wall(id) ? real(until) : *until;                             \
                                                                                                   \
        return NEXT(clocked)(what, id, &at);                                                       \
    }                                                                                              \
    int timed(type *restrict what, const struct timespec *restrict until) {                        \
        return clocked(what, CLOCK_REALTIME, until);                                               \
    }

WAITS_BY_CLOCK(sem_timedwait, sem_clockwait, sem_t)
WAITS_BY_CLOCK(pthread_mutex_timedlock, pthread_mutex_clocklock, pthread_mutex_t)
WAITS_BY_CLOCK(pthread_rwlock_timedrdlock, pthread_rwlock_clockrdlock, pthread_rwlock_t)
WAITS_BY_CLOCK(pthread_rwlock_timedwrlock, pthread_rwlock_clockwrlock, pthread_rwlock_t)
