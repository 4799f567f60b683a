/* The command that `lockctl run` holds a lock for: a process group of its own. */
#ifndef LOCKCTL_CHILD_H
#define LOCKCTL_CHILD_H

#include <stdbool.h>
#include <sys/types.h>
#include <uv.h>

struct child {
    pid_t pid; /* and the number of its group */
    bool has_terminal;
    bool is_ended; /* the command itself; others of its group may still run */
    int status;    /* as of waitpid(), once it has ended */
    uv_signal_t on_child;
    uv_timer_t look;
    void (*on_stop)(struct child *child); /* the terminal has stopped the command */
    void (*on_end)(struct child *child);  /* no process of the group is left; once */
    void *data;
};

/* Start argv[0], found by PATH. `on_end` then runs once, on the loop; child_close() is due then. 0,
 * or an errno, and then there is nothing to undo. */
int child_start(struct child *child, uv_loop_t *loop, char **argv);
void child_close(struct child *child);

/* Send a signal to all of the group. */
void child_signal(struct child *child, int number);

/* In on_stop: let the shell have the terminal, until it says that we shall go on. */
void child_stop_with(struct child *child);
void child_go_on(struct child *child);

/* Its exit code, or 128 + the number of the signal that ended it. */
int child_exit_code(const struct child *child);

#endif
