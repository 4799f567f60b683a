/* The pause before the next attempt: a random time below a limit that doubles up to a maximum. */
#include "backoff.h"
#include "test.h"

/* The longest of many: 2,000 draws come within a tenth of the limit. */
static uint64_t longest_ms(unsigned failures) {
    uint64_t longest = 0;

    for (int i = 0; i < 2000; i++) {
        uint64_t ms = backoff_ms(failures, 20, 1000);

        longest = ms > longest ? ms : longest;
    }
    return longest;
}

static void test_the_limit_doubles_with_each_failure(void **state) {
    assert_in_range(longest_ms(0), 18, 20);
    assert_in_range(longest_ms(1), 36, 40);
    assert_in_range(longest_ms(5), 576, 640);
}

static void test_there_is_a_longest_pause(void **state) {
    assert_in_range(longest_ms(6), 900, 1000);
    assert_in_range(longest_ms(100000), 900, 1000);
}

static void test_the_pause_may_be_short_after_many_failures(void **state) {
    uint64_t shortest = 1000;

    for (int i = 0; i < 2000; i++) {
        uint64_t ms = backoff_ms(10, 20, 1000);

        shortest = ms < shortest ? ms : shortest;
    }
    assert_in_range(shortest, 0, 100);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_limit_doubles_with_each_failure),
        cmocka_unit_test(test_there_is_a_longest_pause),
        cmocka_unit_test(test_the_pause_may_be_short_after_many_failures),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
