/* Tests that a crash is found in this program. Each crash ends a child of its own. */
#include "crash.h"
#include "test.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static struct crash *seen; /* shared with the child */

static void on_crash(const struct crash *crash) {
    *seen = *crash;
}

static int share(void **state) {
    (void)state;
    seen = mmap(NULL, sizeof *seen, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return seen != MAP_FAILED ? 0 : -1;
}

/* Return the status of a child that calls `fn`. */
static int end_of(void (*fn)(void)) {
    int status = 0;
    pid_t child;

    memset(seen, 0, sizeof *seen);
    child = fork();
    if (child == 0) {
        (void)setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
        if (crash_watch((const void *)&seen, on_crash) != 0)
            _exit(1);
        fn();
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

#define ASSERT_DIED(fn, number)                                                                    \
    do {                                                                                           \
        const int status = end_of(fn);                                                             \
        assert_true(WIFSIGNALED(status));                                                          \
        assert_int_equal(WTERMSIG(status), number);                                                \
        assert_int_equal(seen->signal, number);                                                    \
        assert_int_not_equal(seen->at, 0);                                                         \
    } while (0)

static volatile int zero;
static int *volatile nowhere;
static const char *volatile no_text;

/* The sanitizer would end these before the signal. */
#define UNCHECKED __attribute__((no_sanitize("undefined")))

UNCHECKED static void write_wild(void) {
    *nowhere = 1;
}

UNCHECKED static void divide(void) {
    zero = 7 / zero;
}

UNCHECKED static void measure_no_text(void) {
    zero = (int)strlen(no_text);
}

__attribute__((noinline)) static int deep(volatile int *above) {
    volatile int mine[64];

    mine[0] = *above + 1;
    return zero == 0 ? deep(mine) + mine[0] : 0;
}

static void descend(void) {
    volatile int none = 0;

    none = deep(&none);
}

static void test_a_crash_has_its_place(void **state) {
    (void)state;
    ASSERT_DIED(write_wild, SIGSEGV);
    assert_false(seen->is_overflow);
    ASSERT_DIED(divide, SIGFPE);
    ASSERT_DIED(abort, SIGABRT);
}

static void test_a_crash_in_a_library_has_the_place_of_the_call(void **state) {
    (void)state;
    ASSERT_DIED(measure_no_text, SIGSEGV);
}

static void test_a_full_stack_is_told(void **state) {
    (void)state;
    ASSERT_DIED(descend, SIGSEGV);
    assert_true(seen->is_overflow);
}

static void raise_and_go_on(void) {
    (void)raise(SIGXCPU);
}

static void test_a_used_up_time_is_told_and_the_process_goes_on(void **state) {
    int status;

    (void)state;
    status = end_of(raise_and_go_on);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_int_equal(seen->signal, SIGXCPU);
    assert_int_not_equal(seen->at, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_crash_has_its_place),
        cmocka_unit_test(test_a_crash_in_a_library_has_the_place_of_the_call),
        cmocka_unit_test(test_a_full_stack_is_told),
        cmocka_unit_test(test_a_used_up_time_is_told_and_the_process_goes_on),
    };

    return cmocka_run_group_tests(tests, share, NULL);
}
