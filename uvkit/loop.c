/* Checks that a loop's descriptors are free before libuv needs them. */
#include "loop.h"

#include <errno.h>
#include <unistd.h>

/* libuv 1.50 takes two for its lock of signals, one each for epoll, io_uring and wake-ups, and two
 * for signals; 1.44 has no io_uring. */
#define DESCRIPTORS 8

static int check_descriptors(void) {
    int ends[DESCRIPTORS], count = 0, error = 0;

    while (count < DESCRIPTORS && error == 0) {
        if (pipe(&ends[count]) == 0)
            count += 2;
        else
            error = errno;
    }
    for (int i = 0; i < count; i++)
        (void)close(ends[i]);
    return error == 0 ? 0 : uv_translate_sys_error(error);
}

int loop_init(uv_loop_t *loop) {
    int code = check_descriptors();

    return code == 0 ? uv_loop_init(loop) : code;
}
