/* Measures a switch into a fiber and back in ns: uvkit's, and swapcontext()'s beside it.
 *
 *     bench_fibers PAIRS
 *
 * Prints the ns of a pair of switches by uvkit, of the same by swapcontext(), and of a fiber that
 * starts, waits and is discarded. */
#include "clock.h"
#include "fiber.h"

#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

static ucontext_t loop, fiber;
static char stack[FIBER_STACK_BYTES];

static void swaps(void) {
    for (;;)
        (void)swapcontext(&fiber, &loop);
}

static double of_swapcontext(int64_t pairs) {
    int64_t begun_ns;

    (void)getcontext(&fiber);
    fiber.uc_stack.ss_sp = stack;
    fiber.uc_stack.ss_size = sizeof stack;
    makecontext(&fiber, swaps, 0);
    begun_ns = clock_now_ns();
    for (int64_t i = 0; i < pairs; i++)
        (void)swapcontext(&loop, &fiber);
    return (double)(clock_now_ns() - begun_ns) / (double)pairs;
}

static void waits_for_ever(void *arg) {
    struct fiber_event *event = arg;

    for (;;) {
        event->is_set = false;
        fiber_event_wait(event);
    }
}

static double of_fiber(int64_t pairs) {
    struct fiber_event event = FIBER_EVENT_INIT;
    int64_t begun_ns;

    if (fiber_start(waits_for_ever, &event) != 0)
        exit(70);
    begun_ns = clock_now_ns();
    for (int64_t i = 0; i < pairs; i++)
        fiber_event_set(&event);
    begun_ns = clock_now_ns() - begun_ns;
    fiber_discard(&event);
    return (double)begun_ns / (double)pairs;
}

static double of_discard(int64_t fibers) {
    struct fiber_event event = FIBER_EVENT_INIT;
    const int64_t begun_ns = clock_now_ns();

    for (int64_t i = 0; i < fibers; i++) {
        if (fiber_start(waits_for_ever, &event) != 0)
            exit(70);
        fiber_discard(&event);
    }
    return (double)(clock_now_ns() - begun_ns) / (double)fibers;
}

int main(int argc, char **argv) {
    const int64_t pairs = argc == 2 ? atoll(argv[1]) : 0;

    if (pairs <= 0) {
        (void)fprintf(stderr, "Usage: bench_fibers PAIRS\n");
        return 64;
    }
    (void)printf("%.1f %.1f %.1f\n", of_fiber(pairs), of_swapcontext(pairs), of_discard(pairs));
    fiber_cleanup();
    return 0;
}
