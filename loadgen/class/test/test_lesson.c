/* A request of the page becomes arguments or a reason; only known names and numbers get through. */
#include "lesson.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

#define RUN_REST "\"rate\":800,\"requests\":400,\"stock\":100,\"work_ms\":2,\"fault\":"
#define RUN      "{\"strategies\":[\"none\",\"redis\"]," RUN_REST "\"none\"}"
#define BOUND    "\"orders\":3,\"instances\":2,\"stock\":1,\"preemptions\":0"

static const struct lesson_place place = {"http://127.0.0.1:8000", "results"};
static json_t *table;
static struct lesson lesson;
static struct why why;

static int set_up(void **state) {
    table = json_pack("[{s:s},{s:s},{s:s},{s:i}]", "name", "none", "name", "redis", "name",
                      "redis-ttl", "name", 7);
    return table == NULL;
}

static int tear_down(void **state) {
    json_decref(table);
    return 0;
}

static int read_text(enum lesson_kind kind, const char *text) {
    json_t *asked = json_loads(text, 0, NULL);
    int rc;

    assert_non_null(asked);
    why.text[0] = '\0';
    rc = lesson_read(kind, asked, table, &place, &lesson, &why);
    json_decref(asked);
    return rc;
}

static void expect_words(const char *expected) {
    char text[2048] = "";

    for (size_t i = 0; lesson.words[i] != NULL; i++) {
        strcat(text, i > 0 ? "|" : "");
        strcat(text, lesson.words[i]);
    }
    assert_string_equal(text, expected);
}

static void test_a_run_becomes_arguments(void **state) {
    assert_int_equal(read_text(LESSON_RUN, RUN), 0);
    assert_string_equal(lesson.title, "none,redis");
    expect_words("loadgen|--strategy|none,redis|--rate|800|--requests|400|--stock|100|--work|2ms|"
                 "--dup-rate|0|--late|1s|--target|http://127.0.0.1:8000|--results|results|"
                 "--name|class|--json-progress|--output-format|json");
}

static void test_faults_are_those_of_the_list(void **state) {
    assert_int_equal(read_text(LESSON_RUN, "{\"strategies\":[\"redis\"]," RUN_REST "\"pause\"}"),
                     0);
    expect_words("loadgen|--strategy|redis|--rate|800|--requests|400|--stock|100|--work|2ms|"
                 "--dup-rate|0|--fault|inventory-1/before-write:pause=2s@20|--ttl|1s|--late|1s|"
                 "--target|http://127.0.0.1:8000|--results|results|--name|pause|--json-progress|"
                 "--output-format|json");
    assert_int_equal(read_text(LESSON_RUN, "{\"strategies\":[\"redis\"]," RUN_REST "\"redis\"}"),
                     0);
    assert_string_equal(lesson.words[14], "redis:kill@150ms");
    assert_string_equal(lesson.words[16], "redis:start@300ms");
}

static void test_an_exploration_becomes_arguments(void **state) {
    assert_int_equal(read_text(LESSON_EXPLORE, "{\"strategy\":\"redis-ttl\"," BOUND
                                               ",\"faults\":[\"failover\",\"pause\"]}"),
                     0);
    assert_string_equal(lesson.title, "redis-ttl");
    expect_words(
        "lab|explore|redis-ttl|--json|--choices|--orders|3|--instances|2|--stock|1|--preemptions|0|"
        "--faults|pause,failover");
    assert_int_equal(read_text(LESSON_EXPLORE, "{\"strategy\":\"none\"," BOUND ",\"faults\":[]}"),
                     0);
    expect_words(
        "lab|explore|none|--json|--choices|--orders|3|--instances|2|--stock|1|--preemptions|0|"
        "--faults|none");
}

#define OF(strategies) "{\"strategies\":" strategies "," RUN_REST "\"none\"}"
#define HIT_BY(fault)  "{\"strategies\":[\"redis\"]," RUN_REST fault "}"
#define AT(rate)                                                                                   \
    "{\"strategies\":[\"none\"],\"requests\":61,\"stock\":1,\"work_ms\":0,\"fault\":\"none\","     \
    "\"rate\":" rate "}"
#define EXPLORE(of, faults) "{\"strategy\":\"" of "\"," BOUND faults "}"

/* Strategies must be in the table, faults in the lists, and numbers whole and in range. */
static void test_all_else_is_refused_with_a_reason(void **state) {
    static const char unknown[] = "does not know", few[] = "choose 1 to 6",
                      rate[] = "\"rate\" must be a whole number from 1 to 5000";
    static const struct {
        enum lesson_kind kind;
        const char *asked, *reason;
    } cases[] = {
        {LESSON_RUN, OF("[\"none,redis\"]"), unknown},
        {LESSON_RUN, OF("[\"--help\"]"), unknown},
        {LESSON_RUN, OF("[\"redis,ttl=1s\"]"), unknown},
        {LESSON_RUN, OF("[\"\"]"), unknown},
        {LESSON_RUN, OF("[7]"), unknown},
        {LESSON_RUN, OF("[null]"), unknown},
        {LESSON_RUN, OF("[\"none\",\"x\"]"), unknown},
        {LESSON_RUN, OF("[[\"none\"]]"), unknown},
        {LESSON_RUN, OF("[]"), few},
        {LESSON_RUN, OF("\"none\""), few},
        {LESSON_RUN, OF("[\"none\",\"none\",\"none\",\"none\",\"none\",\"none\",\"none\"]"), few},
        {LESSON_RUN, HIT_BY("\"redis:kill@1s\""), "fault"},
        {LESSON_RUN, HIT_BY("null"), "fault"},
        {LESSON_RUN, AT("0"), rate},
        {LESSON_RUN, AT("-1"), rate},
        {LESSON_RUN, AT("5001"), rate},
        {LESSON_RUN, AT("1.5"), rate},
        {LESSON_RUN, AT("\"800\""), rate},
        {LESSON_RUN, AT("null"), rate},
        {LESSON_RUN, AT("true"), rate},
        {LESSON_RUN, AT("9223372036854775807"), rate},
        {LESSON_RUN, "{}", rate},
        {LESSON_RUN, "[]", rate},
        {LESSON_RUN, AT("1"), "more than 60 s"},
        {LESSON_EXPLORE, EXPLORE("/tmp/x.c", ",\"faults\":[]"), "strategy"},
        {LESSON_EXPLORE, EXPLORE("none", ",\"faults\":\"pause\""), "faults"},
        {LESSON_EXPLORE, EXPLORE("none", ",\"faults\":[\"--page\"]"), "faults"},
        {LESSON_EXPLORE, EXPLORE("none", ",\"faults\":[\"pause\",\"pause\"]"), "faults"},
        {LESSON_EXPLORE, EXPLORE("none", ""), "faults"},
        {LESSON_EXPLORE,
         "{\"strategy\":\"none\",\"orders\":9,\"instances\":2,\"stock\":1,\"preemptions\":0,"
         "\"faults\":[]}",
         "\"orders\" must be a whole number from 1 to 4"}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (read_text(cases[i].kind, cases[i].asked) == 0)
            fail_msg("taken: %s", cases[i].asked);
        if (strstr(why.text, cases[i].reason) == NULL)
            fail_msg("%s: \"%s\", not \"%s\"", cases[i].asked, why.text, cases[i].reason);
    }
}

static void test_what_does_not_fit_is_refused(void **state) {
    static char path[5000];
    const struct lesson_place far = {"http://127.0.0.1:8000", path};
    json_t *asked = json_loads(RUN, 0, NULL);

    memset(path, 'x', sizeof path - 1);
    assert_int_equal(lesson_read(LESSON_RUN, asked, table, &far, &lesson, &why), -1);
    assert_non_null(strstr(why.text, "too long"));
    json_decref(asked);
}

static void test_the_page_learns_what_there_is(void **state) {
    json_t *setup = lesson_setup();

    assert_int_equal(json_integer_value(
                         json_array_get(json_object_get(json_object_get(setup, "run"), "rate"), 2)),
                     800);
    assert_string_equal(json_string_value(json_object_get(
                            json_array_get(json_object_get(setup, "run_faults"), 0), "name")),
                        "none");
    assert_int_equal(json_array_size(json_object_get(setup, "explore_faults")), 5);
    json_decref(setup);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_a_run_becomes_arguments),          TEST(test_faults_are_those_of_the_list),
        TEST(test_an_exploration_becomes_arguments), TEST(test_all_else_is_refused_with_a_reason),
        TEST(test_what_does_not_fit_is_refused),     TEST(test_the_page_learns_what_there_is),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
