/* Tests the numbers that a check meets a file with. */
#include "values.h"

#include "test.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static bool has(const struct values *values, int32_t number) {
    for (size_t i = 0; i < values->count; i++)
        if (values->asked[i] == number)
            return true;
    return false;
}

static struct values values_of(const char *source, uint64_t seed) {
    char path[] = "/tmp/values-XXXXXX";
    const int fd = mkstemp(path);
    struct values values;

    assert_true(fd >= 0);
    assert_true(dprintf(fd, "%s", source) >= 0);
    (void)close(fd);
    assert_int_equal(values_read(&values, path, seed), 0);
    (void)unlink(path);
    return values;
}

static void test_the_numbers_of_a_source_are_asked_for(void **state) {
    const struct values values =
        values_of("if (row.version % 97 == 13 || row1234.fence >= 0x20 || seen == 4711)", 0);

    assert_true(has(&values, 97) && has(&values, 13) && has(&values, 32) && has(&values, 4711));
    assert_false(has(&values, 1234)); /* it is part of a name */
    for (size_t i = 0; i < values.count; i++)
        if (values.asked[i] % 97 == 13 && values.asked[i] > 97)
            return;
    fail_msg("no number has the remainder 13");
}

static void test_round_numbers_are_asked_for_in_any_case(void **state) {
    const struct values values = values_of("", 0);

    assert_true(has(&values, 1000) && has(&values, 1 << 30));
    for (int i = 2; i <= 16; i++)
        assert_int_equal(values.asked[0] % i, 0);
}

static void test_a_seed_or_the_text_chooses(void **state) {
    const struct values a = values_of("a", 0), b = values_of("b", 0), again = values_of("a", 0);
    const struct values seeded = values_of("a", 5), other = values_of("b", 5);
    int least = 9, most = 3;

    assert_true(a.seed == again.seed && a.seed != b.seed && seeded.seed == other.seed);
    assert_int_equal(values_choose(&a, 1, 7, 7), 7);
    for (uint64_t salt = 0; salt < 200; salt++) {
        const int chosen = values_choose(&a, salt, 3, 9);

        assert_in_range(chosen, 3, 9);
        least = chosen < least ? chosen : least;
        most = chosen > most ? chosen : most;
    }
    assert_true(least == 3 && most == 9);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_numbers_of_a_source_are_asked_for),
        cmocka_unit_test(test_round_numbers_are_asked_for_in_any_case),
        cmocka_unit_test(test_a_seed_or_the_text_chooses),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
