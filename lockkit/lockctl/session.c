/* What every command begins and ends with: arguments, a client, messages, exit codes. */
#include "complain.h"
#include "lockctl.h"
#include "loop.h"
#include "utf8.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool verbose;
static char last_warning[512]; /* of lockkit: why it cannot reach the server */

int fail(int code, const char *format, ...) {
    va_list args;

    va_start(args, format);
    complain_list("lockctl", format, args);
    va_end(args);
    return code;
}

void be_verbose(void) {
    verbose = true;
}

void say(const char *format, ...) {
    va_list args;

    if (!verbose)
        return;
    va_start(args, format);
    complain_list("lockctl", format, args);
    va_end(args);
}

static void session_on_log(enum lk_log_level level, const char *message, const char *pairs,
                           void *data) {
    (void)data;
    if (level >= LK_LOG_WARN)
        (void)snprintf(last_warning, sizeof last_warning, "%s (%s)", message, pairs);
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

    if (code == EX_UNAVAILABLE && last_warning[0] != '\0')
        return fail(code, "%s: %s: %s", what, lk_status_text(status), last_warning);
    return fail(code, "%s: %s", what, lk_status_text(status));
}

int read_arguments(const struct setting *table, const char *about, const char *rest, int least,
                   int most, int *argc, char **argv) {
    const struct settings_program program = {
        .about = about, .prefix = "LOCKCTL", .rest = rest, .version = lk_version()};

    switch (settings_read(table, &program, argc, argv, NULL)) {
    case SETTINGS_OK:
        break;
    case SETTINGS_HELP:
        return EX_OK;
    case SETTINGS_ERROR:
        return EX_USAGE;
    }
    if (*argc - 1 >= least && *argc - 1 <= most)
        return -1;
    settings_free(table);
    return fail(EX_USAGE, "usage: %s [settings] %s; %s --help says more", argv[0], rest, argv[0]);
}

const char *session_url(const char *url) {
    return strcmp(url, "-") == 0 ? getenv("LOCKCTL_URL") : url;
}

/* The URL itself is never printed: there may be a password in it. */
static int session_open_client(struct session *session, const char *argument,
                               const struct lk_client_options *options) {
    const char *url = session_url(argument), *what = url == argument ? "the URL" : "LOCKCTL_URL";
    enum lk_status status;

    if (url == NULL)
        return fail(EX_USAGE, "the URL is - but LOCKCTL_URL is not set");
    status = lk_client_open(&session->client, &session->loop, url, options);
    if (status == LK_INVALID)
        return fail(EX_USAGE, "%s names no backend, or has a mistake: redis://host:port would do",
                    what);
    if (status == LK_UNSUPPORTED)
        return fail(EX_USAGE, "this build lacks what %s needs%s%s", what,
                    last_warning[0] ? ": " : "", last_warning);
    return status == LK_OK ? 0 : fail_status("the client", status);
}

int session_open(struct session *session, const char *url, const char *name,
                 const struct lk_client_options *client, const struct lk_lock_options *lock) {
    enum lk_status status;
    int code;

    memset(session, 0, sizeof *session);
    lk_set_log(session_on_log, NULL);
    code = loop_init(&session->loop);
    if (code != 0)
        return fail(EX_OSERR, "no event loop can be made: %s", uv_strerror(code));
    code = session_open_client(session, url, client);
    if (code == 0 && name != NULL) {
        status = lk_lock_open(&session->lock, session->client, name, lock);
        if (status != LK_OK)
            code = fail_status(status == LK_INVALID ? "the name or a setting" : "the lock", status);
    }
    if (code != 0)
        session_close(session);
    return code;
}

void session_end(struct session *session) {
    int rc;

    (void)uv_run(&session->loop, UV_RUN_DEFAULT);
    rc = uv_loop_close(&session->loop);
    assert(rc == 0);
    (void)rc;
}

void session_close(struct session *session) {
    if (session->client != NULL)
        lk_client_close(session->client, NULL, NULL);
    session_end(session);
}
