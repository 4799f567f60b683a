/* Reading summary.json: any other text is refused, with a reason. */
#include "summary_read.h"
#include "test.h"

#include "own_folder.h"

#include <stdio.h>
#include <string.h>

static char folder[200];
static struct why why;

static void write_file(const char *name, const char *text) {
    char path[232];
    FILE *to;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    to = fopen(path, "w");
    assert_non_null(to);
    assert_true(fputs(text, to) >= 0);
    assert_int_equal(fclose(to), 0);
}

static int set_up(void **state) {
    own_folder_make(folder, sizeof folder, "sale-summary");
    return 0;
}

static int tear_down(void **state) {
    own_folder_remove(folder);
    return 0;
}

static void test_a_text_that_is_no_summary_is_refused(void **state) {
    static const struct {
        const char *text, *why;
    } cases[] = {{"", "is not JSON"},
                 {"{\"strategies\": [", "is not JSON"},
                 {"{\"strategies\": [], \"strategies\": []}", "duplicate object key"},
                 {"[]", "is not the summary of a run"},
                 {"{\"strategies\": 1}", "is not the summary of a run"}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_null(summary_parse(cases[i].text, strlen(cases[i].text), &why));
        assert_non_null(strstr(why.text, cases[i].why));
    }
}

/* This many levels, and a string with a quote and brackets, which do not count. */
static json_t *parse_nested(int depth) {
    char text[512] = "{\"strategies\": [\"[[[[\\\"[[[[\"", *to = text + strlen(text);

    *to++ = ',';
    for (int i = 2; i < depth; i++)
        *to++ = '[';
    for (int i = 2; i < depth; i++)
        *to++ = ']';
    strcpy(to, "]}");
    return summary_parse(text, strlen(text), &why);
}

static void test_what_nests_deeply_is_not_parsed(void **state) {
    json_t *json = parse_nested(32);

    assert_non_null(json);
    json_decref(json);
    assert_null(parse_nested(33));
    assert_string_equal(why.text, "is not JSON: line 1: nested too deeply: over 32 levels");
}

static void test_a_folder_has_a_summary_or_it_is_said_why_not(void **state) {
    json_t *json;

    assert_null(summary_read(folder, &why));
    assert_non_null(
        strstr(why.text, "has no summary.json: name the folder of a run that has ended"));
    write_file("summary.json", "{}");
    assert_null(summary_read(folder, &why));
    assert_non_null(strstr(why.text, "/summary.json is not the summary of a run"));
    write_file("summary.json", "{\n\n\"");
    assert_null(summary_read(folder, &why));
    assert_non_null(strstr(why.text, "/summary.json is not readable JSON: line 3: "));
    write_file("summary.json", "{\"strategies\": []}");
    json = summary_read(folder, &why);
    assert_non_null(json);
    json_decref(json);
}

static void test_an_environment_may_be_missing_but_not_broken(void **state) {
    assert_null(summary_read_environment(folder, &why));
    assert_string_equal(why.text, "");
    write_file("env.json", "{");
    assert_null(summary_read_environment(folder, &why));
    assert_non_null(strstr(why.text, "/env.json is not readable JSON: line 1: "));
}

static void test_what_it_says_is_found_and_what_it_does_not_is_empty(void **state) {
    static const char text[] =
        "{\"strategies\": [{\"strategy\": \"none\", \"anomalies\": [7, {\"name\": \"TWIN\", "
        "\"count\": 3}]}, {\"strategy\": 4}], \"name\": \"x\"}";
    json_t *json = summary_parse(text, strlen(text), &why);

    assert_non_null(json);
    assert_string_equal(summary_text(json, "name"), "x");
    assert_string_equal(summary_text(json, "command"), "");
    assert_string_equal(summary_given(json, 0), "none");
    assert_string_equal(summary_given(json, 1), "");
    assert_non_null(summary_strategy(json, 1));
    assert_null(summary_strategy(json, 2));
    assert_int_equal(summary_anomaly_count(summary_strategy(json, 0), "TWIN"), 3);
    assert_int_equal(summary_anomaly_count(summary_strategy(json, 0), "LEAK"), 0);
    assert_int_equal(summary_anomaly_count(summary_strategy(json, 1), "TWIN"), 0);
    assert_int_equal(summary_anomaly_count(NULL, "TWIN"), 0);
    json_decref(json);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_text_that_is_no_summary_is_refused),
        cmocka_unit_test(test_what_nests_deeply_is_not_parsed),
        IN_FOLDER(test_a_folder_has_a_summary_or_it_is_said_why_not),
        IN_FOLDER(test_an_environment_may_be_missing_but_not_broken),
        cmocka_unit_test(test_what_it_says_is_found_and_what_it_does_not_is_empty),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
