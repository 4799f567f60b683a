/* What libuv leaves to its users: a start where descriptors may be few, and SIGPIPE, which would
 * end the process when it writes to a peer that is gone. Neither libuv nor hiredis asks for the
 * error alone, so each module that opens sockets with them ignores it, once for all. */
#ifndef UVKIT_LOOP_H
#define UVKIT_LOOP_H

#include <signal.h>
#include <uv.h>

/* uv_loop_init(), which aborts the process when there is no descriptor left for its first pipe. 0,
 * or libuv's error: UV_EMFILE when fewer descriptors are free than a loop takes, and nothing began.
 */
__attribute__((warn_unused_result)) int loop_init(uv_loop_t *loop);

/* Unless the program handles the signal itself. */
static inline void loop_ignore_sigpipe(void) {
    struct sigaction now;

    if (sigaction(SIGPIPE, NULL, &now) == 0 && now.sa_handler == SIG_DFL)
        (void)signal(SIGPIPE, SIG_IGN);
}

#endif
