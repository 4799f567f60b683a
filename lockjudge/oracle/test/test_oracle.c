/* The oracle finds what is planted, and nothing else. */
#include "oracle.h"
#include "planted.h"
#include "test.h"

#include <jansson.h>
#include <stdio.h>

static void test_each_planted_history_gives_its_words(void **state) {
    int bad = 0;

    for (size_t i = 0; planted_at(i) != NULL; i++) {
        struct oracle oracle;
        const int code = planted_judge(planted_at(i), &oracle);

        if (code == 0)
            continue;
        bad++;
        (void)fprintf(stderr, "%s -> code %d, %s:", planted_at(i)->name, code,
                      oracle_verdict_text(oracle.verdict));
        for (unsigned word = 0; word < ORACLE_WORD_COUNT; word++)
            if (oracle.findings[word].count > 0)
                (void)fprintf(stderr, " %s", oracle_word_text((enum oracle_word)word));
        (void)fputc('\n', stderr);
    }
    assert_int_equal(bad, 0);
}

/* A word that nothing is planted for would never be missed. */
static void test_each_word_is_planted(void **state) {
    unsigned words = 1U << ORACLE_STARVED; /* see below */

    for (size_t i = 0; planted_at(i) != NULL; i++)
        words |= planted_at(i)->words;
    assert_int_equal(words, (1U << ORACLE_WORD_COUNT) - 1);
}

static void judge(const char *text, struct oracle *oracle) {
    struct history history = {NULL, 0, 0};

    assert_int_equal(planted_read(text, &history), 0);
    assert_int_equal(oracle_judge(&history, PLANTED_SLACK_MS, oracle), 0);
    history_free(&history);
}

static void test_a_twin_has_its_length_and_its_workers(void **state) {
    struct oracle oracle;
    const struct oracle_finding *twin = &oracle.findings[ORACLE_TWIN_UNAWARE];

    judge("1 0..5 acquire held; 2 2000..2100 acquire held; 1 2300..2301 check held; 2 2400..2401 "
          "check held; 1 2310 told lost",
          &oracle);
    assert_int_equal(twin->length_ns, 200 * 1000000);
    assert_int_equal(twin->worker, 0);
    assert_int_equal(twin->other, 1);
    assert_true(twin->is_told);
    assert_int_equal(oracle.findings[ORACLE_LATE_TOLD].length_ns, 210 * 1000000);
}

static void test_a_waiter_is_starved_by_many_grants_only(void **state) {
    for (size_t grants = ORACLE_PASSED_OVER - 1; grants <= ORACLE_PASSED_OVER; grants++) {
        struct history history = {NULL, 0, 0};
        struct oracle oracle;
        struct history_item item = {.at_ns = 1,
                                    .end_ns = 1000,
                                    .kind = HISTORY_ACQUIRE,
                                    .result = HISTORY_RESULT_BUSY,
                                    .worker = 9,
                                    .ttl_ms = 2000};

        assert_true(history_add(&history, &item) >= 0);
        for (size_t i = 0; i < grants; i++) {
            item = (struct history_item){.at_ns = 10 + (int64_t)i * 4,
                                         .end_ns = 11 + (int64_t)i * 4,
                                         .kind = HISTORY_ACQUIRE,
                                         .result = HISTORY_RESULT_HELD,
                                         .worker = 1,
                                         .ttl_ms = 2000};
            assert_true(history_add(&history, &item) >= 0);
        }
        assert_int_equal(oracle_judge(&history, PLANTED_SLACK_MS, &oracle), 0);
        assert_int_equal(oracle.findings[ORACLE_STARVED].count, grants >= ORACLE_PASSED_OVER);
        history_free(&history);
    }
}

static void test_a_mistake_in_a_planted_text_is_an_error(void **state) {
    static const char *const texts[] = {"1", "1 5 dance", "1 0..5 acquire perhaps", "x 0 check"};

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct history history = {NULL, 0, 0};

        assert_int_equal(planted_read(texts[i], &history), -1);
        history_free(&history);
    }
}

static void test_the_schema_of_a_report_has_each_word_and_each_verdict(void **state) {
    json_error_t error;
    json_t *schema = json_load_file("lockjudge/report/report.schema.json", 0, &error);
    json_t *words, *verdicts;

    assert_non_null(schema);
    assert_int_equal(json_unpack(schema, "{s:{s:{s:{s:{s:o}}}, s:{s:{s:{s:o}}}}}", "$defs",
                                 "finding", "properties", "word", "enum", &words, "row",
                                 "properties", "verdict", "enum", &verdicts),
                     0);
    assert_int_equal(json_array_size(words), ORACLE_WORD_COUNT);
    for (size_t i = 0; i < ORACLE_WORD_COUNT; i++)
        assert_string_equal(json_string_value(json_array_get(words, i)),
                            oracle_word_text((enum oracle_word)i));
    assert_int_equal(json_array_size(verdicts), ORACLE_VERDICT_COUNT);
    for (size_t i = 0; i < ORACLE_VERDICT_COUNT; i++)
        assert_string_equal(json_string_value(json_array_get(verdicts, i)),
                            oracle_verdict_key((enum oracle_verdict)i));
    json_decref(schema);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_planted_history_gives_its_words),
        cmocka_unit_test(test_each_word_is_planted),
        cmocka_unit_test(test_a_twin_has_its_length_and_its_workers),
        cmocka_unit_test(test_a_waiter_is_starved_by_many_grants_only),
        cmocka_unit_test(test_a_mistake_in_a_planted_text_is_an_error),
        cmocka_unit_test(test_the_schema_of_a_report_has_each_word_and_each_verdict),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
