/* The program that the page starts: its output, its end (no process stays), and its shown state:
 * always one event. */
#include "runner.h"
#include "test.h"

#include "wait.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uv_loop_t loop;
static struct runner runner;
static unsigned ends;

static void on_end(void) {
    ends++;
}

static int set_up(void **state) {
    ends = 0;
    assert_int_equal(uv_loop_init(&loop), 0);
    runner_init(&runner, &loop, on_end);
    return runner.shown == NULL;
}

static int tear_down(void **state) {
    runner_free(&runner);
    return uv_loop_close(&loop);
}

static void start_titled(enum lesson_kind kind, const char *title, const char *script) {
    char text[512], shell[] = "sh", flag[] = "-c";
    struct lesson lesson = {.kind = kind, .words = {shell, flag, text}};

    (void)snprintf(text, sizeof text, "%s", script);
    (void)snprintf(lesson.title, sizeof lesson.title, "%s", title);
    assert_int_equal(runner_start(&runner, "/bin/sh", &lesson), 0);
    assert_true(runner.is_running);
}

static void start(const char *script) {
    start_titled(LESSON_RUN, "a", script);
}

static void end(void) {
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(ends, 1);
    assert_false(runner.is_running);
}

static void expect_shown(const char *expected) {
    char *text = json_dumps(runner.shown, JSON_COMPACT);

    assert_string_equal(text, expected);
    free(text);
}

static void test_lines_of_json_and_other_words_are_told_apart(void **state) {
    start("printf '{\"strategy\":\"a\"}\\nloadgen: hm\\n\\n{\"strategy\"' >&2; sleep 0.05; "
          "printf ':\"b\"}\\nlast' >&2; echo out; exit 3");
    end();
    expect_shown(
        "{\"doing\":null,\"title\":\"a\",\"is_stopping\":false,\"live\":{\"strategy\":\"b\"},"
        "\"rounds\":[],\"ended\":{\"kind\":\"run\",\"title\":\"a\",\"exit_code\":3,"
        "\"signal\":0,\"was_stopped\":false,\"folder\":null,"
        "\"said\":\"loadgen: hm\\nlast\\n\"}}");
    assert_int_equal(runner.version, 5); /* with both lines of JSON */
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
    start("trap 'echo judged >&2; exit 130' INT; echo ready >&2; while :; do sleep 0.01; done");
    WAIT_FOR(&loop, runner.tail[0] != '\0');
    runner_stop(&runner, 20000);
    runner_stop(&runner, 100);
    end();
    assert_true(runner.is_stopping);
    assert_int_equal(runner.exit_code, 130);
    assert_string_equal(runner.tail, "ready\njudged\n");
}

/* It ignores SIGINT; its child would keep both pipes open for a minute. */
static void test_nothing_of_its_group_stays(void **state) {
    start("trap '' INT; (trap '' INT; sleep 60) & echo ready >&2; wait");
    WAIT_FOR(&loop, runner.tail[0] != '\0');
    runner_stop(&runner, 100);
    end();
    assert_int_equal(runner.signal, SIGKILL);
}

static void test_what_it_leaves_behind_ends_with_it(void **state) {
    start("sleep 60 & exit 0");
    end();
    assert_int_equal(runner.exit_code, 0);
}

static void test_what_cannot_be_started_is_told(void **state) {
    char name[] = "nothing";
    struct lesson lesson = {.words = {name}};

    assert_int_equal(runner_start(&runner, "/nowhere/nothing", &lesson), UV_ENOENT);
    runner_stop(&runner, 100);
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    assert_false(runner.is_running);
    assert_int_equal(ends, 0);
    start("exit 0"); /* and then another */
    end();
}

/* ---- the shown state */

static void test_an_event_is_one_line_of_data(void **state) {
    size_t length;
    char *event;

    start_titled(LESSON_RUN, "no\n\ndata: evil\r", "exit 0");
    event = runner_event(&runner, &length);
    assert_string_equal(event, "id: 2\nevent: board\ndata: {\"doing\":\"run\",\"title\":"
                               "\"no\\n\\ndata: evil\\r\",\"is_stopping\":false,\"live\":null,"
                               "\"rounds\":[],\"ended\":null}\n\n");
    assert_int_equal(length, strlen(event));
    free(event);
    end();
}

static void test_rounds_stay_and_the_newest_line_is_live(void **state) {
    start_titled(LESSON_RUN, "a,b",
                 "printf '{\"strategy\":\"a\",\"sold\":1}\\n"
                 "{\"strategy\":\"a\",\"sold\":2,\"verdict\":\"VALID\"}\\n"
                 "{\"strategy\":\"b\",\"sold\":3}\\n' >&2; sleep 60");
    WAIT_FOR(&loop, runner.version == 5);
    expect_shown("{\"doing\":\"run\",\"title\":\"a,b\",\"is_stopping\":false,"
                 "\"live\":{\"strategy\":\"b\",\"sold\":3},"
                 "\"rounds\":[{\"strategy\":\"a\",\"sold\":2,\"verdict\":\"VALID\"}],"
                 "\"ended\":null}");
    runner_stop(&runner, 0);
    end();
}

static void test_what_is_no_progress_is_not_shown(void **state) {
    start("printf '{\\n{}\\n{\"strategy\":7}\\nnext\\n' >&2; sleep 60");
    WAIT_FOR(&loop, runner.tail[0] != '\0');
    assert_int_equal(runner.version, 2);
    runner_stop(&runner, 0);
    end();
}

static void test_the_end_is_told_and_the_next_begins_anew(void **state) {
    start("trap 'echo why >&2; exit 1' INT; echo '{\"strategies\":[],\"folder\":\"results/x\"}'; "
          "while :; do sleep 0.01; done");
    WAIT_FOR(&loop, runner.said.length > 0);
    runner_stop(&runner, 20000);
    assert_true(json_is_true(json_object_get(runner.shown, "is_stopping")));
    end();
    expect_shown(
        "{\"doing\":null,\"title\":\"a\",\"is_stopping\":false,\"live\":null,\"rounds\":[],"
        "\"ended\":{\"kind\":\"run\",\"title\":\"a\",\"exit_code\":1,\"signal\":0,"
        "\"was_stopped\":true,\"folder\":\"x\",\"said\":\"why\\n\"}}");
    ends = 0;
    start_titled(LESSON_EXPLORE, "b", "exit 0");
    assert_true(json_is_null(json_object_get(runner.shown, "ended")));
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
        TEST(test_an_event_is_one_line_of_data),
        TEST(test_rounds_stay_and_the_newest_line_is_live),
        TEST(test_what_is_no_progress_is_not_shown),
        TEST(test_the_end_is_told_and_the_next_begins_anew),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
