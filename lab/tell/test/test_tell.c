/* Tests the texts of a schedule for people and for programs. */
#include "tell.h"
#include "test.h"

#include "fiber.h"
#include "trial.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static struct exploration it;
static struct model_world world;
static struct view *view;
static struct tell tell;

/* The text that was written to `file`. It stays valid until the next one. */
static char *text;
static size_t size;
static FILE *file;

static FILE *open_text(void) {
    free(text);
    text = NULL;
    file = open_memstream(&text, &size);
    assert_non_null(file);
    return file;
}

static const char *written(void) {
    assert_int_equal(fclose(file), 0);
    return text;
}

static int set_up(void **state) {
    view = view_make();
    assert_non_null(view);
    return 0;
}

static int tear_down(void **state) {
    tell_free(&tell);
    view_free(view);
    free(text);
    text = NULL;
    fiber_cleanup();
    return 0;
}

static void explore_spec(const char *spec, int orders) {
    size_t at;

    it = (struct exploration){
        .setup = setup_of(spec, orders, 2), .preemptions = 3, .judge = view_judge, .data = view};
    tell = (struct tell){.spec = spec,
                         .options = "",
                         .replay = "",
                         .command = "lab explore this",
                         .explored = &it,
                         .seconds = 0.5};
    assert_int_equal(explore(&it), 0);
    if (it.shortest.count > 0)
        assert_int_equal(tell_schedule(&tell, &world, view, &at), REPLAY_ENDED);
}

static void test_a_right_strategy_is_told_in_three_lines(void **state) {
    char expected[400];

    explore_spec("atomic", 3);
    tell_text(&tell, open_text());
    (void)snprintf(expected, sizeof expected,
                   "atomic: 3 orders on 2 instances, stock 2, 3 preemptions, no faults\n"
                   "%" PRIu64 " schedules: complete, none violated; %" PRIu64 " run, %" PRIu64
                   " states, 0.50 s, %" PRIu64 " schedules/s\n"
                   "It holds in every schedule within this bound.\n",
                   it.schedules, it.runs, it.states, 2 * it.schedules);
    assert_string_equal(written(), expected);
}

static void test_a_violation_is_told_step_by_step(void **state) {
    explore_spec("none", 2);
    tell_text(&tell, open_text());
    assert_non_null(strstr(
        written(),
        "\nOVERSELL TWIN: more units were sold than there were\n"
        "  3 units were sold of a stock of 2, so some were sold twice. B and A both sold unit 2: a\n"
        "  contradiction.\n"
        "\nThe shortest schedule that shows it, 6 moves:\n"
        " step      ms  A B C  left  sold\n"
        "    1       0  A         2     0  A, at inventory-1, reads the stock: 2 left\n"
        "    2       0  | B       2     0  B, at inventory-2, reads the stock: 2 left\n"
        "    3       0  | B       1     1  B writes 1, and sells unit 2\n"
        "    4       0  | B       1     1  B is told: sold, unit 2 is yours\n"
        "    5       0  A         1     2  A writes 1, and sells unit 2\n"
        "    6       0  A         1     2  A is told: sold, unit 2 is yours\n"
        "    7       0      C     1     2  C, at inventory-1, reads the stock: 1 left\n"));
    assert_non_null(strstr(text, "\nAgain: lab explore this --replay ABBACC\n"));
}

static void test_a_batch_is_told_by_its_sender(void **state) {
    size_t at;

    explore_spec("batched", 3);
    it.setup.instances = 1;
    it.setup.stock = 3;
    assert_int_equal(schedule_read(&it.shortest, "ABCABC"), 0);
    tell.replay = "ABCABC";
    assert_int_equal(tell_schedule(&tell, &world, view, &at), REPLAY_ENDED);
    tell_text(&tell, open_text());
    assert_non_null(strstr(
        written(),
        "    1       0  A           3     0  A, at inventory-1, sends a statement for itself\n"
        "    2       0  | B         3     0  B, at inventory-1, waits until A's statement is back\n"
        "    3       0  | | C       3     0  C, at inventory-1, waits until A's statement is back\n"
        "    4       0  A | |       2     1  A writes 2, and sells unit 3\n"
        "    5       0  | B |       2     1  B sends one statement for B and C\n"
        "    6       0  A | |       2     1  A is told: sold, unit 3 is yours\n"));
    assert_non_null(
        strstr(text, "  B sells to B and C with one statement: unit 2 to B, unit 1 to C\n"));
    assert_non_null(strstr(text, "  C hears the result of its statement\n"));
    assert_non_null(strstr(text, "  C is told: sold, unit 1 is yours\n"));
}

static void test_a_jump_of_the_clock_has_a_line(void **state) {
    explore_spec("none,work=2ms", 2);
    tell_text(&tell, open_text());
    assert_non_null(strstr(written(), "       2  - - -     2     0  2 ms pass\n"));
}

static json_t *as_json(void) {
    json_t *json;

    assert_int_equal(tell_json(&tell, open_text()), 0);
    json = json_loads(written(), 0, NULL);
    assert_non_null(json);
    return json;
}

static void test_json_has_the_steps(void **state) {
    static const char *const letters[] = {"A", "B", "C"};
    json_t *whole, *json, *step;

    explore_spec("none,work=2ms", 2);
    whole = as_json();
    json = json_object_get(whole, "violation");
    assert_string_equal(json_string_value(json_object_get(json, "id")), tell.id);
    json = json_object_get(json, "steps");
    assert_int_equal(json_array_size(json), tell.count);
    for (size_t i = 0; i < tell.count; i++) {
        const int actor = tell.steps[i].actor;

        step = json_array_get(json, i);
        assert_int_equal(json_integer_value(json_object_get(step, "number")), i + 1);
        assert_string_equal(json_string_value(json_object_get(step, "actor")),
                            actor == REPLAY_CLOCK ? "clock" : letters[actor]);
        assert_int_equal(json_array_size(json_object_get(step, "stock")), 1);
        assert_int_equal(strlen(json_string_value(json_object_get(step, "instance"))) > 0,
                         actor >= 0);
    }
    json_decref(whole);
}

static void test_json_of_a_right_strategy_has_null(void **state) {
    json_t *json;

    explore_spec("atomic", 2);
    json = as_json();
    assert_true(json_is_null(json_object_get(json, "violation")));
    assert_true(json_is_true(json_object_get(json, "complete")));
    assert_int_equal(json_integer_value(json_object_get(json, "schedules")), it.schedules);
    json_decref(json);
}

static void test_a_page_keeps_markup_out(void **state) {
    const char *data;

    explore_spec("none", 2);
    tell.spec = "</script><b>&\"";
    assert_int_equal(tell_page(&tell, open_text()), 0);
    data = strstr(written(), "id=\"explored\">");
    assert_non_null(data);
    assert_null(strstr(text, "</script><b>"));
    assert_non_null(strstr(data, "\\u003c/script\\u003e"));
    assert_non_null(strstr(text, "<h1>&#60;/script&#62;&#60;b&#62;&#38;&#34;: OVERSELL TWIN</h1>"));
    assert_non_null(strstr(text, "<tr><td>1<td>0 ms<td>A<td>inventory-1<td>reads the stock: 2 "
                                 "left<td>2<td>0\n"));
}

static const char *step_through(const char *keys) {
    FILE *from = fmemopen((void *)(uintptr_t)keys, strlen(keys), "r");

    assert_non_null(from);
    tell_steps(&tell, from, open_text());
    fclose(from);
    return written();
}

static int count(const char *in, const char *what) {
    int found = 0;

    for (; (in = strstr(in, what)) != NULL; in += strlen(what))
        found++;
    return found;
}

static void test_steps_go_forward_and_back_and_end(void **state) {
    explore_spec("none", 2);
    assert_int_equal(count(step_through("q\n"), "Enter: on"), 1);
    assert_int_equal(count(step_through("b\nb\n"), "step 1 of"), 3);
    assert_int_equal(count(step_through("\n\nb\n"), "step 2 of"), 2);
    assert_int_equal(count(step_through("\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n"), "Enter: on"),
                     tell.count);
}

static enum outcome never_ends(struct sale *sale) {
    struct stock_row row;

    while (store_read_stock(sale, 0, &row) == OUTCOME_OK)
        ;
    return OUTCOME_BUSY;
}

static void test_an_order_that_does_not_end_is_a_violation(void **state) {
    static const struct strategy endless = {.name = "endless", .sell = never_ends};
    size_t at;

    explore_spec("none", 1);
    it.setup.strategy = &endless;
    assert_int_equal(explore(&it), 0);
    assert_int_equal(tell_schedule(&tell, &world, view, &at), REPLAY_ENDLESS);
    assert_int_equal(tell.anomalies, 1U << VIEW_ENDLESS);
    assert_string_equal(tell.summary, "After 400 steps A has not ended.");
    tell_text(&tell, open_text());
    assert_non_null(strstr(written(), "Not complete: stopped at an order that does not end."));
    assert_non_null(strstr(text, "\nENDLESS: an order does not end\n"));
}

static void test_numbers_are_grouped(void **state) {
    char number[TELL_NUMBER];

    tell_number(0, number);
    assert_string_equal(number, "0");
    tell_number(999, number);
    assert_string_equal(number, "999");
    tell_number(1234567, number);
    assert_string_equal(number, "1,234,567");
    tell_number(UINT64_MAX, number);
    assert_string_equal(number, "18,446,744,073,709,551,615");
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(test_a_right_strategy_is_told_in_three_lines),
        TEST(test_a_violation_is_told_step_by_step),
        TEST(test_a_batch_is_told_by_its_sender),
        TEST(test_a_jump_of_the_clock_has_a_line),
        TEST(test_json_has_the_steps),
        TEST(test_json_of_a_right_strategy_has_null),
        TEST(test_a_page_keeps_markup_out),
        TEST(test_steps_go_forward_and_back_and_end),
        TEST(test_an_order_that_does_not_end_is_a_violation),
        TEST(test_numbers_are_grouped),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
