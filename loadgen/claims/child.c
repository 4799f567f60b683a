/* Spawns a program and runs the loop until it has ended. */
#include "child.h"

#include <assert.h>
#include <errno.h>

static void child_on_exit(uv_process_t *process, int64_t status, int signal) {
    struct child *child = process->data;

    assert(child->is_running);
    child->is_running = false;
    child->exit_code = signal != 0 ? 128 + signal : (int)status;
    uv_close((uv_handle_t *)process, NULL);
}

int child_run(struct child *child, uv_loop_t *loop, char **arguments, int output) {
    uv_stdio_container_t streams[] = {
        {.flags = UV_IGNORE},
        {.flags = UV_INHERIT_FD, .data.fd = output},
        {.flags = UV_INHERIT_FD, .data.fd = output},
    };
    const uv_process_options_t options = {
        .exit_cb = child_on_exit,
        .file = arguments[0],
        .args = arguments,
        .flags = UV_PROCESS_DETACHED,
        .stdio_count = 3,
        .stdio = streams,
    };
    int rc;

    assert(!child->is_running && arguments[0] != NULL);
    rc = uv_spawn(loop, &child->process, &options);
    child->process.data = child;
    child->is_running = rc == 0;
    child->exit_code = CHILD_NOT_STARTED;
    if (rc != 0)
        uv_close((uv_handle_t *)&child->process, NULL);
    (void)uv_run(loop, UV_RUN_DEFAULT);
    assert(!child->is_running); /* its handle keeps the loop alive */
    errno = -rc;
    return child->exit_code;
}

void child_kill(struct child *child, int signal) {
    if (child->is_running)
        (void)uv_process_kill(&child->process, signal);
}
