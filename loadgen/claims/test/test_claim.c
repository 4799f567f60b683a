/* The table of claims: loadgen accepts each run, and a shell takes each printed command. */
#include "claim.h"
#include "options.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

#define WORDS 96

static enum options_result read_run(const char *run) {
    struct options *options;
    char name[] = "loadgen", *copy = strdup(run), *rest = copy, *words[WORDS] = {name}, *word;
    enum options_result result;
    int count = 1;

    assert_non_null(copy);
    while ((word = strsep(&rest, " ")) != NULL && count < WORDS)
        if (word[0] != '\0')
            words[count++] = word;
    result = options_read(&options, count, words);
    options_free();
    free(copy);
    return result;
}

static void test_loadgen_takes_the_arguments_of_each_run(void **state) {
    assert_int_equal(setenv("LOADGEN_STACK", "scripts/stack", 1), 0);
    for (size_t i = 0; i < claim_count; i++)
        for (const struct claim_step *step = claims[i].steps; step->label != NULL; step++) {
            if (read_run(step->run) != OPTIONS_OK)
                fail_msg("%s, %s: %s", claims[i].id, step->label, step->run);
        }
}

static void test_each_claim_is_found_by_its_own_id(void **state) {
    assert_true(claim_count > 0);
    for (size_t i = 0; i < claim_count; i++)
        assert_ptr_equal(claim_find(claims[i].id), &claims[i]);
    assert_null(claim_find("all"));
}

static void test_each_claim_has_a_cure_and_ends_within_its_room(void **state) {
    for (size_t i = 0; i < claim_count; i++) {
        size_t steps = 0, cures = 0;

        for (; steps < CLAIM_STEPS && claims[i].steps[steps].label != NULL; steps++)
            cures += strncmp(claims[i].steps[steps].label, "cure", 4) == 0;
        assert_in_range(steps, 1, CLAIM_STEPS - 1);
        assert_true(cures > 0);
    }
}

static char *print_run(const struct claim_step *step, size_t width) {
    char *text = NULL;
    size_t size;
    FILE *to = open_memstream(&text, &size);

    assert_non_null(to);
    claim_print_commands(step, 2, width, to);
    assert_int_equal(fclose(to), 0);
    return text;
}

static void test_a_command_is_printed_as_one_types_it(void **state) {
    static const struct claim_stack stack = {{"ORDER_SVC_FLAGS=--lab --fail-record 5%"},
                                             "--instances 1"};
    static const struct claim_step step = {"failure", &stack,
                                           "--strategy none --expect none=TWIN?+LEAK -R 9", false};
    char *text = print_run(&step, 80);

    assert_string_equal(
        text, "  ORDER_SVC_FLAGS='--lab --fail-record 5%' scripts/stack up --instances 1\n"
              "  scripts/loadgen --strategy none --expect 'none=TWIN?+LEAK' -R 9\n");
    free(text);
    text = print_run(&step, 50);
    assert_string_equal(text, "  ORDER_SVC_FLAGS='--lab --fail-record 5%' \\\n"
                              "      scripts/stack up --instances 1\n"
                              "  scripts/loadgen --strategy none \\\n"
                              "      --expect 'none=TWIN?+LEAK' -R 9\n");
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_loadgen_takes_the_arguments_of_each_run),
        cmocka_unit_test(test_each_claim_is_found_by_its_own_id),
        cmocka_unit_test(test_each_claim_has_a_cure_and_ends_within_its_room),
        cmocka_unit_test(test_a_command_is_printed_as_one_types_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
