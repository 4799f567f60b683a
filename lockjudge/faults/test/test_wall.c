/* The wall clock of a worker is moved, in each call that reads it, and waits until a moment of it
 * neither end early nor hang; a process that has not loaded the library is seen. The worker is this
 * program. */
#include "wall.h"

#include "fiber.h"
#include "test.h"
#include "worker.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_MS 20000
#define WAIT_NS     20000000

/* ---- the worker */

static double seconds(const struct timespec *at) {
    return (double)at->tv_sec + (double)at->tv_nsec / 1e9;
}

/* No library of ours reads this. */
static double truth(clockid_t id) {
    struct timespec at;

    (void)syscall(SYS_clock_gettime, id, &at);
    return seconds(&at);
}

static long minutes(double seen, double real) {
    const double minutes = (seen - real) / 60;

    return (long)(minutes < 0 ? minutes - 0.5 : minutes + 0.5);
}

static void say_shifts(void) {
    struct timespec wall, coarse, got, steady;
    struct timeval day;
    const double real = truth(CLOCK_REALTIME), run = truth(CLOCK_MONOTONIC);

    (void)clock_gettime(CLOCK_REALTIME, &wall);
    (void)clock_gettime(CLOCK_REALTIME_COARSE, &coarse);
    (void)clock_gettime(CLOCK_MONOTONIC, &steady);
    (void)timespec_get(&got, TIME_UTC);
    (void)gettimeofday(&day, NULL);
    (void)printf("error %ld %ld %ld %ld %ld %ld\n", minutes(seconds(&wall), real),
                 minutes(seconds(&coarse), real), minutes(seconds(&got), real),
                 minutes((double)day.tv_sec, real), minutes((double)time(NULL), real),
                 minutes(seconds(&steady), run));
}

static struct timespec soon(clockid_t id) {
    struct timespec at;

    (void)clock_gettime(id, &at);
    at.tv_nsec += WAIT_NS;
    if (at.tv_nsec >= 1000000000) {
        at.tv_sec++;
        at.tv_nsec -= 1000000000;
    }
    return at;
}

static int wait_on_cond(clockid_t id, bool by_clock) {
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_condattr_t attributes;
    pthread_cond_t cond;
    const struct timespec at = soon(id);
    int code;

    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, id);
    (void)pthread_cond_init(&cond, &attributes);
    (void)pthread_mutex_lock(&mutex);
    do
        code = by_clock ? pthread_cond_clockwait(&cond, &mutex, id, &at)
                        : pthread_cond_timedwait(&cond, &mutex, &at);
    while (code == 0);
    (void)pthread_mutex_unlock(&mutex);
    return code == ETIMEDOUT ? 0 : code;
}

static int wait_sleeping(void) {
    const struct timespec at = soon(CLOCK_REALTIME);

    return clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &at, NULL);
}

static int wait_for_semaphore(void) {
    const struct timespec at = soon(CLOCK_REALTIME);
    sem_t semaphore;

    (void)sem_init(&semaphore, 0, 0);
    return sem_timedwait(&semaphore, &at) != 0 && errno == ETIMEDOUT ? 0 : -1;
}

static int wait_for_mutex(void) {
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    const struct timespec at = soon(CLOCK_REALTIME);

    (void)pthread_mutex_lock(&mutex);
    return pthread_mutex_timedlock(&mutex, &at) == ETIMEDOUT ? 0 : -1;
}

static int wait_for_timer(void) {
    const struct itimerspec at = {.it_value = soon(CLOCK_REALTIME)};
    const int fd = timerfd_create(CLOCK_REALTIME, 0);
    uint64_t count;

    (void)timerfd_settime(fd, TFD_TIMER_ABSTIME, &at, NULL);
    return read(fd, &count, sizeof count) == sizeof count ? close(fd) : -1;
}

static int wait_by_cond(void) {
    return wait_on_cond(CLOCK_REALTIME, false) | wait_on_cond(CLOCK_MONOTONIC, false) |
           wait_on_cond(CLOCK_REALTIME, true);
}

static void say_waits(void) {
    int (*const waits[])(void) = {wait_sleeping, wait_by_cond, wait_for_semaphore, wait_for_mutex,
                                  wait_for_timer};

    (void)printf("error");
    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++) {
        const double began = truth(CLOCK_MONOTONIC);
        const int code = waits[i]();

        (void)printf(" %s", code != 0                                                ? "fails"
                            : truth(CLOCK_MONOTONIC) - began < (double)WAIT_NS / 1e9 ? "early"
                                                                                     : "ok");
    }
    (void)puts("");
}

/* A child without our environment. It runs its program when this returns. */
static void start_stranger(void) {
    char name[] = "sleep", time[] = "1000", *words[] = {name, time, NULL}, *none[] = {NULL};
    pid_t child;

    (void)puts(posix_spawn(&child, "/bin/sleep", NULL, NULL, words, none) == 0 ? "busy" : "lost");
}

static int be_worker(void) {
    char line[64];

    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    (void)puts("ready");
    while (fgets(line, sizeof line, stdin) != NULL)
        if (strcmp(line, "waits\n") == 0)
            say_waits();
        else if (strcmp(line, "stranger\n") == 0)
            start_stranger();
        else
            say_shifts();
    return 0;
}

/* ---- the tests */

static uv_loop_t loop;
static struct fault_site site;
static struct why why;

static int set_up(void **state) {
    why.text[0] = '\0';
    site = (struct fault_site){.loop = &loop};
    return uv_loop_init(&loop);
}

static int tear_down(void **state) {
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(uv_loop_close(&loop), 0);
    fiber_cleanup();
    return 0;
}

static void start(void) {
    char program[] = "/proc/self/exe", word[] = "worker", *argv[] = {program, word, NULL};
    const struct worker_events events = {NULL, NULL, NULL};
    struct worker_options options;

    assert_int_equal(wall_prepare(&site, &why), 0);
    options = (struct worker_options){.variables = site.variables};
    assert_int_equal(worker_start(&site.victim, &loop, argv, 0, &events, &options, &why), 0);
    assert_int_equal(worker_await_ready(site.victim, PATIENCE_MS, &why), 0);
}

static void stop(void) {
    worker_close(site.victim);
    assert_int_equal(wall_restore(&site, &why), 0);
    assert_null(site.variables);
}

static void expect(const char *request, const char *text) {
    struct worker_answer answer;

    assert_int_equal(worker_ask(site.victim, request, PATIENCE_MS, &answer, &why), 0);
    assert_string_equal(answer.line.text, text);
}

static void is_moved(void *arg) {
    start();
    expect("check", "0 0 0 0 0 0");
    expect("waits", "ok ok ok ok ok");
    assert_int_equal(wall_ahead_begin(&site, &why), 0);
    expect("check", "60 60 60 60 60 0");
    expect("waits", "ok ok ok ok ok");
    assert_int_equal(wall_behind_begin(&site, &why), 0);
    expect("check", "-60 -60 -60 -60 -60 0");
    expect("waits", "ok ok ok ok ok");
    assert_int_equal(wall_end(&site, &why), 0);
    stop();
}

static void test_each_call_follows_the_page(void **state) {
    assert_int_equal(fiber_start(is_moved, NULL), 0);
}

static void has_a_stranger(void *arg) {
    struct worker_answer answer;

    start();
    assert_int_equal(wall_ahead_begin(&site, &why), 0);
    assert_int_equal(worker_ask(site.victim, "stranger", PATIENCE_MS, &answer, &why), 0);
    assert_int_equal(answer.line.word, LINE_BUSY);
    assert_int_equal(wall_end(&site, &why), FAULT_UNASKED);
    assert_string_equal(why.text,
                        "the wall clock of \"sleep\" cannot be moved: it does not read it by libc");
    assert_int_equal(wall_behind_begin(&site, &why), FAULT_UNASKED);
    expect("check", "60 60 60 60 60 0");
    stop();
}

static void test_a_process_whose_clock_cannot_be_moved_is_seen(void **state) {
    assert_int_equal(fiber_start(has_a_stranger, NULL), 0);
}

static void test_what_was_not_prepared_is_restored(void **state) {
    assert_int_equal(wall_restore(&site, &why), 0);
}

int main(int argc, char **argv) {
    static const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(test_each_call_follows_the_page),
        TEST(test_a_process_whose_clock_cannot_be_moved_is_seen),
        TEST(test_what_was_not_prepared_is_restored),
#undef TEST
    };

    if (argc > 1 && strcmp(argv[1], "worker") == 0)
        return be_worker();
    /* gcc's sanitizer wants to be the first library. */
    (void)setenv("ASAN_OPTIONS", "verify_asan_link_order=0", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
