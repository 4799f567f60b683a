/* Runs a loop until a condition holds or a deadline passes. */
#include "wait.h"

#include "clock.h"
#include "test.h"

#include <poll.h>

int64_t wait_deadline_ms(void) {
    return clock_now_ms() + PATIENCE_MS;
}

void wait_turn(uv_loop_t *loop, int64_t deadline_ms, const char *condition, const char *file,
               int line) {
    struct pollfd events = {.fd = uv_backend_fd(loop), .events = POLLIN};

    if (clock_now_ms() > deadline_ms) {
        print_error("%s:%d: never happened: %s\n", file, line, condition);
        _fail(file, line);
    }
    /* Not UV_RUN_ONCE: it may sleep until a timer of the code under test fires. */
    if (uv_backend_timeout(loop) != 0)
        (void)poll(&events, 1, 1);
    (void)uv_run(loop, UV_RUN_NOWAIT);
}

struct waited {
    fiber_fn run;
    void *arg;
    bool is_done;
};

static void run_waited(void *arg) {
    struct waited *waited = arg;

    waited->run(waited->arg);
    waited->is_done = true;
}

void wait_for_fiber(uv_loop_t *loop, fiber_fn run, void *arg) {
    struct waited waited = {.run = run, .arg = arg};

    assert_int_equal(fiber_start(run_waited, &waited), 0);
    WAIT_FOR(loop, waited.is_done);
}
