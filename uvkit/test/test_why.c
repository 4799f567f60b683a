/* The text of a refusal. */
#include "test.h"
#include "why.h"

static void test_a_refusal_is_said_and_returned(void **state) {
    struct why why;

    assert_int_equal(-1, why_set(&why, "line %d of %s", 7, "plan.json"));
    assert_string_equal("line 7 of plan.json", why.text);
}

static void test_a_too_long_text_is_cut_off(void **state) {
    char long_text[2 * sizeof(struct why)];
    struct why why;

    memset(long_text, 'x', sizeof long_text);
    long_text[sizeof long_text - 1] = '\0';
    assert_int_equal(-1, why_set(&why, "%s", long_text));
    assert_int_equal(sizeof why.text - 1, strlen(why.text));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_refusal_is_said_and_returned),
        cmocka_unit_test(test_a_too_long_text_is_cut_off),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
