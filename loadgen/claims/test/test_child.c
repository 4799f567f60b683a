/* Programs that are started: how they ended is known, and what they said is in the file. */
#include "child.h"
#include "test.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct run {
    uv_loop_t loop;
    FILE *output;
    struct child child;
};

static int set_up(void **state) {
    static struct run run;

    memset(&run, 0, sizeof run);
    run.output = tmpfile();
    *state = &run;
    return run.output != NULL ? uv_loop_init(&run.loop) : -1;
}

static int tear_down(void **state) {
    struct run *run = *state;

    (void)fclose(run->output);
    assert_int_equal(uv_loop_close(&run->loop), 0);
    return 0;
}

static int shell(struct run *run, const char *script) {
    char program[] = "/bin/sh", flag[] = "-c", text[80], *arguments[] = {program, flag, text, NULL};

    snprintf(text, sizeof text, "%s", script);
    return child_run(&run->child, &run->loop, arguments, fileno(run->output));
}

static void test_the_exit_code_and_both_outputs_are_kept(void **state) {
    struct run *run = *state;
    char text[16] = "";

    assert_int_equal(shell(run, "echo a; echo b >&2; exit 3"), 3);
    assert_int_equal(pread(fileno(run->output), text, sizeof text - 1, 0), 4);
    assert_string_equal(text, "a\nb\n");
    assert_int_equal(shell(run, "exit 0"), 0);
    assert_false(run->child.is_running);
}

static void test_a_signal_is_an_exit_code_as_of_a_shell(void **state) {
    assert_int_equal(shell(*state, "kill -9 $$"), 128 + SIGKILL);
}

static void test_a_program_that_is_not_there_says_so(void **state) {
    struct run *run = *state;
    char program[] = "/nowhere/at/all", *arguments[] = {program, NULL};

    assert_int_equal(child_run(&run->child, &run->loop, arguments, fileno(run->output)),
                     CHILD_NOT_STARTED);
    assert_int_equal(errno, ENOENT);
    child_kill(&run->child, SIGKILL); /* none runs: nothing */
}

static void on_time(uv_timer_t *timer) {
    struct run *run = timer->data;

    child_kill(&run->child, SIGINT);
    uv_close((uv_handle_t *)timer, NULL);
}

static void test_one_that_runs_can_be_interrupted(void **state) {
    struct run *run = *state;
    uv_timer_t timer = {.data = run};

    assert_int_equal(uv_timer_init(&run->loop, &timer), 0);
    assert_int_equal(uv_timer_start(&timer, on_time, 1, 0), 0);
    assert_int_equal(shell(run, "exec sleep 60"), 128 + SIGINT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_the_exit_code_and_both_outputs_are_kept, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_a_signal_is_an_exit_code_as_of_a_shell, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_a_program_that_is_not_there_says_so, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_one_that_runs_can_be_interrupted, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
