/* Real-time priority has a limit: a process that computes without a pause becomes ordinary. */
#include "punctual.h"
#include "test.h"

#include "clock.h"

#include <linux/capability.h>
#include <sched.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_MS 20000

static void test_without_a_wish_the_priority_is_ordinary(void **state) {
    assert_false(punctual_start(false));
    assert_int_equal(sched_getscheduler(0), SCHED_OTHER);
    assert_false(punctual_stop());
}

static bool start(void) {
    if (punctual_start(true)) {
        assert_int_equal(sched_getscheduler(0), SCHED_RR | SCHED_RESET_ON_FORK);
        return true;
    }
    print_message("no real-time priority here\n");
    return false;
}

static bool is_ordinary(void) {
    return (sched_getscheduler(0) & ~SCHED_RESET_ON_FORK) == SCHED_OTHER;
}

static void test_the_priority_is_given_back(void **state) {
    bool is_taken = start();

    assert_int_equal(punctual_stop(), is_taken);
    assert_true(is_ordinary());
}

/* Like in a container: the only right is a capability that is permitted, but not effective. */
static int start_with_a_right_alone(void) {
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct rights[_LINUX_CAPABILITY_U32S_3] = {
        {.permitted = 1U << CAP_SYS_NICE}};

    if (setrlimit(RLIMIT_RTPRIO, &(struct rlimit){0, 0}) != 0 ||
        syscall(SYS_capset, &header, rights) != 0)
        return 2;
    return punctual_start(true) ? 0 : 1;
}

static void test_a_right_that_is_permitted_is_used(void **state) {
    bool is_taken = start();
    pid_t child;
    int status;

    (void)punctual_stop();
    if (!is_taken || geteuid() != 0)
        return;
    child = fork();
    if (child == 0)
        _exit(start_with_a_right_alone());
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void test_a_process_that_never_pauses_loses_the_priority(void **state) {
    int64_t deadline_ms = clock_now_ms() + PATIENCE_MS;

    if (!start())
        return;
    while (!is_ordinary() && clock_now_ms() < deadline_ms)
        continue;
    assert_true(is_ordinary());
    assert_false(punctual_stop());
}

static int64_t computed_ms(void) {
    struct timespec used;

    assert_int_equal(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used), 0);
    return used.tv_sec * 1000 + used.tv_nsec / 1000000;
}

/* It computes three times the limit of computing without a pause, but only 3/4 of the time. */
static void test_a_process_that_rests_keeps_the_priority(void **state) {
    int64_t began_ms = computed_ms();

    if (!start())
        return;
    while (computed_ms() < began_ms + 600) {
        int64_t until_ms = computed_ms() + 150;

        while (computed_ms() < until_ms)
            punctual_rest(clock_now_ns(), false);
        (void)usleep(50000);
    }
    assert_true(punctual_stop());
}

/* It turns without a wait, like the sender while nothing is due. */
static void test_a_process_with_time_keeps_below_what_the_kernel_stops_it_at(void **state) {
    const int64_t start_ms = clock_now_ms(), began_ms = computed_ms();
    int64_t passed_ms, used_ms;

    if (!start())
        return;
    while (clock_now_ms() < start_ms + 1200)
        punctual_rest(clock_now_ns(), true);
    passed_ms = clock_now_ms() - start_ms;
    used_ms = computed_ms() - began_ms;
    print_message("%lld of %lld ms\n", (long long)used_ms, (long long)passed_ms);
    assert_true(used_ms * 100 < passed_ms * 95);
    assert_true(punctual_stop());
}

static void test_a_process_that_fills_its_processor_loses_the_priority(void **state) {
    int64_t deadline_ms = clock_now_ms() + PATIENCE_MS;

    if (!start())
        return;
    while (!is_ordinary() && clock_now_ms() < deadline_ms)
        punctual_rest(clock_now_ns(), false);
    assert_true(is_ordinary());
    assert_false(punctual_stop());
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_without_a_wish_the_priority_is_ordinary),
        cmocka_unit_test(test_the_priority_is_given_back),
        cmocka_unit_test(test_a_right_that_is_permitted_is_used),
        cmocka_unit_test(test_a_process_that_never_pauses_loses_the_priority),
        cmocka_unit_test(test_a_process_that_rests_keeps_the_priority),
        cmocka_unit_test(test_a_process_with_time_keeps_below_what_the_kernel_stops_it_at),
        cmocka_unit_test(test_a_process_that_fills_its_processor_loses_the_priority),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
