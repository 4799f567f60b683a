/* A loop begins if there are enough descriptors, and otherwise reports the lack. SIGPIPE is
 * ignored, unless the program handles it. */
#include "loop.h"
#include "test.h"

#include "fault.h"

#include <errno.h>
#include <unistd.h>

#define MORE 16 /* more than any loop needs */

static int next_descriptor(void) {
    int fd = dup(STDIN_FILENO);

    assert_true(fd >= 0);
    assert_int_equal(close(fd), 0);
    return fd;
}

/* The result of loop_init() with so many free descriptors. A loop that began is closed. */
static int init_with(int free_descriptors) {
    rlim_t limit = fault_descriptors((rlim_t)(next_descriptor() + free_descriptors));
    uv_loop_t loop;
    int code = loop_init(&loop);

    (void)fault_descriptors(limit);
    if (code == 0)
        assert_int_equal(uv_loop_close(&loop), 0);
    return code;
}

/* The first loop of a process is special: libuv then makes the parts that all loops share. */
static void test_too_few_descriptors_are_told_and_kept_by_nobody(void **state) {
    int next = next_descriptor();

    for (int count = 0; count < MORE; count++) {
        int code = init_with(count);

        if (code == 0)
            return;
        assert_int_equal(code, UV_EMFILE);
        assert_int_equal(next_descriptor(), next);
    }
    fail_msg("%d descriptors are too few for a loop", MORE);
}

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
    loop_ignore_sigpipe();
    write_to_nobody();
}

static void test_a_handler_of_the_program_stays(void **state) {
    assert_true(signal(SIGPIPE, on_signal) != SIG_ERR);
    loop_ignore_sigpipe();
    write_to_nobody();
    assert_int_equal(caught, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_too_few_descriptors_are_told_and_kept_by_nobody),
        cmocka_unit_test(test_writing_to_nobody_is_an_error_alone),
        cmocka_unit_test(test_a_handler_of_the_program_stays),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
