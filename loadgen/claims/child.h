/* A program that this one starts and waits for. */
#ifndef LOADGEN_CHILD_H
#define LOADGEN_CHILD_H

#include <stdbool.h>
#include <uv.h>

#define CHILD_NOT_STARTED 127

struct child {
    uv_process_t process; /* while is_running */
    bool is_running;
    int exit_code; /* 128 + the signal that ended it */
};

/* Run `arguments` (NULL-terminated; the first is the program) with both its outputs to the file
 * `output`, on a loop with nothing else that keeps it alive, until it has ended. It is in a session
 * of its own, so that a Ctrl-C for us is not for it, too. Its exit code; CHILD_NOT_STARTED, as of a
 * shell, when it could not be started, and errno is set. */
int child_run(struct child *child, uv_loop_t *loop, char **arguments, int output);
/* Nothing when none runs. */
void child_kill(struct child *child, int signal);

#endif
