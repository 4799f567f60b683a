/* Durations in words. */
#include "duration.h"
#include "test.h"

static void test_durations_are_for_humans(void **state) {
    static const struct {
        int64_t ns;
        const char *text;
    } cases[] = {{0, "0 ns"},           {999, "999 ns"},       {1000, "1.0 µs"},
                 {850000, "850 µs"},    {999900, "1.0 ms"},    {4100000, "4.1 ms"},
                 {12400000, "12 ms"},   {999400000, "999 ms"}, {999900000, "1.0 s"},
                 {1200000000, "1.2 s"}, {75000000000, "75 s"}};
    char text[DURATION_TEXT];

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_string_equal(duration_text(text, cases[i].ns), cases[i].text);
    assert_string_equal(duration_ms(text, 0.85), "850 µs");
}

static void test_a_range_is_in_the_unit_of_its_median(void **state) {
    static const struct {
        double median, min, max;
        const char *text;
    } cases[] = {{.min = 12, .median = 15, .max = 19, .text = "12–19"},
                 {.min = 0.85, .median = 1.2, .max = 9.96, .text = "0.8–10"},
                 {.min = 0.2, .median = 0.5, .max = 1.2, .text = "200–1200"},
                 {.min = 900, .median = 1000, .max = 1100, .text = "0.9–1.1"},
                 {.min = 0, .median = 0, .max = 0, .text = "0–0"}};
    char text[DURATION_RANGE];

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_string_equal(duration_range(text, cases[i].median, cases[i].min, cases[i].max),
                            cases[i].text);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_durations_are_for_humans),
        cmocka_unit_test(test_a_range_is_in_the_unit_of_its_median),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
