/* SIGPIPE is ignored, unless the program handles it. */
#include "sigpipe.h"
#include "test.h"

#include <errno.h>
#include <unistd.h>

static volatile sig_atomic_t caught;

static void on_signal(int number) {
    caught++;
}

static void write_to_nobody(void) {
    int ends[2];

    assert_int_equal(pipe(ends), 0);
    assert_int_equal(close(ends[0]), 0);
    assert_int_equal(write(ends[1], "x", 1), -1);
    assert_int_equal(errno, EPIPE);
    assert_int_equal(close(ends[1]), 0);
}

static void test_writing_to_nobody_is_an_error_alone(void **state) {
    assert_true(signal(SIGPIPE, SIG_DFL) != SIG_ERR);
    sigpipe_ignore();
    write_to_nobody();
}

static void test_a_handler_of_the_program_stays(void **state) {
    assert_true(signal(SIGPIPE, on_signal) != SIG_ERR);
    sigpipe_ignore();
    write_to_nobody();
    assert_int_equal(caught, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_writing_to_nobody_is_an_error_alone),
        cmocka_unit_test(test_a_handler_of_the_program_stays),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
