/* Starts the command, and notices when the last process of its group has ended.
 *
 * Orphans of the group become children of this process, which is a subreaper: so SIGCHLD tells of
 * the end of each, and a look every LOOK_MS only of one whose parent has left the group. Should
 * lockctl itself be killed, the kernel kills the command: nobody would renew its lock.
 *
 * On a terminal the group is in the foreground, as a shell would have it: keys such as Ctrl-C and
 * Ctrl-Z are for the command, and it can read. */
#include "child.h"
#include "lockctl.h"

#include "pg_variables.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOOK_MS 500

/* To the foreground of the terminal; a background process that asks for it would be stopped. */
static void give_terminal(pid_t group) {
    sigset_t ttou, old;

    (void)sigemptyset(&ttou);
    (void)sigaddset(&ttou, SIGTTOU);
    (void)sigprocmask(SIG_BLOCK, &ttou, &old);
    (void)tcsetpgrp(STDIN_FILENO, group);
    (void)sigprocmask(SIG_SETMASK, &old, NULL);
}

/* In the new process, with all signals blocked: what we handle may not be handled here, as libuv's
 * handlers write to a pipe of ours. What was ignored stays so, but for those that lockctl ignores.
 */
static void become_command(const struct child *child, char **argv, const sigset_t *mask,
                           pid_t parent, int report) {
    static const int ours[] = {SIGPIPE, SIGXFSZ};
    struct sigaction now;
    int error;

    (void)setpgid(0, 0);
    if (child->has_terminal)
        give_terminal(getpid());
    for (int number = 1; number < NSIG; number++)
        if (sigaction(number, NULL, &now) == 0 && now.sa_handler != SIG_IGN)
            (void)signal(number, SIG_DFL);
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
        (void)signal(ours[i], SIG_DFL);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() == parent) {
        (void)sigprocmask(SIG_SETMASK, mask, NULL);
        pg_variables_remember();
        (void)execvp(argv[0], argv);
        error = errno;
        (void)!write(report, &error, sizeof error);
    }
    _exit(EXIT_NOT_FOUND);
}

/* The errno of execvp(), or 0: then the pipe closed. */
static int read_report(int report) {
    int error = 0;
    ssize_t length;

    do {
        length = read(report, &error, sizeof error);
    } while (length < 0 && errno == EINTR);
    return length == (ssize_t)sizeof error ? error : 0;
}

static int start_process(struct child *child, char **argv) {
    const pid_t parent = getpid();
    sigset_t all, mask;
    int report[2], error;

    if (pipe2(report, O_CLOEXEC) != 0)
        return errno;
    (void)sigfillset(&all);
    (void)sigprocmask(SIG_BLOCK, &all, &mask);
    child->pid = fork();
    error = child->pid < 0 ? errno : 0;
    if (child->pid == 0)
        become_command(child, argv, &mask, parent, report[1]);
    (void)close(report[1]);
    if (child->pid > 0) {
        (void)setpgid(child->pid, child->pid); /* whoever of the two comes first */
        error = read_report(report[0]);
        if (error)
            (void)waitpid(child->pid, NULL, 0);
    }
    (void)close(report[0]);
    (void)sigprocmask(SIG_SETMASK, &mask, NULL);
    return error;
}

static void take_terminal(const struct child *child) {
    if (child->has_terminal)
        give_terminal(getpgrp());
}

/* All that have ended or stopped; orphans of the group among them. */
static void reap(struct child *child) {
    bool is_stopped = false;
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0) {
        if (pid != child->pid)
            continue;
        if (WIFSTOPPED(status)) {
            is_stopped = true;
        } else {
            child->is_ended = true;
            child->status = status;
        }
    }
    if (is_stopped && !child->is_ended)
        child->on_stop(child);
}

static void child_look(struct child *child) {
    reap(child);
    if (!child->is_ended || (kill(-child->pid, 0) == 0 || errno != ESRCH))
        return;
    (void)uv_signal_stop(&child->on_child);
    (void)uv_timer_stop(&child->look);
    take_terminal(child);
    child->on_end(child);
}

static void on_child(uv_signal_t *handle, int number) {
    (void)number;
    child_look(handle->data);
}

static void on_look(uv_timer_t *timer) {
    child_look(timer->data);
}

int child_start(struct child *child, uv_loop_t *loop, char **argv) {
    int error;

    assert(child->on_stop != NULL && child->on_end != NULL);
    child->has_terminal = isatty(STDIN_FILENO) && tcgetpgrp(STDIN_FILENO) == getpgrp();
    child->is_ended = false;
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    error = start_process(child, argv);
    if (error) {
        take_terminal(child);
        return error;
    }
    (void)uv_signal_init(loop, &child->on_child);
    (void)uv_timer_init(loop, &child->look);
    child->on_child.data = child;
    child->look.data = child;
    error = -uv_signal_start(&child->on_child, on_child, SIGCHLD);
    /* One that has ended before this is found by the first look. */
    (void)uv_timer_start(&child->look, on_look, error ? LOOK_MS : 0, LOOK_MS);
    return 0;
}

void child_close(struct child *child) {
    uv_close((uv_handle_t *)&child->on_child, NULL);
    uv_close((uv_handle_t *)&child->look, NULL);
}

void child_signal(struct child *child, int number) {
    assert(child->pid > 0); /* or kill() would mean another group, or all processes */
    (void)kill(-child->pid, number);
}

void child_stop_with(struct child *child) {
    if (!child->has_terminal)
        return; /* somebody has stopped it, and will let it go on */
    take_terminal(child);
    (void)kill(0, SIGTSTP); /* our job: what stands above us in a script is to stop, too */
}

void child_go_on(struct child *child) {
    if (!child->has_terminal)
        return;
    give_terminal(child->pid);
    child_signal(child, SIGCONT);
}

int child_exit_code(const struct child *child) {
    assert(child->is_ended);
    return WIFSIGNALED(child->status) ? EXIT_SIGNAL + WTERMSIG(child->status)
                                      : WEXITSTATUS(child->status);
}
