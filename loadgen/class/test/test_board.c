/* What is shown, and that it is one event whatever is in it. */
#include "board.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

static struct board board;

static int set_up(void **state) {
    board = (struct board){NULL, 0};
    board_clear(&board);
    return board.shown == NULL;
}

static int tear_down(void **state) {
    board_free(&board);
    return 0;
}

static void progress(const char *line) {
    board_progress(&board, line, strlen(line));
}

static void expect_shown(const char *expected) {
    char *text = json_dumps(board.shown, JSON_COMPACT);

    assert_string_equal(text, expected);
    free(text);
}

static void test_an_event_is_one_line_of_data(void **state) {
    size_t length;
    char *event;

    board_begin(&board, "run", "no\n\ndata: evil\r");
    event = board_event(&board, &length);
    assert_string_equal(event, "id: 2\nevent: board\ndata: {\"doing\":\"run\",\"title\":"
                               "\"no\\n\\ndata: evil\\r\",\"is_stopping\":false,\"live\":null,"
                               "\"rounds\":[],\"ended\":null}\n\n");
    assert_int_equal(length, strlen(event));
    free(event);
}

static void test_rounds_stay_and_the_newest_line_is_live(void **state) {
    board_begin(&board, "run", "a,b");
    progress("{\"strategy\":\"a\",\"sold\":1}");
    progress("{\"strategy\":\"a\",\"sold\":2,\"verdict\":\"VALID\"}");
    progress("{\"strategy\":\"b\",\"sold\":3}");
    expect_shown("{\"doing\":\"run\",\"title\":\"a,b\",\"is_stopping\":false,"
                 "\"live\":{\"strategy\":\"b\",\"sold\":3},"
                 "\"rounds\":[{\"strategy\":\"a\",\"sold\":2,\"verdict\":\"VALID\"}],"
                 "\"ended\":null}");
    assert_int_equal(board.version, 5);
}

static void test_what_is_no_progress_is_not_shown(void **state) {
    const uint64_t version = board.version;

    progress("{");
    progress("{}");
    progress("{\"strategy\":7}");
    assert_int_equal(board.version, version);
}

static void test_the_end_is_told_and_the_next_begins_anew(void **state) {
    const struct board_end end = {.exit_code = 1, .folder = "x", .said = "why\n"};

    board_begin(&board, "run", "a");
    board_stopping(&board);
    assert_true(json_is_true(json_object_get(board.shown, "is_stopping")));
    board_end(&board, &end);
    expect_shown(
        "{\"doing\":null,\"title\":\"a\",\"is_stopping\":false,\"live\":null,\"rounds\":[],"
        "\"ended\":{\"kind\":\"run\",\"title\":\"a\",\"exit_code\":1,\"signal\":0,"
        "\"was_stopped\":false,\"folder\":\"x\",\"said\":\"why\\n\"}}");
    board_begin(&board, "explore", "b");
    assert_true(json_is_null(json_object_get(board.shown, "ended")));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_an_event_is_one_line_of_data),
        TEST(test_rounds_stay_and_the_newest_line_is_live),
        TEST(test_what_is_no_progress_is_not_shown),
        TEST(test_the_end_is_told_and_the_next_begins_anew),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
