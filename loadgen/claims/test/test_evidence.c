/* What is read out of a summary: whether the faults struck, and whether a chain is told. */
#include "evidence.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

#define SUMMARY(firings, counterexamples)                                                          \
    "{\"strategies\": [{\"strategy\": \"none\", \"verdict\": \"VIOLATED\", \"expected\": "         \
    "\"TWIN\", \"as_expected\": true, \"sentence\": \"none: sold 2 of 1 units\", "                 \
    "\"anomalies\": [{\"name\": \"TWIN\", \"count\": 1}], \"firings\": [" firings                  \
    "], \"counterexamples\": [" counterexamples "]}], \"thresholds\": [{\"text\": \"busy<5\", "    \
    "\"measured\": 3, \"holds\": true}]}"
#define STRUCK                                                                                     \
    "{\"armed\": \"after-read:crash@1\", \"in_time\": 1, \"first\": {\"who\": \"inventory-1\", "   \
    "\"at_ms\": 250}}"
#define NOT_STRUCK "{\"armed\": \"redis:kill@2s\", \"in_time\": 0, \"first\": null}"
#define PAIR       "{\"has_chain\": true, \"order_ids\": [\"a\", \"b\"], \"lines\": [\"A and B\"]}"
#define CHAIN                                                                                      \
    "{\"has_chain\": true, \"order_ids\": [\"a\", \"b\", \"c\"], \"lines\": [\"A, B and C\"]}"

static json_t *parse(const char *text) {
    json_t *json = json_loads(text, 0, NULL);

    assert_non_null(json);
    return json;
}

static void test_each_fault_must_have_struck(void **state) {
    static const struct {
        const char *text;
        bool has_struck;
    } cases[] = {{SUMMARY("", ""), true},
                 {SUMMARY(STRUCK, ""), true},
                 {SUMMARY(NOT_STRUCK, ""), false},
                 {SUMMARY(STRUCK ", " NOT_STRUCK, ""), false}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        json_t *summary = parse(cases[i].text);

        assert_int_equal(evidence_has_struck(summary), cases[i].has_struck);
        json_decref(summary);
    }
}

static void test_a_chain_has_three_orders(void **state) {
    json_t *pair = parse(SUMMARY("", PAIR)), *chain = parse(SUMMARY("", PAIR ", " CHAIN));

    assert_false(evidence_has_chain(pair));
    assert_true(evidence_has_chain(chain));
    json_decref(pair);
    json_decref(chain);
}

static void test_verdict_example_faults_and_thresholds_are_printed(void **state) {
    json_t *summary = parse(SUMMARY(STRUCK ", " NOT_STRUCK, PAIR));
    char *text = NULL;
    size_t size;
    FILE *to = open_memstream(&text, &size);

    assert_non_null(to);
    evidence_print(summary, 2, 80, to);
    assert_int_equal(fclose(to), 0);
    assert_string_equal(text, "  VIOLATED TWIN 1: none: sold 2 of 1 units\n"
                              "    A and B\n"
                              "  after-read:crash@1 struck at 0.250 s: inventory-1\n"
                              "  redis:kill@2s did not strike before the end of the sale\n"
                              "  busy<5 holds: 3\n");
    free(text);
    json_decref(summary);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_fault_must_have_struck),
        cmocka_unit_test(test_a_chain_has_three_orders),
        cmocka_unit_test(test_verdict_example_faults_and_thresholds_are_printed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
