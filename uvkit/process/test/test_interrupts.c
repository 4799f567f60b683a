/* Signals that ask for an end arrive on the loop; one hangup is one signal. */
#include "interrupts.h"
#include "test.h"

#include <signal.h>

static uv_loop_t loop;
static struct interrupts interrupts;
static int seen[8];
static size_t count;

static void on_signal(void *data, int number) {
    assert_ptr_equal(data, seen);
    assert_true(count < sizeof seen / sizeof *seen);
    seen[count++] = number;
}

static int set_up(void **state) {
    count = 0;
    assert_int_equal(uv_loop_init(&loop), 0);
    return 0;
}

static int tear_down(void **state) {
    sigset_t none;

    interrupts_close(&interrupts);
    (void)uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    return 0;
}

static void watch(void) {
    interrupts_watch(&interrupts, &loop, on_signal, seen);
}

/* libuv's handler writes to a pipe of the loop before raise() returns. */
static void send_now(int number) {
    assert_int_equal(raise(number), 0);
    uv_ref((uv_handle_t *)&interrupts.handles[0]);
    (void)uv_run(&loop, UV_RUN_NOWAIT);
    uv_unref((uv_handle_t *)&interrupts.handles[0]);
}

static void test_each_signal_is_told_each_time(void **state) {
    static const int numbers[] = {SIGINT, SIGTERM, SIGQUIT, SIGINT};

    watch();
    for (size_t i = 0; i < 4; i++)
        send_now(numbers[i]);
    assert_int_equal(count, 4);
    assert_memory_equal(seen, numbers, sizeof numbers);
}

static void test_a_second_hangup_is_of_the_same_terminal(void **state) {
    watch();
    send_now(SIGHUP);
    send_now(SIGHUP);
    assert_int_equal(count, 1);
    send_now(SIGTERM);
    assert_int_equal(count, 2);
}

static void test_an_ignored_hangup_stays_ignored(void **state) {
    (void)signal(SIGHUP, SIG_IGN);
    watch();
    send_now(SIGHUP);
    (void)signal(SIGHUP, SIG_DFL);
    assert_int_equal(count, 0);
}

static void test_an_ignored_interrupt_is_told(void **state) {
    (void)signal(SIGINT, SIG_IGN);
    watch();
    send_now(SIGINT);
    assert_int_equal(count, 1);
}

static void test_after_the_close_no_signal_kills(void **state) {
    watch();
    interrupts_close(&interrupts);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(raise((int[]){SIGINT, SIGTERM, SIGQUIT, SIGHUP}[i]), 0);
    (void)uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(count, 0);
    for (size_t i = 0; i < 4; i++) /* drop pending signals */
        (void)signal((int[]){SIGINT, SIGTERM, SIGQUIT, SIGHUP}[i], SIG_IGN);
    for (size_t i = 0; i < 4; i++)
        (void)signal((int[]){SIGINT, SIGTERM, SIGQUIT, SIGHUP}[i], SIG_DFL);
}

static void test_the_next_watch_gets_the_signals(void **state) {
    watch();
    interrupts_close(&interrupts);
    (void)uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(raise(SIGINT), 0); /* between the two */
    watch();
    uv_ref((uv_handle_t *)&interrupts.handles[0]);
    (void)uv_run(&loop, UV_RUN_NOWAIT);
    uv_unref((uv_handle_t *)&interrupts.handles[0]);
    send_now(SIGTERM);
    assert_int_equal(count, 2);
    assert_int_equal(seen[0], SIGINT);
    assert_int_equal(seen[1], SIGTERM);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_each_signal_is_told_each_time, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_second_hangup_is_of_the_same_terminal, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_an_ignored_hangup_stays_ignored, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_an_ignored_interrupt_is_told, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_after_the_close_no_signal_kills, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_the_next_watch_gets_the_signals, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
