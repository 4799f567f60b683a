/* The pacer calls back at its moments, and not early. */
#include "clock.h"
#include "fault.h"
#include "pacer.h"
#include "test.h"
#include "wait.h"

#define EARLY_NS 30000 /* as pacer.h allows */
#define MOMENTS  20

static uv_loop_t loop;
static struct pacer pacer;
static int64_t moments[MOMENTS];
static size_t count, next;
static bool is_closed;

static int64_t next_ns(void *data) {
    return next < count ? moments[next] : 0;
}

static void on_due(void *data) {
    const int64_t now_ns = clock_now_ns();

    if (next == count)
        return;
    assert_true(now_ns >= moments[next] - EARLY_NS);
    while (next < count && moments[next] <= now_ns)
        next++;
}

static void on_closed(void *data) {
    is_closed = true;
}

static void start(void) {
    pacer = (struct pacer){.next_ns = next_ns, .on_due = on_due};
    assert_int_equal(pacer_start(&pacer, &loop), 0);
}

static void end(void) {
    is_closed = false;
    pacer_close(&pacer, on_closed);
    assert_false(is_closed);
    WAIT_FOR(&loop, is_closed);
}

static void test_each_moment_comes_and_none_too_early(void **state) {
    for (count = 0; count < MOMENTS; count++)
        moments[count] = clock_now_ns() + (int64_t)count * 1000000;
    start();
    WAIT_FOR(&loop, next == count);
    end();
}

static void test_a_past_moment_comes_at_once(void **state) {
    moments[0] = 1;
    count = 1;
    start();
    WAIT_FOR(&loop, next == 1);
    end();
}

/* Setting the timer again also clears an old expiry. */
static void test_a_moment_that_is_set_later_comes_after_a_pause(void **state) {
    start();
    (void)uv_run(&loop, UV_RUN_NOWAIT);
    assert_int_equal(next, 0);
    moments[0] = clock_now_ns() + 2000000;
    count = 1;
    WAIT_FOR(&loop, next == 1);
    (void)uv_run(&loop, UV_RUN_NOWAIT);
    moments[1] = clock_now_ns() + 2000000;
    count = 2;
    WAIT_FOR(&loop, next == 2);
    end();
}

static void test_without_a_descriptor_nothing_is_left(void **state) {
    const rlim_t before = fault_descriptors(3);

    pacer = (struct pacer){.next_ns = next_ns, .on_due = on_due};
    assert_int_equal(pacer_start(&pacer, &loop), UV_EMFILE);
    (void)fault_descriptors(before);
}

static int set_up(void **state) {
    count = next = 0;
    return uv_loop_init(&loop);
}

static int tear_down(void **state) {
    fiber_cleanup();
    return uv_loop_close(&loop);
}

#define PACED(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        PACED(test_each_moment_comes_and_none_too_early),
        PACED(test_a_past_moment_comes_at_once),
        PACED(test_a_moment_that_is_set_later_comes_after_a_pause),
        PACED(test_without_a_descriptor_nothing_is_left),
    };

    return cmocka_run_group_tests_name("pacer", tests, NULL, NULL);
}
