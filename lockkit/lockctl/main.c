/* lockctl: locks of a cluster for shells. flock(1) does the same on one machine. */
#include "complain.h"
#include "inherited.h"
#include "lockctl.h"
#include "loop.h"
#include "pg_variables.h"
#include "reference.h"
#include "version.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char help[] =
    "lockctl: hold a distributed lock while a command runs (flock(1) does that on one\n"
    "machine), list its holders, and break it.\n"
    "\n"
    "  lockctl run URL NAME -- COMMAND...  run a command while the lock is held\n"
    "  lockctl holders URL NAME            list the holders and the waiters\n"
    "  lockctl break URL NAME [OWNER]      take the lock from its holder\n"
    "  lockctl watch URL NAME              print each change of holder\n"
    "  lockctl bench URL                   measure the speed of acquire and release\n"
    "  lockctl COMMAND --help              print its settings and exit codes\n"
    "  lockctl --version                   print the version of lockctl and lockkit\n"
    "\n"
    "URL names a backend, such as redis://127.0.0.1:6379. The list of processes shows\n"
    "arguments: put a URL with a password into LOCKCTL_URL, and write - for URL.\n";

/* ---- Messages and exit codes */

struct shared_settings shared;
static char last_warning[512]; /* from lockkit: why it cannot reach the server */

int fail(int code, const char *format, ...) {
    va_list args;

    va_start(args, format);
    complain_list("lockctl", format, args);
    va_end(args);
    return code;
}

void say(const char *format, ...) {
    va_list args;

    if (!shared.is_verbose)
        return;
    va_start(args, format);
    complain_list("lockctl", format, args);
    va_end(args);
}

void say_that_it_waits(const char *why) {
    if (shared.is_patient && !shared.is_verbose)
        (void)fail(0, "%s; it goes on trying", why);
    shared.is_patient = false;
}

static void session_on_log(enum lk_log_level level, const char *message, const char *pairs,
                           void *data) {
    (void)data;
    if (level >= LK_LOG_WARN)
        (void)snprintf(last_warning, sizeof last_warning, "%s (%s)", message, pairs);
    if (level >= LK_LOG_WARN)
        say_that_it_waits(last_warning);
    if (level >= LK_LOG_INFO)
        say("%s (%s)", message, pairs);
}

static int exit_code(enum lk_status status) {
    switch (status) {
    case LK_OK:
        return EX_OK;
    case LK_BUSY:
    case LK_TIMEOUT:
        return EXIT_BUSY;
    case LK_LOST:
        return EXIT_LOST;
    case LK_UNKNOWN:
    case LK_UNAVAILABLE:
    case LK_REFUSED:
        return EX_UNAVAILABLE;
    case LK_UNSUPPORTED:
    case LK_INVALID:
        return EX_USAGE;
    case LK_CANCELED:
    case LK_NOMEM:
        break;
    }
    return EX_SOFTWARE;
}

int fail_status(const char *what, enum lk_status status) {
    int code = exit_code(status);

    if (status == LK_UNSUPPORTED && what[0] == '}') /* a Redis Cluster finds no slot for it */
        return fail_unsupported(what, "any but redis+cluster://");
    if (code == EX_UNAVAILABLE && last_warning[0] != '\0')
        return fail(code, "%s: %s: %s", what, lk_status_text(status), last_warning);
    return fail(code, "%s: %s", what, lk_status_text(status));
}

int fail_unsupported(const char *what, const char *kinds) {
    return fail(EX_USAGE, "%s: %s; such a URL could: %s", what, lk_status_text(LK_UNSUPPORTED),
                kinds);
}

int json_print(json_t *json) {
    int rc = json != NULL ? json_dumpf(json, stdout, JSON_COMPACT | JSON_REAL_PRECISION(6)) : -1;

    json_decref(json);
    return rc == 0 && putchar('\n') == '\n' && fflush(stdout) == 0 ? 0 : -1;
}

void session_finish(struct session *session, int code) {
    session->code = code;
    if (session->client != NULL)
        lk_client_close(session->client, NULL, NULL);
    session->client = NULL;
}

int session_end(struct session *session) {
    int rc;

    (void)uv_run(&session->loop, UV_RUN_DEFAULT);
    rc = uv_loop_close(&session->loop);
    assert(rc == 0);
    (void)rc;
    return session->code;
}

/* Cut the path behind its first folder that is not there. False: all are there. */
static bool cut_to_missing(char *path) {
    struct stat stat;
    char *end = path;

    do {
        end += 1 + strcspn(end + 1, "/");
        const char mark = *end;

        *end = '\0';
        if (lstat(path, &stat) != 0 && errno == ENOENT)
            return true;
        *end = mark;
    } while (*end != '\0');
    return false;
}

/* lockkit makes the folder of such a URL if it is not there, but not the folders above it. A person
 * may have mistyped it, and would then hold a lock that nobody else sees. */
static int look_for_folder(const char *url) {
    static const char scheme[] = "file:";
    char path[PATH_MAX];
    size_t length;

    if (strncmp(url, scheme, strlen(scheme)) != 0)
        return 0;
    url += strlen(scheme);
    length = strcspn(url, "?");
    (void)snprintf(path, sizeof path, "%.*s", (int)length, url);
    if (!cut_to_missing(path))
        return 0;
    if (strlen(path) < length)
        return fail(EX_USAGE, "there is no folder %s: correct the URL, or make that folder", path);
    if (shared.is_create)
        return 0;
    return shared.may_create
               ? fail(EX_USAGE,
                      "there is no folder %s: correct the URL, or make the folder "
                      "with --create",
                      path)
               : fail(EX_USAGE, "there is no folder %s, and so no lock in it: correct the URL",
                      path);
}

/* Kinds of URL that can do what this one cannot: all that the settings of `lock` ask for. */
static const char *kinds_for(const struct lk_lock_options *lock) {
    if (lock->limit > 0)
        return "redis://, redis+cluster://, etcd:// or zookeeper://";
    if (lock->mode == LK_SHARED || lock->is_fair)
        return "redis://, redis+cluster://, etcd://, zookeeper:// or postgres://...?mode=session";
    return "redis:// or postgres://";
}

/* The URL is never printed: it may contain a password. */
static int session_open_client(struct session *session, const char *argument, const char *label) {
    const struct lk_client_options options = {
        .size = sizeof options, .label = label, .reply_ms = (uint32_t)(shared.reply_ns / 1000000)};
    const bool is_given = strcmp(argument, "-") != 0;
    const char *what = is_given ? "the URL" : "LOCKCTL_URL";
    enum lk_status status;

    session->url = is_given ? argument : getenv("LOCKCTL_URL");
    if (session->url == NULL)
        return fail(EX_USAGE, "the URL is - but LOCKCTL_URL is not set: set it, or give a URL");
    status = lk_client_open(&session->client, &session->loop, session->url, &options);
    if (status == LK_INVALID)
        return fail(EX_USAGE,
                    "%s names no backend, or has a mistake%s%s; examples: redis://host:port, "
                    "postgres://host/database?mode=table, etcd://host, zookeeper://host, "
                    "file:/folder",
                    what, last_warning[0] ? ": " : "", last_warning);
    if (status == LK_UNSUPPORTED)
        return fail(EX_USAGE, "this build does not support %s%s%s", what,
                    last_warning[0] ? ": " : "", last_warning);
    return status == LK_OK ? look_for_folder(session->url) : fail_status("the client", status);
}

int session_open(struct session *session, const char *argument, const char *name, const char *label,
                 const struct lk_lock_options *lock) {
    enum lk_status status;
    int code;

    memset(session, 0, sizeof *session);
    lk_set_log(session_on_log, NULL);
    code = loop_init(&session->loop);
    if (code != 0)
        return fail(EX_OSERR, "cannot make an event loop: %s", uv_strerror(code));
    code = session_open_client(session, argument, label);
    if (code == 0) {
        status = lk_lock_open(&session->lock, session->client, name, lock);
        if (status == LK_UNSUPPORTED)
            code = fail_unsupported("the lock", kinds_for(lock));
        else if (status != LK_OK)
            code = fail_status(status == LK_INVALID ? "the name or a setting" : "the lock", status);
    }
    if (code == 0)
        return 0;
    session_finish(session, code);
    return session_end(session);
}

/* ---- Commands */

/* Read the flags and the other arguments. Returns -1, or the exit code to end with at once. */
static int read_arguments(const struct command *command, int *argc, char **argv) {
    const struct settings_program program = {
        .about = command->about, .prefix = "LOCKCTL", .rest = command->rest};

    switch (settings_read(command->settings, &program, argc, argv, NULL)) {
    case SETTINGS_OK:
        break;
    case SETTINGS_HELP:
        return EX_OK;
    case SETTINGS_ERROR:
        return EX_USAGE;
    }
    if (*argc - 1 >= command->least && *argc - 1 <= command->most)
        return -1;
    return fail(EX_USAGE, "usage: %s [settings] %s; for more: %s --help", argv[0], command->rest,
                argv[0]);
}

static int command_main(const struct command *command, int argc, char **argv) {
    char name[32];
    int code;

    (void)snprintf(name, sizeof name, "%s", command->name);
    argv[0] = name;
    shared.behind = argv + argc;
    if (strstr(command->rest, "--") != NULL)
        for (int i = 1; i < argc; i++)
            if (strcmp(argv[i], "--") == 0) {
                shared.behind = argv + i + 1;
                argv[i] = NULL;
                argc = i;
            }
    for (const struct setting *each = command->settings; each->name != NULL; each++)
        shared.may_create |= each->value == &shared.is_create;
    code = read_arguments(command, &argc, argv);
    if (code < 0)
        code = command->run(argv);
    settings_free(command->settings);
    return code;
}

static const struct command *const commands[] = {&command_run, &command_holders, &command_break,
                                                 &command_watch, &command_bench};
#define COMMANDS (sizeof commands / sizeof *commands)

/* -1 or an exit code, as reference_asked(). */
static int reference(int argc, char **argv) {
    struct settings_program programs[COMMANDS + 1] = {{.about = help, .prefix = "LOCKCTL"}};
    struct reference_command rows[COMMANDS + 1] = {{"", &programs[0], NULL}};
    const struct reference all = {"lockctl", 1, NULL, rows, COMMANDS + 1};

    for (size_t i = 0; i < COMMANDS; i++) {
        programs[i + 1] = (struct settings_program){
            .about = commands[i]->about, .prefix = "LOCKCTL", .rest = commands[i]->rest};
        rows[i + 1] = (struct reference_command){commands[i]->name + strlen("lockctl "),
                                                 &programs[i + 1], commands[i]->settings};
    }
    return reference_asked(&all, argc, argv);
}

static int find_command(int argc, char **argv) {
    for (size_t i = 0; i < COMMANDS; i++)
        if (strcmp(argv[1], commands[i]->name + strlen("lockctl ")) == 0)
            return command_main(commands[i], argc - 1, argv + 1);
    return fail(EX_USAGE, "there is no command \"%.80s\"; lockctl --help lists the commands",
                argv[1]);
}

int main(int argc, char **argv) {
    int code = reference(argc, argv);

    inherited_mend();
    pg_variables_forget();
    if (code >= 0)
        return code;
    code = EX_OK;
    if (argc < 2)
        return fail(EX_USAGE, "which command? lockctl --help lists the commands");
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
        (void)fputs(help, stdout);
    else if (strcmp(argv[1], "--version") == 0)
        (void)printf("lockctl %s\n", version_text());
    else
        code = find_command(argc, argv);
    if (fflush(stdout) != 0 || ferror(stdout))
        return code == EX_OK ? fail(EX_IOERR, "cannot write the output") : code;
    return code;
}
