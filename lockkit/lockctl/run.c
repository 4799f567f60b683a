/* lockctl run: hold a lock while a command runs.
 *
 *     acquire ──► start the command ──► its whole process group has ended ──► release ──► exit
 *        │                │ lease SUSPECT: the command gets --signal
 *        │                │ lease LOST: the command is killed
 *        └─► not acquired: exit
 *
 * Before the command runs, a signal ends the wait. Afterwards signals are passed on to the command.
 */
#include "lockctl.h"
#include "number.h"
#include "pg_variables.h"
#include "utf8.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOOK_MS    500
#define PATIENT_MS 1000 /* after this it says why it waits */
#define AGAIN_MS   5000

static struct {
    int64_t ttl_ns, suspect_ns, limit, permits;
    char *wait, *label, *signal;
    bool is_shared, is_fair;
} set;

static const struct setting settings[] = {
    {"ttl", 0, SETTING_DURATION, &set.ttl_ns, "30s",
     "how long the lock outlives a dead machine; it is renewed every third of that", "10ms..24h"},
    {"wait", 'w', SETTING_TEXT, &set.wait, "forever",
     "how long to wait for the lock: a duration, 0 to try once, or forever", NULL},
    {"shared", 's', SETTING_FLAG, &set.is_shared, NULL, "hold it beside other shared holders",
     NULL},
    {"limit", 0, SETTING_INT, &set.limit, "0",
     "a semaphore with so many permits, the same for all users of a name; 0: a plain lock",
     "0..1000000"},
    {"permits", 0, SETTING_INT, &set.permits, "1", "how many permits of --limit to take",
     "1..1000000"},
    {"fair", 0, SETTING_FLAG, &set.is_fair, NULL, "first come, first served", NULL},
    {"label", 0, SETTING_TEXT, &set.label, "",
     "the holder's name in `lockctl holders`; empty: host and process", NULL},
    {"signal", 0, SETTING_TEXT, &set.signal, "TERM",
     "the signal that warns the command of danger; none: it gets only SIGKILL", NULL},
    {"suspect", 0, SETTING_DURATION, &set.suspect_ns, "0",
     "how long before the end of the lock to send --signal; 0: a quarter of --ttl", "0..24h"},
    CREATE_SETTING,
    REPLY_SETTING,
    VERBOSE_SETTING,
    {.name = NULL},
};

/* ---- The command: it starts in a process group of its own, and ends when the last process of that
 * group has ended.
 *
 * Orphans of the group become children of this process, which is a subreaper. So SIGCHLD tells the
 * end of each process. Only a process with a living parent outside the group is found by a look
 * every LOOK_MS. If lockctl itself is killed, the kernel kills the command: nobody would renew its
 * lock.
 *
 * On a terminal the group is in the foreground, as under a shell: keys such as Ctrl-C and Ctrl-Z go
 * to the command, and it can read. */

struct child {
    pid_t pid; /* also the number of its group */
    bool has_terminal;
    bool is_ended; /* the command itself; other processes of its group may still run */
    int status;    /* from waitpid(), once it has ended */
    uv_signal_t on_child;
    uv_timer_t look;
    void (*on_stop)(struct child *child); /* the terminal has stopped the command */
    void (*on_end)(struct child *child);  /* runs once: no process of the group is left */
    void *data;
};

/* Move the group to the foreground of the terminal. SIGTTOU would stop a background process that
 * asks for it, so it is blocked here. */
static void give_terminal(pid_t group) {
    sigset_t ttou, old;

    (void)sigemptyset(&ttou);
    (void)sigaddset(&ttou, SIGTTOU);
    (void)sigprocmask(SIG_BLOCK, &ttou, &old);
    (void)tcsetpgrp(STDIN_FILENO, group);
    (void)sigprocmask(SIG_SETMASK, &old, NULL);
}

/* Runs in the new process, with all signals blocked. libuv's handlers write to a pipe of lockctl,
 * so they must not run here. Ignored signals stay ignored, except SIGPIPE and
 * SIGXFSZ, which lockctl itself ignores. */
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

/* The errno of execvp(), or 0: the pipe was closed. */
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
        (void)setpgid(child->pid, child->pid); /* the child does it, too: either is first */
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

/* Reap all processes that have ended or stopped, orphans of the group among them. */
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

/* Start argv[0], which is found by PATH. `on_end` runs once, on the loop; call child_close() there.
 * Returns 0, or an errno; then there is nothing to undo. */
static int child_start(struct child *child, uv_loop_t *loop, char **argv) {
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
    /* If the command has ended already, the first look finds that. */
    (void)uv_timer_start(&child->look, on_look, error ? LOOK_MS : 0, LOOK_MS);
    return 0;
}

static void child_close(struct child *child) {
    uv_close((uv_handle_t *)&child->on_child, NULL);
    uv_close((uv_handle_t *)&child->look, NULL);
}

static void child_signal(struct child *child, int number) {
    assert(child->pid > 0); /* else kill() would signal another group, or all processes */
    (void)kill(-child->pid, number);
}

/* For on_stop: the shell gets the terminal until it lets lockctl go on. */
static void child_stop_with(struct child *child) {
    if (!child->has_terminal)
        return; /* a program stopped the command, and will let it go on */
    take_terminal(child);
    (void)kill(0, SIGTSTP); /* our job: a script that runs lockctl must stop, too */
}

static void child_go_on(struct child *child) {
    if (!child->has_terminal)
        return;
    give_terminal(child->pid);
    child_signal(child, SIGCONT);
}

/* Its exit code, or 128 + the number of the signal that ended it. */
static int child_exit_code(const struct child *child) {
    assert(child->is_ended);
    return WIFSIGNALED(child->status) ? EXIT_SIGNAL + WTERMSIG(child->status)
                                      : WEXITSTATUS(child->status);
}

/* ---- The run */

static const int forwarded[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
#define FORWARDED (sizeof forwarded / sizeof *forwarded)

struct run {
    struct session session;
    const char *name;
    char **argv;
    int signal; /* the one that warns of danger; 0: none */
    uv_signal_t signals[FORWARDED];
    lk_request *request; /* while lockctl waits */
    uv_timer_t waits;    /* to look whether the server answers */
    lk_lease *lease;     /* while lockctl holds */
    struct child child;
    bool is_lost, is_told, is_holder_told;
    uint64_t began_ms;
    int code;
};

/* 0 for "none"; -1: there is no such signal. */
static int signal_of(const char *name) {
    int64_t number;

    if (strcmp(name, "none") == 0)
        return 0;
    if (number_read_int(name, &number) == 0)
        return number > 0 && number < NSIG ? (int)number : -1;
    if (strncmp(name, "SIG", 3) == 0)
        name += 3;
    for (int i = 1; i < NSIG; i++) {
        const char *its = sigabbrev_np(i);

        if (its != NULL && strcmp(name, its) == 0)
            return i;
    }
    return -1;
}

static int parse_wait(const char *text, uint32_t *wait_ms) {
    int64_t ns;

    if (strcmp(text, "forever") == 0)
        return 0;
    if (number_read_duration(text, &ns) != 0 || ns / 1000000 >= UINT32_MAX)
        return -1;
    *wait_ms = (uint32_t)(ns / 1000000);
    return 0;
}

/* ---- The end */

static void run_finish(struct run *run, int code) {
    assert(run->lease == NULL && run->session.client != NULL);
    for (size_t i = 0; i < FORWARDED; i++)
        uv_close((uv_handle_t *)&run->signals[i], NULL);
    uv_close((uv_handle_t *)&run->waits, NULL);
    session_finish(&run->session, code);
}

static void run_on_released(enum lk_status status, void *data) {
    struct run *run = data;
    int code = child_exit_code(&run->child);

    if (status == LK_LOST || run->is_lost) {
        if (!run->is_lost)
            (void)fail(0, "%s: the lock was lost while the command ran", run->name);
        run_finish(run, EXIT_LOST);
        return;
    }
    /* The lock was held until now: the lease was valid, or the callback would have told its end. */
    say("%s: released: %s; the command ended with %d", run->name, lk_status_text(status), code);
    run_finish(run, code);
}

static void on_child_end(struct child *child) {
    struct run *run = child->data;
    lk_lease *lease = run->lease;

    assert(lease != NULL); /* held while any process of the group runs */
    run->lease = NULL;
    child_close(child);
    lk_release(lease, run_on_released, run);
}

/* ---- While it runs */

static void on_child_stop(struct child *child) {
    struct run *run = child->data;

    say("%s: the command was stopped", run->name);
    child_stop_with(child);
    /* This process did not renew while it was stopped, perhaps for long. */
    if (lk_lease_check(run->lease, 1) == LK_OK)
        child_go_on(child);
}

static void tell_danger(struct run *run, const char *why) {
    say("%s: the lock is in danger: %s", run->name, why != NULL ? why : "no renewal was confirmed");
    if (run->signal == 0 || run->is_told)
        return;
    run->is_told = true;
    child_signal(&run->child, run->signal);
}

static void run_on_state(lk_lease *lease, enum lk_state state, const char *why, void *data) {
    struct run *run = data;

    (void)lease;
    switch (state) {
    case LK_HELD:
        say("%s: the lock is safe again", run->name);
        break;
    case LK_SUSPECT:
        tell_danger(run, why);
        break;
    case LK_LOST_STATE:
        run->is_lost = true;
        (void)fail(0, "%s: the lock is lost: %s; the command is killed", run->name,
                   why != NULL ? why : "its TTL has passed");
        child_signal(&run->child, SIGKILL);
        break;
    }
}

static void export_lock(const struct run *run, uint64_t fence) {
    char text[24];

    (void)snprintf(text, sizeof text, "%" PRIu64, fence);
    (void)setenv("LOCKCTL_NAME", run->name, 1);
    if (fence)
        (void)setenv("LOCKCTL_FENCE", text, 1);
    else
        (void)unsetenv("LOCKCTL_FENCE");
}

static void on_given_back(enum lk_status status, void *data) {
    (void)status;
    run_finish(data, ((struct run *)data)->code);
}

static void start_command(struct run *run) {
    int error;

    export_lock(run, lk_lease_fence(run->lease));
    run->child.data = run;
    run->child.on_end = on_child_end;
    run->child.on_stop = on_child_stop;
    error = child_start(&run->child, &run->session.loop, run->argv);
    if (error) {
        lk_lease *lease = run->lease;

        run->lease = NULL;
        run->code = fail(error == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_RUN, "%s: %s", run->argv[0],
                         strerror(error));
        lk_release(lease, on_given_back, run);
        return;
    }
    lk_lease_on_state(run->lease, run_on_state, run);
}

/* ---- Before it runs */

static void run_on_acquired(lk_request *request, enum lk_status status, lk_lease *lease,
                            void *data) {
    struct run *run = data;

    (void)request;
    run->request = NULL;
    if (status == LK_OK && run->code != 0) { /* a signal came in the same turn */
        lk_release(lease, on_given_back, run);
        return;
    }
    if (status == LK_OK) {
        run->lease = lease;
        say("%s: acquired after %" PRIu64 " ms, fencing token %" PRIu64, run->name,
            uv_now(&run->session.loop) - run->began_ms, lk_lease_fence(lease));
        start_command(run);
        return;
    }
    if (status == LK_CANCELED) /* by run_on_signal() */
        run_finish(run, run->code);
    else
        run_finish(run, fail_status(run->name, status));
}

/* Once. The label comes from a stranger. */
static void tell_holder(struct run *run, const struct lk_inspection *inspection) {
    char label[256];

    if (run->is_holder_told || inspection->holder_count == 0)
        return;
    run->is_holder_told = true;
    (void)snprintf(label, sizeof label, "%s", inspection->holders[0].label);
    utf8_make_printable(label);
    (void)fail(0, "%s: waiting; %s%s", run->name,
               label[0] != '\0' ? label : "a holder without a label",
               inspection->holder_count > 1 ? " and others hold it" : " holds it");
}

/* A server that is cut off or stands still says nothing, and no connection breaks. */
static void run_on_inspected(enum lk_status status, const struct lk_inspection *inspection,
                             void *data) {
    struct run *run = data;
    char why[600];

    (void)snprintf(why, sizeof why, "%s: the server does not answer", run->name);
    if (run->request != NULL && (status == LK_UNKNOWN || status == LK_UNAVAILABLE))
        say_that_it_waits(why);
    else if (run->request != NULL && status == LK_OK)
        tell_holder(run, inspection);
}

static void run_on_waits(uv_timer_t *timer) {
    struct run *run = timer->data;

    if (run->request == NULL || (!shared.is_patient && run->is_holder_told) ||
        lk_inspect(run->session.lock, run_on_inspected, run) != LK_OK)
        (void)uv_timer_stop(timer);
}

static void run_on_signal(uv_signal_t *handle, int number) {
    struct run *run = handle->data;

    if (run->lease != NULL) {
        say("%s: SIG%s is passed on to the command", run->name, sigabbrev_np(number));
        child_signal(&run->child, number);
    } else if (run->request != NULL) {
        run->code = EXIT_SIGNAL + number;
        lk_cancel(run->request);
        run->request = NULL;
    }
}

/* An ignored signal stays ignored, as under nohup(1). */
static void catch_signals(struct run *run) {
    for (size_t i = 0; i < FORWARDED; i++) {
        struct sigaction now;

        (void)uv_signal_init(&run->session.loop, &run->signals[i]);
        run->signals[i].data = run;
        if (sigaction(forwarded[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
            (void)uv_signal_start(&run->signals[i], run_on_signal, forwarded[i]);
    }
}

static int run_hold(struct run *run, const char *url, uint32_t wait_ms) {
    const struct lk_lock_options lock = {
        .size = sizeof lock,
        .ttl_ms = (uint32_t)(set.ttl_ns / 1000000),
        .suspect_ms = (uint32_t)(set.suspect_ns / 1000000),
        .is_fair = set.is_fair,
        .mode = set.is_shared || set.limit ? LK_SHARED : LK_EXCLUSIVE,
        .limit = (uint32_t)set.limit,
        .permits = set.limit ? (uint32_t)set.permits : 0,
    };
    enum lk_status status;
    int code =
        session_open(&run->session, url, run->name, set.label[0] != '\0' ? set.label : NULL, &lock);

    if (code != 0)
        return code;
    run->began_ms = uv_now(&run->session.loop);
    catch_signals(run);
    shared.is_patient = wait_ms > PATIENT_MS;
    (void)uv_timer_init(&run->session.loop, &run->waits);
    run->waits.data = run;
    (void)uv_timer_start(&run->waits, run_on_waits, PATIENT_MS, AGAIN_MS);
    status = lk_acquire(run->session.lock, wait_ms, run_on_acquired, run, &run->request);
    if (status != LK_OK)
        run_finish(run, fail_status(run->name, status));
    return session_end(&run->session);
}

static int run_command(char **argv) {
    static struct run run;
    uint32_t wait_ms = LK_FOREVER;

    run.name = argv[2];
    run.argv = shared.behind;
    run.signal = signal_of(set.signal);
    if (run.argv[0] == NULL)
        return fail(EX_USAGE, "which command? usage: lockctl run [settings] %s", command_run.rest);
    if (run.signal < 0)
        return fail(EX_USAGE, "--signal: there is no signal \"%s\"; examples: TERM, 15, none",
                    set.signal);
    if (!utf8_is_printable(set.label))
        return fail(EX_USAGE,
                    "--label must be printable text in UTF-8: lockctl prints it for other users");
    if (parse_wait(set.wait, &wait_ms) != 0)
        return fail(EX_USAGE, "--wait: \"%s\" is neither a duration, such as 1m, nor \"forever\"",
                    set.wait);
    if (set.suspect_ns >= set.ttl_ns)
        return fail(EX_USAGE, "--suspect must be less than --ttl");
    return run_hold(&run, argv[1], wait_ms);
}

const struct command command_run = {
    .name = "lockctl run",
    .about = "lockctl run: run a command while a lock is held.\n"
             "The lock is renewed while the command runs, and given back when every process\n"
             "of its process group has ended. The command finds the fencing token in\n"
             "LOCKCTL_FENCE and the lock's name in LOCKCTL_NAME. When the server no longer\n"
             "confirms the lock, the group gets --signal. After --suspect, and before anyone\n"
             "else can have the lock, it gets SIGKILL. lockctl passes HUP, INT, QUIT, TERM,\n"
             "USR1 and USR2 on to the group.\n"
             "Exit codes: the command's own, or 128+N if signal N ended it; 64 bad usage, 69\n"
             "the server cannot be reached or refuses, 70 internal, 75 not acquired within\n"
             "--wait, 79 the lock was lost while the command ran (also if the command\n"
             "succeeded), 126 the command cannot be run, 127 it is not found.",
    .rest = "URL NAME -- COMMAND...",
    .least = 2,
    .most = 2,
    .settings = settings,
    .run = run_command,
};
