/* The example, run like a user would run it. */
#include "fixture.h"
#include "redis_admin.h"

#include <libgen.h>
#include <sys/wait.h>
#include <unistd.h>

/* Start `hold ARGUMENTS`: it is in bin, three folders above the tests. */
static FILE *start_hold(const char *arguments) {
    char path[4096] = "", command[8192];
    FILE *output;

    assert_true(readlink("/proc/self/exe", path, sizeof path - 1) > 0);
    (void)snprintf(command, sizeof command, "exec '%s/../../../bin/hold' %s 2>&1", dirname(path),
                   arguments);
    output = popen(command, "r");
    assert_non_null(output);
    return output;
}

/* Its exit code; `text` gets its output. */
static int end_hold(FILE *output, char *text, size_t size) {
    text[fread(text, 1, size - 1, output)] = '\0';
    return WEXITSTATUS(pclose(output));
}

static long long token_of_three_steps(FILE *output) {
    long long tokens[3] = {0};
    char text[512];

    assert_int_equal(end_hold(output, text, sizeof text), 0);
    assert_int_equal(sscanf(text,
                            "step 1 with fencing token %lld\nstep 2 with fencing token %lld\n"
                            "step 3 with fencing token %lld\n",
                            &tokens[0], &tokens[1], &tokens[2]),
                     3);
    assert_int_equal(tokens[0], tokens[1]);
    assert_int_equal(tokens[0], tokens[2]);
    return tokens[0];
}

static void test_two_take_turns(void **state) {
    char arguments[512];
    FILE *first, *second;

    (void)snprintf(arguments, sizeof arguments, "'%s' hold-%lld", redis_url(),
                   (long long)clock_wall_us());
    first = start_hold(arguments);
    second = start_hold(arguments);
    assert_true(token_of_three_steps(first) != token_of_three_steps(second));
}

static void test_it_says_what_is_wrong(void **state) {
    char text[512];

    assert_int_equal(end_hold(start_hold(""), text, sizeof text), 64);
    assert_non_null(strstr(text, "usage"));
    assert_int_equal(end_hold(start_hold("ftp://x name"), text, sizeof text), 1);
    assert_non_null(strstr(text, "ftp://x: an argument is out of range"));
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_take_turns),
        cmocka_unit_test(test_it_says_what_is_wrong),
    };

    (void)redis_url();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
