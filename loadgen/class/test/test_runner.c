/* The program that the page starts: what it says, how it ends, and that nothing of it stays. */
#include "runner.h"
#include "test.h"

#include "wait.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uv_loop_t loop;
static struct runner runner;
static char lines[512];
static unsigned ends;

static void on_json(const char *line, size_t length) {
    (void)snprintf(lines + strlen(lines), sizeof lines - strlen(lines), "%.*s;", (int)length, line);
}

static void on_end(void) {
    ends++;
}

static int set_up(void **state) {
    runner = (struct runner){.on_json = on_json, .on_end = on_end, .grace_ms = 100};
    lines[0] = '\0';
    ends = 0;
    return uv_loop_init(&loop);
}

static int tear_down(void **state) {
    runner_free(&runner);
    return uv_loop_close(&loop);
}

static void start(const char *script) {
    char text[512], shell[] = "sh", flag[] = "-c", *words[] = {shell, flag, text, NULL};

    (void)snprintf(text, sizeof text, "%s", script);
    assert_int_equal(runner_start(&runner, &loop, "/bin/sh", words), 0);
    assert_true(runner.is_running);
}

static void end(void) {
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(ends, 1);
    assert_false(runner.is_running);
}

static void test_lines_of_json_and_other_words_are_told_apart(void **state) {
    start("printf '{\"a\":1}\\nloadgen: hm\\n\\n{\"b\"' >&2; sleep 0.05; printf ':2}\\nlast' >&2; "
          "echo out; exit 3");
    end();
    assert_string_equal(lines, "{\"a\":1};{\"b\":2};");
    assert_string_equal(runner.tail, "loadgen: hm\nlast\n");
    assert_int_equal(runner.said.length, 4);
    assert_memory_equal(runner.said.bytes, "out\n", 4);
    assert_int_equal(runner.exit_code, 3);
    assert_int_equal(runner.signal, 0);
}

static void test_of_many_words_the_end_is_kept(void **state) {
    start("i=0; while [ $i -lt 400 ]; do echo \"line $i\" >&2; i=$((i + 1)); done; echo end >&2");
    end();
    assert_in_range(strlen(runner.tail), 1000, RUNNER_TAIL - 1);
    assert_string_equal(runner.tail + strlen(runner.tail) - 13, "line 399\nend\n");
}

static void test_a_line_without_an_end_is_bounded(void **state) {
    start("head -c 100000 /dev/zero | tr '\\0' x >&2");
    end();
    assert_in_range(strlen(runner.tail), 1000, RUNNER_TAIL - 1);
}

static void test_too_much_output_ends_it(void **state) {
    start("exec cat /dev/zero");
    end();
    assert_true(runner.is_too_much);
    assert_int_equal(runner.signal, SIGKILL);
    assert_in_range(runner.said.length, 1, RUNNER_OUTPUT_MAX);
}

static void test_it_is_asked_to_end_first(void **state) {
    runner.grace_ms = 20000;
    start("trap 'echo judged >&2; exit 130' INT; echo ready >&2; while :; do sleep 0.01; done");
    WAIT_FOR(&loop, runner.tail[0] != '\0');
    runner_stop(&runner);
    runner_stop(&runner);
    end();
    assert_true(runner.is_stopping);
    assert_int_equal(runner.exit_code, 130);
    assert_string_equal(runner.tail, "ready\njudged\n");
}

/* One that does not listen, and its child, which would keep both pipes open for a minute. */
static void test_nothing_of_its_group_stays(void **state) {
    start("trap '' INT; (trap '' INT; sleep 60) & echo ready >&2; wait");
    WAIT_FOR(&loop, runner.tail[0] != '\0');
    runner_stop(&runner);
    end();
    assert_int_equal(runner.signal, SIGKILL);
}

static void test_what_it_leaves_behind_ends_with_it(void **state) {
    start("sleep 60 & exit 0");
    end();
    assert_int_equal(runner.exit_code, 0);
}

static void test_what_cannot_be_started_is_told(void **state) {
    char name[] = "nothing", *words[] = {name, NULL};

    assert_int_equal(runner_start(&runner, &loop, "/nowhere/nothing", words), UV_ENOENT);
    runner_stop(&runner);
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    assert_false(runner.is_running);
    assert_int_equal(ends, 0);
    start("exit 0"); /* and then another */
    end();
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_lines_of_json_and_other_words_are_told_apart),
        TEST(test_of_many_words_the_end_is_kept),
        TEST(test_a_line_without_an_end_is_bounded),
        TEST(test_too_much_output_ends_it),
        TEST(test_it_is_asked_to_end_first),
        TEST(test_nothing_of_its_group_stays),
        TEST(test_what_it_leaves_behind_ends_with_it),
        TEST(test_what_cannot_be_started_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
