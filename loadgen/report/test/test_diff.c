/* Two summaries side by side: matching, the verdict "worse", and the printed text. */
#include "diff.h"
#include "test.h"

#include "report.h"
#include "table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SETTINGS                                                                                   \
    "'settings': {'rate': 800, 'seed': 1, 'stock': 1000, 'target': 'http://a', 'stages': "         \
    "[{'duration_ms': 1000.0, 'from_rate': 800.0, 'to_rate': 800.0}]}"

static json_t *a, *b, *env_a, *env_b, *diff;
static struct limit_outcomes limits;

/* JSON with ' for ". */
static json_t *read_json(const char *text) {
    char quoted[4096];
    json_error_t error;
    json_t *json;

    snprintf(quoted, sizeof quoted, "%s", text);
    for (char *at = quoted; *at != '\0'; at++)
        if (*at == '\'')
            *at = '"';
    json = json_loads(quoted, 0, &error);
    if (json == NULL)
        fail_msg("%s: %s", error.text, quoted);
    return json;
}

static int tear_down(void **state) {
    json_decref(a);
    json_decref(b);
    json_decref(env_a);
    json_decref(env_b);
    json_decref(diff);
    a = b = env_a = env_b = diff = NULL;
    return 0;
}

static void compare(const char *text_a, const char *text_b) {
    (void)tear_down(NULL);
    a = read_json(text_a);
    b = read_json(text_b);
    diff = diff_make(a, b, NULL, NULL);
    assert_non_null(diff);
}

#define SHOP(version, bases, customers)                                                            \
    "{'strategies': [], 'settings': {'requests': " customers ", 'stock': 5}, 'shop': {'name': "    \
    "'V', 'version': '" version "', 'config': 'c', 'file': 'f', 'bases': [" bases                  \
    "], 'customers': " customers "}}"

#define ONE(verdict, anomalies)                                                                    \
    "{'strategies': [{'strategy': 'x', 'verdict': '" verdict "', 'anomalies': [" anomalies "]}]}"
#define TWINS(count) "{'name': 'TWIN', 'count': " count "}"
#define LEAKS(count) "{'name': 'LEAK', 'count': " count "}"

/* A member of a strategy. */
static json_t *found(size_t i, const char *key) {
    return json_object_get(json_array_get(json_object_get(diff, "strategies"), i), key);
}

static void assert_json(const json_t *json, const char *expected) {
    json_t *wanted = read_json(expected);
    char *text = json_dumps(json, JSON_ENCODE_ANY);

    if (!json_equal(json, wanted))
        fail_msg("%s\ninstead of %s", text, expected);
    free(text);
    json_decref(wanted);
}

static void test_a_worse_verdict_or_a_new_anomaly_is_worse(void **state) {
    static const struct {
        const char *a, *b;
        bool is_worse;
    } cases[] = {
        {ONE("VALID", ""), ONE("VALID", ""), false},
        {ONE("VALID", ""), ONE("INCONCLUSIVE", ""), true},
        {ONE("VALID", ""), ONE("VIOLATED", TWINS("1")), true},
        {ONE("INCONCLUSIVE", ""), ONE("VALID", ""), false},
        {ONE("INCONCLUSIVE", ""), ONE("VIOLATED", TWINS("1")), true},
        {ONE("VIOLATED", TWINS("9")), ONE("VALID", ""), false},
        {ONE("VIOLATED", TWINS("9")), ONE("INCONCLUSIVE", ""), false},
        {ONE("VIOLATED", TWINS("1")), ONE("VIOLATED", TWINS("9")), false},
        {ONE("VIOLATED", TWINS("1")), ONE("VIOLATED", TWINS("1") "," LEAKS("1")), true},
        {ONE("VIOLATED", TWINS("1")), ONE("VIOLATED", LEAKS("1")), true},
        {ONE("VIOLATED", TWINS("1") "," LEAKS("1")), ONE("VIOLATED", LEAKS("1")), false},
        {ONE("not judged", ""), ONE("VIOLATED", TWINS("1")), false},
        {ONE("VALID", ""), ONE("not judged", ""), false},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        compare(cases[i].a, cases[i].b);
        if (json_is_true(found(0, "is_worse")) != cases[i].is_worse ||
            json_is_true(json_object_get(diff, "is_worse")) != cases[i].is_worse)
            fail_msg("%s to %s", cases[i].a, cases[i].b);
    }
}

static void test_every_anomaly_of_either_is_counted_once(void **state) {
    compare(ONE("VIOLATED", TWINS("3") "," LEAKS("1")),
            ONE("VIOLATED", "{'name': 'GHOST', 'count': 2}," TWINS("5")));
    assert_json(found(0, "anomaly_counts"),
                "[{'name': 'TWIN', 'a': 3, 'b': 5}, {'name': 'LEAK', 'a': 1, 'b': 0}, "
                "{'name': 'GHOST', 'a': 0, 'b': 2}]");
}

static void test_shops_that_differ_are_named(void **state) {
    compare(SHOP("1", "'x'", "10"), SHOP("1", "'x'", "10"));
    assert_json(json_object_get(diff, "unequal"), "[]");
    compare(SHOP("1", "'x'", "10"), SHOP("2", "'x', 'y'", "20"));
    assert_json(json_object_get(diff, "unequal"),
                "[{'setting': 'shop version', 'a': '1', 'b': '2'}, {'setting': 'shop bases', "
                "'a': ['x'], 'b': ['x', 'y']}, {'setting': 'customers', 'a': 10, 'b': 20}]");
    compare(ONE("VALID", ""), SHOP("2", "'x'", "20"));
    assert_json(json_object_get(diff, "unequal"), "[]");
}

static void test_medians_are_compared_where_there_are_any(void **state) {
    compare("{'strategies': [{'strategy': 'x', 'latency_ms': {'p50': 7, 'p99': 70}, "
            "'achieved_rate': 700}]}",
            "{'strategies': [{'strategy': 'x', 'latency_ms': {'p50': 1, 'p99': 1}, "
            "'achieved_rate': 1, 'spread': {'p50_ms': {'median': 14}, 'p99_ms': {'median': 35}, "
            "'achieved_rate': {'median': 350}}}]}");
    assert_json(found(0, "p50_ms"), "{'a': 7, 'b': 14, 'ratio': 2.0}");
    assert_json(found(0, "p99_ms"), "{'a': 70, 'b': 35, 'ratio': 0.5}");
    assert_json(found(0, "rate"), "{'a': 700, 'b': 350, 'ratio': 0.5}");
}

static void test_what_is_not_told_has_no_ratio(void **state) {
    compare("{'strategies': [{'strategy': 'x', 'work': null, 'achieved_rate': 0}]}",
            "{'strategies': [{'strategy': 'x', 'work': {'postgres_per_order': 2}, "
            "'achieved_rate': 5}]}");
    assert_json(found(0, "postgres_per_order"), "{'a': null, 'b': 2, 'ratio': null}");
    assert_json(found(0, "rate"), "{'a': 0, 'b': 5, 'ratio': null}"); /* by zero */
    assert_json(found(0, "p50_ms"), "{'a': null, 'b': null, 'ratio': null}");
}

static void test_strategies_are_matched_by_their_text(void **state) {
    compare("{'strategies': [{'strategy': 'x', 'sold': 1}, {'strategy': 'only', 'sold': 2}, "
            "{'strategy': 'x', 'sold': 3}]}",
            "{'strategies': [{'strategy': 'x,ttl=1s', 'sold': 4}, {'strategy': 'x', 'sold': 5}, "
            "{'strategy': 'x', 'sold': 6}]}");
    assert_int_equal(json_array_size(json_object_get(diff, "strategies")), 2);
    assert_json(found(0, "sold"), "{'a': 1, 'b': 5}");
    assert_json(found(1, "sold"), "{'a': 3, 'b': 6}");
    assert_json(json_object_get(diff, "only_a"), "['only']");
    assert_json(json_object_get(diff, "only_b"), "['x,ttl=1s']");
}

/* Asserts the settings in `unequal`. */
static void assert_unequal(const char *names) {
    const json_t *unequal = json_object_get(diff, "unequal");
    char listed[256] = "";

    for (size_t i = 0; i < json_array_size(unequal); i++)
        snprintf(listed + strlen(listed), sizeof listed - strlen(listed), "%s ",
                 json_string_value(json_object_get(json_array_get(unequal, i), "setting")));
    assert_string_equal(listed, names);
}

static void test_other_conditions_are_named(void **state) {
    compare("{" SETTINGS "}", "{" SETTINGS "}");
    assert_unequal("");
    json_decref(diff);
    env_a = read_json("{'machine': {'cpu': 'EPYC', 'cores': 2}}");
    env_b = read_json("{'machine': {'cpu': 'EPYC', 'cores': 4}}");
    (void)json_object_set_new(json_object_get(b, "settings"), "rate", json_integer(400));
    (void)json_object_set_new(json_object_get(b, "settings"), "target", json_string("http://b"));
    diff = diff_make(a, b, env_a, env_b);
    assert_unequal("rate cores ");
}

#define STAGE(ms, from, to)   "{'duration_ms': " ms ", 'from_rate': " from ", 'to_rate': " to "}"
#define SETTINGS_OF(settings) "{'settings': {" settings "}}"
#define LOAD(rate, requests, stages)                                                               \
    SETTINGS_OF("'rate': " rate ", 'requests': " requests ", 'stages': [" stages "]")

static void test_what_one_flag_changed_is_named_once(void **state) {
#define BASE   LOAD("800", "8000", STAGE("10000", "800", "800"))
#define STAGED LOAD("800", "4000", STAGE("10000", "0", "800"))
    static const char *const cases[][3] = {
        {BASE, LOAD("400", "4000", STAGE("10000", "400", "400")), "rate "},
        {BASE, LOAD("400", "8000", STAGE("20000", "400", "400")), "rate "},
        {BASE, LOAD("800", "4000", STAGE("5000", "800", "800")), "requests "},
        {BASE, LOAD("400", "2000", STAGE("5000", "400", "400")), "rate requests "},
        {BASE, STAGED, "stages "},
        {STAGED, LOAD("800", "8000", STAGE("20000", "0", "800")), "stages "},
        {STAGED, LOAD("800", "8000", STAGE("10000", "0", "800")), "requests "},
        {SETTINGS_OF("'rate': 800"), SETTINGS_OF("'rate': 400"), "rate "},
        {SETTINGS_OF("'ttl': null"), SETTINGS_OF("'ttl': '2s'"), ""}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        compare(cases[i][0], cases[i][1]);
        assert_unequal(cases[i][2]);
    }
}

static void assert_prints(const char *expected) {
    char *text = NULL;
    size_t size;
    FILE *to = open_memstream(&text, &size);

    assert_non_null(to);
    diff_print(diff, "results/a", "results/b", &limits, to);
    assert_int_equal(fclose(to), 0);
    if (strstr(text, expected) == NULL)
        fail_msg("not printed: %s\n%s", expected, text);
    assert_null(strchr(text, '\033'));
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n"))
        assert_in_range(table_width(line), 0, 80);
    free(text);
}

static void test_the_text_says_what_changed(void **state) {
    compare("{'started_at': '2026-11-21T08:00:00Z', 'name': 'demo', " SETTINGS ", 'strategies': "
            "[{'strategy': 'x', 'verdict': 'VALID', 'sold': 800, 'anomalies': [], 'latency_ms': "
            "{'p50': 4, 'p99': 10}, 'achieved_rate': 800}, {'strategy': 'y'}]}",
            "{'settings': {'stages': [{'duration_ms': 5000, 'from_rate': 0, 'to_rate': 800}, "
            "{'duration_ms': 20000, 'from_rate': 800, 'to_rate': 800}]}, 'strategies': "
            "[{'strategy': 'x', 'verdict': 'VIOLATED', 'sold': 801, 'anomalies': [" TWINS(
                "7") "], 'latency_ms': {'p50': 1, 'p99': 1000}, 'achieved_rate': 200}]}");
    assert_prints("A: results/a, of 2026-11-21T08:00:00Z, \"demo\"\nB: results/b, of -\n");
    assert_prints("  stages: 1s:800 → 5s:0..800,20s:800\n");
    assert_prints("x         A    VALID      800          0  4.0 ms  10 ms    800");
    assert_prints("          B    VIOLATED   801          7  1.0 ms  1.0 s    200");
    assert_prints("          B/A  worse                       ×0.25   ×100  ×0.25");
    assert_prints("x: TWIN 0 → 7 (appeared)\n");
    assert_prints("only in A: y\n");
    assert_prints("exit code 1: a verdict became worse, or an anomaly appeared\n");
}

static void test_bases_are_printed_as_a_list(void **state) {
    compare(SHOP("", "'http://a'", "10"), SHOP("2", "'http://a', 'http://b'", "10"));
    assert_prints("  shop version: \"\" → \"2\"\n"
                  "  shop bases: [\"http://a\"] → [\"http://a\",\"http://b\"]\n");
}

#define NONE "no verdict became worse"

/* With two limits; the second may be missed. */
static void test_a_missed_limit_ends_with_99_unless_a_verdict_became_worse(void **state) {
    static struct threshold limit = {.text = "twin==0", .metric = "twin"};
    struct limit_outcome items[] = {
        {.limit = &limit, .strategy = "x", .a = (double)NAN, .holds = true},
        {.limit = &limit, .strategy = "x", .a = (double)NAN, .b = 3}};

    limits = (struct limit_outcomes){.count = 2, .items = items};
    compare(ONE("VALID", ""), ONE("VALID", ""));
    assert_prints("limits\n  ✓ ok x, twin==0: B 0; limit 0\n"
                  "  ✗ MISSED x, twin==0: B 3; limit 0, missed by 3\n\n");
    assert_prints("exit code 99: a limit was missed; " NONE);
    compare(ONE("VALID", ""), ONE("VIOLATED", TWINS("3")));
    assert_prints("exit code 1: a verdict became worse");
    compare(ONE("VALID", ""), ONE("VALID", ""));
    items[1] = items[0];
    assert_prints("exit code 0: " NONE ", no anomaly appeared, and every limit was");
    limits = (struct limit_outcomes){.count = 0};
    assert_prints("exit code 0: " NONE ", and no anomaly appeared\n");
}

static void assert_markdown(const char *expected) {
    char *text = NULL;
    size_t size;
    FILE *to = open_memstream(&text, &size);

    assert_non_null(to);
    diff_print_markdown(diff, "results/a", "results/`b`", &limits, to);
    assert_int_equal(fclose(to), 0);
    if (strstr(text, expected) == NULL)
        fail_msg("not printed: %s\n%s", expected, text);
    free(text);
}

static void test_a_pull_request_sees_what_changed(void **state) {
    static struct threshold limit = {.text = "twin==0", .metric = "twin"};
    struct limit_outcome missed = {.limit = &limit, .strategy = "a|b", .a = (double)NAN, .b = 3};

    limits = (struct limit_outcomes){.count = 1, .items = &missed};
    compare(
        "{'started_at': '2026-11-21T08:00:00Z', 'settings': {'seed': 1}, 'strategies': "
        "[{'strategy': 'a|b', 'verdict': 'VALID', 'sold': 800, 'anomalies': [], 'latency_ms': "
        "{'p50': 4, 'p99': 10}, 'achieved_rate': 800}, {'strategy': '<i>'}]}",
        "{'settings': {'seed': 2}, 'name': '@you', 'strategies': [{'strategy': 'a|b', "
        "'verdict': '<b>', 'sold': 801, 'anomalies': [], 'latency_ms': {'p50': 1, 'p99': 1000}, "
        "'achieved_rate': 200}]}");
    assert_markdown("### ❌ a limit was missed; " NONE);
    assert_markdown("(loadgen diff ended with 99)\n\n| strategy | verdict |");
    assert_markdown("| `a\\|b` | `VALID` → `<b>` | 800 → 801 | 0 → 0 | 4.0 ms → 1.0 ms (×0.25) | "
                    "10 ms → 1.0 s (×100) | 800 → 200 (×0.25) | - → - | - → - |\n");
    assert_markdown("| `twin==0` | `a\\|b` | ❌ missed | B 3; limit 0, missed by 3 |\n");
    assert_markdown("- `seed`: `1` → `2`\n");
    assert_markdown("- A: `results/a, of 2026-11-21T08:00:00Z`\n");
    assert_markdown("- B: `` results/`b`, of -, @you ``\n");
    assert_markdown("- only in A: `<i>`\n");
    limits = (struct limit_outcomes){.count = 0};
    assert_markdown("### ✅ " NONE);
}

static void test_odd_summaries_are_compared_all_the_same(void **state) {
    static const char *const odd[] = {
        "{}",
        "{'strategies': 7, 'settings': [], 'name': 1}",
        "{'strategies': [1, null, {}, {'strategy': 5, 'verdict': 5, 'anomalies': [3, {}]}]}",
        ("{'strategies': [{'strategy': 'x', 'verdict': null, 'anomalies': {'name': 1}, "
         "'latency_ms': 3, 'spread': [], 'work': 'x', 'sold': 'many'}]}"),
    };
    const size_t count = sizeof odd / sizeof odd[0];

    for (size_t i = 0; i < count * count; i++) {
        compare(odd[i / count], odd[i % count]);
        assert_false(json_is_true(json_object_get(diff, "is_worse")));
        assert_prints("exit code 0");
    }
}

#define COMPARED(test) cmocka_unit_test_teardown(test, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        COMPARED(test_a_worse_verdict_or_a_new_anomaly_is_worse),
        COMPARED(test_every_anomaly_of_either_is_counted_once),
        COMPARED(test_shops_that_differ_are_named),
        COMPARED(test_medians_are_compared_where_there_are_any),
        COMPARED(test_what_is_not_told_has_no_ratio),
        COMPARED(test_strategies_are_matched_by_their_text),
        COMPARED(test_other_conditions_are_named),
        COMPARED(test_what_one_flag_changed_is_named_once),
        COMPARED(test_the_text_says_what_changed),
        COMPARED(test_bases_are_printed_as_a_list),
        COMPARED(test_a_missed_limit_ends_with_99_unless_a_verdict_became_worse),
        COMPARED(test_a_pull_request_sees_what_changed),
        COMPARED(test_odd_summaries_are_compared_all_the_same),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
