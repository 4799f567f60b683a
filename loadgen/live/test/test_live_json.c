/* The line of JSON that programs read. */
#include "live_json.h"
#include "test.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static struct live_snapshot snapshot;
static json_t *json;

static int set_up(void **state) {
    snapshot = (struct live_snapshot){.name = "redis",
                                      .round = 1,
                                      .rounds = 2,
                                      .phase = LIVE_WAITING,
                                      .elapsed_ns = 1500000000,
                                      .span_ns = 1000000000,
                                      .in_flight = 3,
                                      .p99_ns = -1,
                                      .outcomes = {[RECORD_SOLD] = 7, [RECORD_SOLD_OUT] = 2},
                                      .sold = 6,
                                      .stock = 5,
                                      .left = -1};
    return 0;
}

static int tear_down(void **state) {
    json_decref(json);
    json = NULL;
    return 0;
}

static void print(const char *verdict) {
    char *line = live_json(&snapshot, verdict);

    assert_non_null(line);
    assert_ptr_equal(strchr(line, '\n'), line + strlen(line) - 1);
    json = json_loads(line, 0, NULL);
    assert_true(json_is_object(json));
    free(line);
}

static void test_a_line_tells_the_round(void **state) {
    print(NULL);
    assert_string_equal(json_string_value(json_object_get(json, "strategy")), "redis");
    assert_string_equal(json_string_value(json_object_get(json, "phase")), "waiting");
    assert_int_equal(json_integer_value(json_object_get(json, "sold")), 6);
    assert_int_equal(json_integer_value(json_object_get(json, "stock")), 5);
    assert_true(json_number_value(json_object_get(json, "elapsed_ms")) == 1500);
    assert_int_equal(
        json_integer_value(json_object_get(json_object_get(json, "outcomes"), "sold_out")), 2);
}

static void test_what_is_not_known_is_null(void **state) {
    print(NULL);
    assert_true(json_is_null(json_object_get(json, "left")));
    assert_true(json_is_null(json_object_get(json, "p99_ms")));
    assert_null(json_object_get(json, "holder"));
    assert_null(json_object_get(json, "verdict"));
}

static void test_a_lock_that_nobody_holds_is_no_lock_without_a_name(void **state) {
    snapshot.has_holder = snapshot.is_left_down = true;
    print("VALID");
    assert_true(json_is_true(json_object_get(json, "is_left_down")));
    assert_true(json_is_null(json_object_get(json, "holder")));
    assert_string_equal(json_string_value(json_object_get(json, "verdict")), "VALID");
}

static void test_names_stay_on_their_line(void **state) {
    snapshot.name = "a\n{\"b\":\xff}";
    snapshot.has_holder = true;
    snapshot.holder = "inventory-\r\n1";
    print(NULL);
    assert_string_equal(json_string_value(json_object_get(json, "holder")), "inventory-\r\n1");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_a_line_tells_the_round),
        TEST(test_what_is_not_known_is_null),
        TEST(test_a_lock_that_nobody_holds_is_no_lock_without_a_name),
        TEST(test_names_stay_on_their_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
