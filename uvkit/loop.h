/* The start of an event loop where descriptors may be few. */
#ifndef UVKIT_LOOP_H
#define UVKIT_LOOP_H

#include <uv.h>

/* uv_loop_init(), which aborts the process when there is no descriptor left for its first pipe. 0,
 * or libuv's error: UV_EMFILE when fewer descriptors are free than a loop takes, and nothing began.
 */
__attribute__((warn_unused_result)) int loop_init(uv_loop_t *loop);

#endif
