/* lockctl run: hold a lock while a command runs.
 *
 *     acquire ──► start the command ──► it has ended, with all its group ──► release ──► exit
 *        │                │ lease SUSPECT: told by --signal
 *        │                │ lease LOST: killed
 *        └─► not acquired: exit
 *
 * Signals end the wait before the command runs, and are passed on to it afterwards. */
#include "child.h"
#include "lockctl.h"
#include "number.h"
#include "utf8.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char about[] =
    "lockctl run: run a command while a lock is held.\n"
    "The lock is renewed while the command runs, and given back when every process\n"
    "of its process group has ended. The command finds the fencing token in\n"
    "LOCKCTL_FENCE and the lock's name in LOCKCTL_NAME. When the lock is in danger,\n"
    "as the server no longer confirms it, the group gets --signal, and --suspect\n"
    "later, still before anyone else can have the lock, SIGKILL. HUP, INT, QUIT,\n"
    "TERM, USR1 and USR2 are passed on to the group.\n"
    "Exit codes: the command's own, 128+N when signal N ended it; 64 bad usage, 69\n"
    "the server cannot be reached or refuses, 70 internal, 75 not acquired within\n"
    "--wait, 79 the lock was lost while the command ran, whatever that made of it,\n"
    "126 the command cannot be run, 127 it is not found.";

static struct {
    int64_t ttl_ns, suspect_ns, reply_ns, limit, permits;
    char *wait, *label, *signal;
    bool is_shared, is_fair, is_verbose;
} set;

static const struct setting table[] = {
    {"ttl", 0, SETTING_DURATION, &set.ttl_ns, "30s",
     "how long the lock outlives a machine that is gone; it is renewed every third of that",
     "10ms..24h"},
    {"wait", 'w', SETTING_TEXT, &set.wait, "forever",
     "how long to wait for the lock: a duration, 0 to try once, or forever", NULL},
    {"shared", 's', SETTING_FLAG, &set.is_shared, NULL, "beside others that are shared", NULL},
    {"limit", 0, SETTING_INT, &set.limit, "0",
     "a semaphore of so many permits; all users of a name give the same; 0: none", "0..1000000"},
    {"permits", 0, SETTING_INT, &set.permits, "1", "how many of --limit to take", "1..1000000"},
    {"fair", 0, SETTING_FLAG, &set.is_fair, NULL, "first come, first served", NULL},
    {"label", 0, SETTING_TEXT, &set.label, "",
     "who holds, for `lockctl holders`; empty: host and process", NULL},
    {"signal", 0, SETTING_TEXT, &set.signal, "TERM",
     "what tells the command that the lock is in danger; none: nothing before SIGKILL", NULL},
    {"suspect", 0, SETTING_DURATION, &set.suspect_ns, "0",
     "how long before the end of the lock it is told; 0: a quarter of --ttl", "0..24h"},
    REPLY_SETTING(set.reply_ns),
    VERBOSE_SETTING(set.is_verbose),
    {.name = NULL},
};

static const int forwarded[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
#define FORWARDED (sizeof forwarded / sizeof *forwarded)

struct run {
    struct session session;
    const char *name;
    char **argv;
    int signal; /* that tells of danger; 0: none */
    uv_signal_t signals[FORWARDED];
    lk_request *request; /* while it waits */
    lk_lease *lease;     /* while it holds */
    struct child child;
    bool is_lost, is_told;
    uint64_t began_ms;
    int code;
};

/* 0 for "none", or -1 when there is no such signal. */
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
    run->code = code;
    for (size_t i = 0; i < FORWARDED; i++)
        uv_close((uv_handle_t *)&run->signals[i], NULL);
    lk_client_close(run->session.client, NULL, NULL);
    run->session.client = NULL;
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
    /* It was held until now: the lease was valid, or its end would have been told. */
    say("%s: given back: %s; the command ended with %d", run->name, lk_status_text(status), code);
    run_finish(run, code);
}

static void on_child_end(struct child *child) {
    struct run *run = child->data;
    lk_lease *lease = run->lease;

    assert(lease != NULL); /* held for as long as any of the group runs */
    run->lease = NULL;
    child_close(child);
    lk_release(lease, run_on_released, run);
}

/* ---- While it runs */

static void on_child_stop(struct child *child) {
    struct run *run = child->data;

    say("%s: the command was stopped", run->name);
    child_stop_with(child);
    /* The stop may have been long: this process did not renew. */
    if (lk_lease_check(run->lease, 1) == LK_OK)
        child_go_on(child);
}

static void tell_danger(struct run *run, const char *why) {
    say("%s: the lock is in danger: %s", run->name, why != NULL ? why : "not confirmed");
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
                   why != NULL ? why : "its time has passed");
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
    if (status == LK_CANCELED) /* by on_signal */
        run_finish(run, run->code);
    else
        run_finish(run, fail_status(run->name, status));
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

/* What is ignored, as under nohup(1), stays so. */
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
    const struct lk_client_options client = {
        .size = sizeof client,
        .label = set.label[0] != '\0' ? set.label : NULL,
        .reply_ms = (uint32_t)(set.reply_ns / 1000000),
    };
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
    int code = session_open(&run->session, url, run->name, &client, &lock);

    if (code != 0)
        return code;
    run->began_ms = uv_now(&run->session.loop);
    catch_signals(run);
    status = lk_acquire(run->session.lock, wait_ms, run_on_acquired, run, &run->request);
    if (status != LK_OK)
        run_finish(run, fail_status(run->name, status));
    session_end(&run->session);
    return run->code;
}

/* Flags stand before `--`, and the command behind it. */
static int run_read(struct run *run, uint32_t *wait_ms, int argc, char **argv) {
    const char rest[] = "URL NAME -- COMMAND...";
    int flags = 1, code;

    while (flags < argc && strcmp(argv[flags], "--") != 0)
        flags++;
    run->argv = argv + (flags < argc ? flags + 1 : argc);
    if (flags < argc)
        argv[flags] = NULL;
    code = read_arguments(table, about, rest, 2, 2, &flags, argv);
    if (code >= 0)
        return code;
    run->name = argv[2];
    run->signal = signal_of(set.signal);
    if (set.is_verbose)
        be_verbose();
    if (run->argv[0] == NULL)
        return fail(EX_USAGE, "which command? usage: lockctl run [settings] %s", rest);
    if (run->signal < 0)
        return fail(EX_USAGE, "--signal: there is no signal \"%s\"; TERM and 15 are two",
                    set.signal);
    if (!utf8_is_printable(set.label))
        return fail(EX_USAGE, "--label is printable text in UTF-8, as others are shown it");
    if (parse_wait(set.wait, wait_ms) != 0)
        return fail(EX_USAGE, "--wait: \"%s\" is neither a duration, such as 1m, nor forever",
                    set.wait);
    if (set.suspect_ns >= set.ttl_ns)
        return fail(EX_USAGE, "--suspect is before the end of the lock, and so less than --ttl");
    return -1;
}

int run_main(int argc, char **argv) {
    static struct run run;
    uint32_t wait_ms = LK_FOREVER;
    int code = run_read(&run, &wait_ms, argc, argv);

    if (code < 0)
        code = run_hold(&run, argv[1], wait_ms);
    settings_free(table);
    return code;
}
