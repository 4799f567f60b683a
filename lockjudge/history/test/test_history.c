/* A history keeps its items in the order of time, and is the same after lines of JSON. */
#include "history.h"
#include "test.h"
#include "why.h"

#include <jansson.h>
#include <string.h>

static struct history history;

static int tear_down(void **state) {
    history_free(&history);
    return 0;
}

static void add(int64_t at_ns, enum history_kind kind, enum history_result result) {
    const struct history_item item = {.at_ns = at_ns,
                                      .end_ns = at_ns + 5,
                                      .kind = kind,
                                      .result = result,
                                      .worker = 1,
                                      .fence = 7,
                                      .ttl_ms = kind == HISTORY_ACQUIRE ? 2000 : 0,
                                      .wait_ms = kind == HISTORY_ACQUIRE ? 500 : 0,
                                      .text = "it said \"no\""};

    assert_true(history_add(&history, &item) >= 0);
}

static void test_items_stand_in_the_order_of_time(void **state) {
    add(30, HISTORY_CHECK, HISTORY_RESULT_HELD);
    add(10, HISTORY_ACQUIRE, HISTORY_RESULT_HELD);
    add(30, HISTORY_WRITE, HISTORY_RESULT_LANDED);
    add(20, HISTORY_TOLD, HISTORY_RESULT_LOST);
    assert_int_equal(history.items[0].kind, HISTORY_ACQUIRE);
    assert_int_equal(history.items[1].kind, HISTORY_TOLD);
    assert_int_equal(history.items[2].kind, HISTORY_CHECK);
    assert_int_equal(history.items[3].kind, HISTORY_WRITE);
}

static void test_lines_give_the_same_history(void **state) {
    struct history again = {NULL, 0, 0};
    struct why why;
    FILE *file = tmpfile();

    assert_non_null(file);
    add(10, HISTORY_ACQUIRE, HISTORY_RESULT_HELD);
    add(20, HISTORY_CHECK, HISTORY_RESULT_NONE);
    history.items[1].end_ns = HISTORY_OPEN;
    add(30, HISTORY_FAULT, HISTORY_RESULT_NONE);
    history.items[2].worker = HISTORY_NOBODY;
    history.items[2].flags = HISTORY_STOPS;
    history.items[2].starting_ns = 2;
    history.items[2].ending_ns = 1;
    assert_int_equal(history_write(&history, file), 0);
    rewind(file);
    assert_int_equal(history_read(&again, file, &why), 0);
    assert_int_equal(again.count, history.count);
    for (size_t i = 0; i < again.count; i++)
        assert_memory_equal(&again.items[i], &history.items[i], sizeof again.items[i]);
    history_free(&again);
    (void)fclose(file);
}

static void test_a_line_that_is_no_item_is_named(void **state) {
    static const struct {
        const char *text, *reason;
    } rows[] = {
        {"{\"kind\":\"check\",\"at_ns\":1}\nnonsense\n", "line 2"},
        {"{\"kind\":\"dance\",\"at_ns\":1}\n", "no known \"kind\""},
        {"{\"kind\":\"check\",\"at_ns\":1,\"result\":\"perhaps\"}\n", "no known \"result\""},
        {"{\"kind\":\"check\"}\n", "no \"at_ns\""},
        {"{\"kind\":\"check\",\"at_ns\":9,\"end_ns\":8}\n", "before its at_ns"},
        {"{\"kind\":\"check\",\"at_ns\":9,\"result\":\"held\"}\n", "a result, and no end_ns"},
        {"{\"kind\":\"check\",\"at_ns\":-1}\n", "its at_ns is no integer from 0"},
        {"{\"kind\":\"check\",\"at_ns\":\"1\"}\n", "its at_ns is no integer from 0"},
        {"{\"kind\":\"check\",\"at_ns\":1,\"worker\":4294967290}\n",
         "its worker is no integer from 0 to 9999"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct why why;
        FILE *file = tmpfile();

        assert_non_null(file);
        assert_true(fputs(rows[i].text, file) >= 0);
        rewind(file);
        assert_int_equal(history_read(&history, file, &why), -1);
        assert_non_null(strstr(why.text, rows[i].reason));
        (void)fclose(file);
        history_free(&history);
    }
}

static void test_the_schema_has_each_kind_and_each_result(void **state) {
    json_error_t error;
    json_t *schema = json_load_file("lockjudge/history/history.schema.json", 0, &error);
    const json_t *members = json_object_get(schema, "properties");
    const json_t *kinds = json_object_get(json_object_get(members, "kind"), "enum");
    const json_t *results = json_object_get(json_object_get(members, "result"), "enum");

    assert_non_null(schema);
    assert_int_equal(json_array_size(kinds), HISTORY_STALL + 1);
    for (size_t i = 0; i < json_array_size(kinds); i++)
        assert_string_equal(json_string_value(json_array_get(kinds, i)),
                            history_kind_text((enum history_kind)i));
    assert_int_equal(json_array_size(results), HISTORY_RESULT_REFUSED + 1);
    for (size_t i = 0; i < json_array_size(results); i++)
        assert_string_equal(json_string_value(json_array_get(results, i)),
                            history_result_text((enum history_result)i));
    json_decref(schema);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_items_stand_in_the_order_of_time, tear_down),
        cmocka_unit_test_teardown(test_lines_give_the_same_history, tear_down),
        cmocka_unit_test_teardown(test_a_line_that_is_no_item_is_named, tear_down),
        cmocka_unit_test(test_the_schema_has_each_kind_and_each_result),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
