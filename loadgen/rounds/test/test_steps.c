/* The steps of a shop's order: made, read, checked and summed. */
#include "steps.h"
#include "test.h"

#include <string.h>

#define MS INT64_C(1000000)

static struct histogram *times;
static json_t *steps;
static struct round rounds[3];
static const struct round *const all[] = {&rounds[0], &rounds[1], &rounds[2]};
static struct why why;

static int set_up(void **state) {
    times = calloc(1, sizeof *times);
    return times != NULL ? 0 : -1;
}

static int tear_down(void **state) {
    free(times);
    json_decref(steps);
    steps = NULL;
    for (size_t i = 0; i < 3; i++) {
        json_decref(rounds[i].steps);
        rounds[i].steps = NULL;
    }
    return 0;
}

/* Adds a step to a round whose replies took `ms`; 0: no reply came. */
static void add(size_t round, const char *name, size_t sent, size_t no_reply, int64_t ms) {
    memset(times, 0, sizeof *times);
    if (ms > 0)
        histogram_record(times, ms * MS);
    steps_add(&rounds[round].steps, name, 7, sent, no_reply, times);
}

static void test_a_step_without_a_reply_has_no_times(void **state) {
    struct step_times step;

    add(0, "GET /", 3, 3, 0);
    assert_true(steps_get(rounds[0].steps, 0, &step));
    assert_int_equal(step.sent, 3);
    assert_true(step.p50_ms < 0 && step.p99_ms < 0 && step.max_ms < 0);
    assert_true(json_is_null(json_object_get(json_array_get(rounds[0].steps, 0), "p50_ms")));
    assert_false(steps_get(rounds[0].steps, 1, &step));
}

static void test_rounds_add_up_to_sums_and_medians(void **state) {
    struct step_times step;

    for (size_t i = 0; i < 3; i++) {
        add(i, "POST /cart", 10, 1, 10 * ((int64_t)i + 1));
        add(i, "POST /pay", 5, 0, i == 0 ? 0 : 100);
    }
    steps = steps_sum(all, 3);
    assert_int_equal(json_array_size(steps), 2);
    assert_true(steps_get(steps, 0, &step));
    assert_string_equal(step.name, "POST /cart");
    assert_int_equal(step.sent, 30);
    assert_int_equal(step.no_reply, 3);
    assert_float_equal(step.p50_ms, 20, 0.1);
    assert_float_equal(step.max_ms, 30, 0.1);
    assert_true(steps_get(steps, 1, &step));
    assert_float_equal(step.p99_ms, 100, 0.2); /* of the rounds with a reply */
}

static void test_rounds_without_steps_have_no_sum(void **state) {
    assert_null(steps_sum(all, 3));
}

static void test_a_round_that_ended_early_does_not_end_the_sum(void **state) {
    struct step_times step;

    add(1, "POST /pay", 5, 0, 1);
    steps = steps_sum(all, 3);
    assert_true(steps_get(steps, 0, &step));
    assert_int_equal(step.sent, 5);
}

#define STEP(name, more)                                                                           \
    "[{\"name\": " name ", \"line\": 1, \"p50_ms\": null, \"p99_ms\": null, \"max_ms\": 1" more "}]"

static void test_steps_of_a_file_are_checked(void **state) {
    static const struct {
        const char *text;
        bool is_good;
    } cases[] = {{STEP("\"a\"", ", \"sent\": 1, \"no_reply\": 1"), true},
                 {"[]", true},
                 {STEP("\"a\"", ", \"sent\": 1, \"no_reply\": 2"), false},
                 {STEP("\"a\"", ", \"sent\": -1, \"no_reply\": -1"), false},
                 {STEP("7", ", \"sent\": 1, \"no_reply\": 0"), false},
                 {"[{\"name\": \"a\", \"line\": 1, \"sent\": 1, \"no_reply\": 0}]", false},
                 {"{}", false},
                 {"[1]", false}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        json_decref(steps);
        steps = json_loads(cases[i].text, 0, NULL);
        assert_non_null(steps);
        if ((steps_check(steps, &why) == 0) != cases[i].is_good)
            fail_msg("%s: %s", cases[i].is_good ? "refused" : "taken", cases[i].text);
    }
}

static void test_names_of_a_file_become_printable(void **state) {
    struct step_times step;

    steps = json_loads(STEP("\"a\\u001bb\"", ", \"sent\": 1, \"no_reply\": 1"), 0, NULL);
    assert_int_equal(steps_check(steps, &why), 0);
    assert_true(steps_get(steps, 0, &step));
    assert_string_equal(step.name, "a?b");
}

#define STEPS(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        STEPS(test_a_step_without_a_reply_has_no_times),
        STEPS(test_rounds_add_up_to_sums_and_medians),
        STEPS(test_rounds_without_steps_have_no_sum),
        STEPS(test_a_round_that_ended_early_does_not_end_the_sum),
        STEPS(test_steps_of_a_file_are_checked),
        STEPS(test_names_of_a_file_become_printable),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
