/* Two things that libuv leaves to its users. A start where descriptors may be few. And SIGPIPE,
 * which would end the process at a write to a peer that is gone: neither libuv nor hiredis
 * suppresses it, so each module that opens sockets with them ignores it, once for the process. */
#ifndef UVKIT_LOOP_H
#define UVKIT_LOOP_H

#include <signal.h>
#include <uv.h>

/* uv_loop_init() aborts the process when no descriptor is left for its first pipe. This returns 0,
 * or libuv's error: UV_EMFILE when a loop needs more descriptors than are free; then nothing began.
 */
__attribute__((warn_unused_result)) int loop_init(uv_loop_t *loop);

/* Ignore SIGPIPE, unless the program handles it itself. */
static inline void loop_ignore_sigpipe(void) {
    struct sigaction now;

    if (sigaction(SIGPIPE, NULL, &now) == 0 && now.sa_handler == SIG_DFL)
        (void)signal(SIGPIPE, SIG_IGN);
}

#endif
