/* A thread that must share a processor waits for it. */
#include "runqueue.h"
#include "test.h"

#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static struct runqueue before, after;

static void test_the_longest_wait_of_one_thread_counts(void **state) {
    before = (struct runqueue){.threads = {{1, 10}, {2, 50}}, .count = 2};
    after = (struct runqueue){.threads = {{2, 90}, {1, 20}, {3, 30}}, .count = 3};
    assert_int_equal(runqueue_waited_ns(&before, &after), 40);
    after.threads[2].waited_ns = 60; /* it began meanwhile */
    assert_int_equal(runqueue_waited_ns(&before, &after), 60);
    assert_int_equal(runqueue_waited_ns(&after, &(struct runqueue){.count = 0}), 0);
}

static void spin_on(size_t processor) {
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(processor, &set);
    (void)sched_setaffinity(0, sizeof set, &set);
    for (;;)
        ;
}

/* Two processes of one group, on one processor: one of them waits. */
static void test_a_group_that_shares_a_processor_waits(void **state) {
    cpu_set_t ours;
    pid_t pids[2];
    size_t processor = 0;

    if (access("/proc/self/schedstat", R_OK) != 0)
        skip();
    assert_int_equal(sched_getaffinity(0, sizeof ours, &ours), 0);
    while (!CPU_ISSET(processor, &ours))
        processor++;
    for (int i = 0; i < 2; i++) {
        pids[i] = fork();
        assert_true(pids[i] >= 0);
        if (pids[i] == 0) {
            (void)setpgid(0, i == 0 ? 0 : pids[0]);
            spin_on(processor);
        }
        (void)setpgid(pids[i], pids[0]);
    }
    runqueue_read(&before, pids[0]);
    assert_int_equal(before.count, 2);
    do
        runqueue_read(&after, pids[0]);
    while (runqueue_waited_ns(&before, &after) < 10000000);
    (void)kill(-pids[0], SIGKILL);
    for (int i = 0; i < 2; i++)
        assert_int_equal(waitpid(pids[i], NULL, 0), pids[i]);
    runqueue_read(&after, pids[0]);
    assert_int_equal(after.count, 0);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_longest_wait_of_one_thread_counts),
        cmocka_unit_test(test_a_group_that_shares_a_processor_waits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
