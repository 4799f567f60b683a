/* Waiting in a test: the loop runs until a condition holds, and a deadline fails the test. */
#ifndef TEST_WAIT_H
#define TEST_WAIT_H

#include "fiber.h"

#include <uv.h>

#define PATIENCE_MS 20000 /* what no wait needs, unless something is wrong */

/* Run `loop` until `condition` holds. Needs no handle on the loop: it looks at the condition again
 * after each event, and otherwise every millisecond. */
#define WAIT_FOR(loop, condition)                                                                  \
    do {                                                                                           \
        int64_t give_up_ms_ = wait_deadline_ms();                                                  \
        while (!(condition))                                                                       \
            wait_turn((loop), give_up_ms_, #condition, __FILE__, __LINE__);                        \
    } while (0)

int64_t wait_deadline_ms(void);
/* One turn of a WAIT_FOR(): fails the test at `file`:`line` when the deadline has passed. */
void wait_turn(uv_loop_t *loop, int64_t deadline_ms, const char *condition, const char *file,
               int line);

/* Run `run` in a fiber, and the loop until it has ended. */
void wait_for_fiber(uv_loop_t *loop, fiber_fn run, void *arg);

#endif
