/* A loop begins with enough descriptors, and says so without. */
#include "loop.h"
#include "test.h"

#include "fault.h"

#include <unistd.h>

#define MORE 16 /* than any loop takes */

static int next_descriptor(void) {
    int fd = dup(STDIN_FILENO);

    assert_true(fd >= 0);
    assert_int_equal(close(fd), 0);
    return fd;
}

/* The result of loop_init() when so many descriptors are free. A loop that began is closed. */
static int init_with(int free_descriptors) {
    rlim_t limit = fault_descriptors((rlim_t)(next_descriptor() + free_descriptors));
    uv_loop_t loop;
    int code = loop_init(&loop);

    (void)fault_descriptors(limit);
    if (code == 0)
        assert_int_equal(uv_loop_close(&loop), 0);
    return code;
}

/* The first loop of a process is another one for libuv: it makes what all loops share. */
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_too_few_descriptors_are_told_and_kept_by_nobody),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
