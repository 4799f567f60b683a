/* Waits in a test: runs the loop until a condition holds. A deadline fails the test. */
#ifndef TEST_WAIT_H
#define TEST_WAIT_H

#include "fiber.h"

#include <uv.h>

#define PATIENCE_MS 20000 /* no wait takes so long if all is well */

/* Run `loop` until `condition` holds. It checks the condition after each event, and at least every
 * millisecond, so the loop needs no handle. */
#define WAIT_FOR(loop, condition)                                                                  \
    do {                                                                                           \
        int64_t give_up_ms_ = wait_deadline_ms();                                                  \
        while (!(condition))                                                                       \
            wait_turn((loop), give_up_ms_, #condition, __FILE__, __LINE__);                        \
    } while (0)

int64_t wait_deadline_ms(void);
/* One turn of a WAIT_FOR(). After the deadline it fails the test at `file`:`line`. */
void wait_turn(uv_loop_t *loop, int64_t deadline_ms, const char *condition, const char *file,
               int line);

/* Run `run` in a fiber, and the loop until the fiber ends. */
void wait_for_fiber(uv_loop_t *loop, fiber_fn run, void *arg);

#endif
