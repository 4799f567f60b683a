/* Fibers: they start at once, wait, wake in any order, are dropped, and reuse their stacks. */
#include "fiber.h"
#include "test.h"

static int tear_down(void **state) {
    fiber_cleanup(); /* asserts that all have ended */
    return 0;
}

struct trace {
    char text[64];
    struct fiber_event first, second;
};

static void note(struct trace *trace, const char *what) {
    strncat(trace->text, what, sizeof trace->text - strlen(trace->text) - 1);
}

static void waits_twice(void *arg) {
    struct trace *trace = arg;

    note(trace, "a");
    fiber_event_wait(&trace->first);
    note(trace, "b");
    fiber_event_wait(&trace->second);
    note(trace, "c");
}

static void test_runs_up_to_each_wait(void **state) {
    struct trace trace = {.first = FIBER_EVENT_INIT, .second = FIBER_EVENT_INIT};

    assert_int_equal(fiber_start(waits_twice, &trace), 0);
    note(&trace, "1");
    fiber_event_set(&trace.first);
    note(&trace, "2");
    assert_non_null(trace.second.waiter);
    fiber_event_set(&trace.second);
    assert_string_equal(trace.text, "a1b2c");
}

static void test_event_set_before_the_wait_is_not_missed(void **state) {
    struct trace trace = {.first = FIBER_EVENT_INIT, .second = FIBER_EVENT_INIT};

    fiber_event_set(&trace.first);
    fiber_event_set(&trace.second);
    assert_int_equal(fiber_start(waits_twice, &trace), 0);
    assert_string_equal(trace.text, "abc");
}

static void wakes_another(void *arg) {
    struct trace *trace = arg;

    note(trace, "x");
    fiber_event_set(&trace->first); /* runs the other fiber inside this one */
    note(trace, "y");
}

static void test_a_fiber_can_wake_a_fiber(void **state) {
    struct trace trace = {.first = FIBER_EVENT_INIT, .second = FIBER_EVENT_INIT};

    assert_int_equal(fiber_start(waits_twice, &trace), 0);
    assert_int_equal(fiber_start(wakes_another, &trace), 0);
    fiber_event_set(&trace.second);
    assert_string_equal(trace.text, "axbyc");
}

static void uses_its_stack(void *arg) {
    volatile char deep[FIBER_STACK_BYTES / 2];
    struct fiber_event *event = arg;

    for (size_t i = 0; i < sizeof deep; i++)
        deep[i] = (char)i;
    fiber_event_wait(event);
    for (size_t i = 0; i < sizeof deep; i++)
        assert_int_equal(deep[i], (char)i);
}

static void test_two_thousand_fibers_wait_at_a_time(void **state) {
    static struct fiber_event events[2000];

    memset(events, 0, sizeof events);
    for (size_t i = 0; i < 2000; i++)
        assert_int_equal(fiber_start(uses_its_stack, &events[i]), 0);
    for (size_t i = 0; i < 2000; i++)
        assert_non_null(events[i].waiter);
    for (size_t i = 2000; i-- > 0;)
        fiber_event_set(&events[i]);
}

struct counter {
    struct fiber_event event;
    int count;
};

static void counts(void *arg) {
    struct counter *counter = arg;

    for (int i = 0; i < 20000; i++) {
        volatile char around[64]; /* AddressSanitizer guards both sides */

        around[i % 64] = (char)i;
        counter->event.is_set = false;
        fiber_event_wait(&counter->event);
        counter->count += around[i % 64] == (char)i;
    }
}

static void test_switches_many_times(void **state) {
    for (int round = 0; round < 2; round++) { /* on fresh stacks, then on used ones */
        struct counter one = {.event = FIBER_EVENT_INIT}, other = {.event = FIBER_EVENT_INIT};

        assert_int_equal(fiber_start(counts, &one), 0);
        assert_int_equal(fiber_start(counts, &other), 0);
        while (one.event.waiter != NULL && other.event.waiter != NULL) {
            fiber_event_set(&one.event);
            fiber_event_set(&other.event);
        }
        assert_int_equal(one.count, 20000);
        assert_int_equal(other.count, 20000);
    }
}

static void descends(struct trace *trace, int depth) {
    volatile char frame[200];

    frame[depth] = 1;
    if (depth > 0)
        descends(trace, depth - 1);
    else
        waits_twice(trace);
    assert_int_equal(frame[depth], 1);
}

static void waits_deep(void *arg) {
    descends(arg, 100);
}

static void test_nothing_of_a_discarded_fiber_runs(void **state) {
    struct trace trace = {.first = FIBER_EVENT_INIT, .second = FIBER_EVENT_INIT};

    assert_int_equal(fiber_start(waits_deep, &trace), 0);
    fiber_discard(&trace.first);
    assert_null(trace.first.waiter);
    fiber_event_set(&trace.first);
    assert_string_equal(trace.text, "a");
}

static void test_a_discarded_stack_is_used_again(void **state) {
    struct trace trace = {.first = FIBER_EVENT_INIT, .second = FIBER_EVENT_INIT};
    struct fiber_event event = FIBER_EVENT_INIT;
    struct fiber *stack;

    assert_int_equal(fiber_start(waits_deep, &trace), 0);
    stack = trace.first.waiter;
    for (int i = 0; i < 2000; i++) {
        fiber_event_set(&trace.first); /* switches; the fiber is dropped at its second wait */
        fiber_discard(&trace.second);
        trace.first.is_set = false;
        assert_int_equal(fiber_start(uses_its_stack, &event),
                         0); /* on a stack that others poisoned */
        assert_ptr_equal(event.waiter, stack);
        if (i % 2 == 0)
            fiber_discard(&event);
        else
            fiber_event_set(&event);
        event.is_set = false;
        assert_int_equal(fiber_start(waits_deep, &trace), 0);
        assert_ptr_equal(trace.first.waiter, stack);
    }
    fiber_discard(&trace.first);
}

static void discards_another(void *arg) {
    struct trace *trace = arg;

    note(trace, "x");
    fiber_discard(&trace->first);
    note(trace, "y");
    fiber_event_wait(&trace->second);
    note(trace, "z");
}

static void test_a_fiber_can_discard_a_fiber(void **state) {
    struct trace trace = {.first = FIBER_EVENT_INIT, .second = FIBER_EVENT_INIT};

    assert_int_equal(fiber_start(waits_deep, &trace), 0);
    assert_int_equal(fiber_start(discards_another, &trace), 0);
    assert_null(trace.first.waiter);
    fiber_event_set(&trace.second);
    assert_string_equal(trace.text, "axyz");
}

static void test_more_are_discarded_than_the_pool_keeps(void **state) {
    static struct fiber_event events[300];

    memset(events, 0, sizeof events);
    for (size_t i = 0; i < 300; i++)
        assert_int_equal(fiber_start(uses_its_stack, &events[i]), 0);
    for (size_t i = 0; i < 300; i++)
        fiber_discard(&events[i]);
}

struct sleeper {
    uv_loop_t *loop;
    uint64_t ms;
    struct trace *trace;
    const char *name;
};

static void sleeps(void *arg) {
    struct sleeper *sleeper = arg;

    fiber_sleep(sleeper->loop, sleeper->ms);
    note(sleeper->trace, sleeper->name);
}

static void test_sleepers_wake_in_order_of_time(void **state) {
    uv_loop_t loop;
    struct trace trace = {.text = ""};
    struct sleeper late = {&loop, 1000, &trace, "late"}, soon = {&loop, 5, &trace, "soon "};
    uint64_t began;

    assert_int_equal(uv_loop_init(&loop), 0);
    began = uv_hrtime();
    assert_int_equal(fiber_start(sleeps, &late), 0);
    assert_int_equal(fiber_start(sleeps, &soon), 0);
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    assert_string_equal(trace.text, "soon late");
    assert_true(uv_hrtime() - began >= 999000000);
    assert_int_equal(uv_loop_close(&loop), 0);
}

struct patient {
    uv_loop_t *loop;
    struct fiber_event event;
    uint64_t ms[2];
    struct trace *trace;
};

static void waits_for_so_long(void *arg) {
    struct patient *patient = arg;

    for (int i = 0; i < 2; i++)
        note(patient->trace, fiber_event_wait_for(patient->loop, &patient->event, patient->ms[i])
                                 ? "happened "
                                 : "late ");
}

static void test_a_wait_may_end_before_it_happens(void **state) {
    uv_loop_t loop;
    struct trace trace = {.text = ""};
    struct patient patient = {&loop, FIBER_EVENT_INIT, {1, 3600000}, &trace};

    assert_int_equal(uv_loop_init(&loop), 0);
    assert_int_equal(fiber_start(waits_for_so_long, &patient), 0);
    while (trace.text[0] == '\0')
        (void)uv_run(&loop, UV_RUN_ONCE);
    assert_string_equal(trace.text, "late ");
    fiber_event_set(&patient.event); /* the fiber waits for it again */
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    assert_string_equal(trace.text, "late happened ");
    patient.ms[0] = 3600000;
    assert_int_equal(fiber_start(waits_for_so_long, &patient),
                     0); /* already set: returns at once */
    assert_string_equal(trace.text, "late happened happened happened ");
    assert_int_equal(uv_loop_close(&loop), 0);
}

#define TEST(name) cmocka_unit_test_teardown(name, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_runs_up_to_each_wait),
        TEST(test_event_set_before_the_wait_is_not_missed),
        TEST(test_a_fiber_can_wake_a_fiber),
        TEST(test_two_thousand_fibers_wait_at_a_time),
        TEST(test_sleepers_wake_in_order_of_time),
        TEST(test_a_wait_may_end_before_it_happens),
        TEST(test_switches_many_times),
        TEST(test_nothing_of_a_discarded_fiber_runs),
        TEST(test_a_discarded_stack_is_used_again),
        TEST(test_a_fiber_can_discard_a_fiber),
        TEST(test_more_are_discarded_than_the_pool_keeps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
