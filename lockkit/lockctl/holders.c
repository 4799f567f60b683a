/* lockctl holders, break and watch: list the holders of a lock, take it from them, print each
 * change.
 *
 * The texts that a server has for a lock come from strangers. They are made printable before they
 * reach a terminal, and valid UTF-8 before they go into JSON. */
#include "lockctl.h"
#include "utf8.h"

#include <assert.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TEXT_BYTES 256

static json_t *text_json(const char *text) {
    char *clean = malloc(UTF8_ROOM(strlen(text)));
    json_t *json;

    if (clean == NULL)
        return NULL;
    (void)utf8_clean(clean, text);
    json = json_string(clean);
    free(clean);
    return json;
}

static const char *mode_text(enum lk_mode mode) {
    return mode == LK_SHARED ? "shared" : "exclusive";
}

/* A value that is not known is null. */
static json_t *holder_json(const struct lk_holder *holder) {
    return json_pack("{s:o, s:o, s:o, s:o, s:s, s:I}", "owner", text_json(holder->owner), "label",
                     text_json(holder->label), "fence",
                     holder->fence ? json_integer((json_int_t)holder->fence) : json_null(),
                     "remaining_ms",
                     holder->remaining_ms >= 0 ? json_integer(holder->remaining_ms) : json_null(),
                     "mode", mode_text(holder->mode), "permits", (json_int_t)holder->permits);
}

static json_t *holders_json(const struct lk_holder *holders, size_t count) {
    json_t *array = json_array();

    for (size_t i = 0; i < count; i++)
        if (json_array_append_new(array, holder_json(&holders[i])) != 0) {
            json_decref(array);
            return NULL;
        }
    return array;
}

/* {"name", "holders": [...], "waiters": [...]}; NULL: out of memory. */
static json_t *inspection_json(const char *name, const struct lk_inspection *inspection) {
    return json_pack("{s:o, s:o, s:o}", "name", text_json(name), "holders",
                     holders_json(inspection->holders, inspection->holder_count), "waiters",
                     holders_json(inspection->waiters, inspection->waiter_count));
}

static const char *inspection_printable(char to[TEXT_BYTES], const char *text) {
    (void)snprintf(to, TEXT_BYTES, "%s", text);
    utf8_make_printable(to);
    return to;
}

static void inspection_print_row(const char *what, const struct lk_holder *holder) {
    char owner[TEXT_BYTES], label[TEXT_BYTES], fence[24] = "-", left[32] = "-";

    if (holder->fence)
        (void)snprintf(fence, sizeof fence, "%" PRIu64, holder->fence);
    if (holder->remaining_ms >= 0)
        (void)snprintf(left, sizeof left, "%.1f s", (double)holder->remaining_ms / 1000);
    (void)printf("%-7s  %-9s  %7" PRIu32 "  %-40s  %16s  %9s  %s\n", what, mode_text(holder->mode),
                 holder->permits, inspection_printable(owner, holder->owner), fence, left,
                 inspection_printable(label, holder->label));
}

static void inspection_print(const struct lk_inspection *inspection) {
    if (inspection->holder_count + inspection->waiter_count == 0) {
        (void)puts("free");
        return;
    }
    (void)printf("%-7s  %-9s  %7s  %-40s  %16s  %9s  %s\n", "", "MODE", "PERMITS", "OWNER", "FENCE",
                 "LEFT", "LABEL");
    for (size_t i = 0; i < inspection->holder_count; i++)
        inspection_print_row("holds", &inspection->holders[i]);
    for (size_t i = 0; i < inspection->waiter_count; i++)
        inspection_print_row("waits", &inspection->waiters[i]);
}

/* ---- holders and break: one question */

static struct {
    struct session session;
    const char *name, *owner;
} asked;

/* Ask by `start`, and run until the answer is here. */
static int holders_ask(char **argv, enum lk_status (*start)(void)) {
    int code = session_open(&asked.session, argv[1], argv[2], NULL, NULL);
    enum lk_status status;

    asked.name = argv[2];
    if (code != 0)
        return code;
    status = start();
    if (status == LK_UNSUPPORTED) /* only break */
        session_finish(
            &asked.session,
            fail_unsupported(asked.name, "file:/folder?kind=mkdir, or that of any server"));
    else if (status != LK_OK)
        session_finish(&asked.session, fail_status(asked.name, status));
    return session_end(&asked.session);
}

static void holders_on_inspected(enum lk_status status, const struct lk_inspection *inspection,
                                 void *data) {
    int code = EX_OK;

    (void)data;
    if (status != LK_OK)
        code = fail_status(asked.name, status);
    else if (!shared.is_json)
        inspection_print(inspection);
    else if (json_print(inspection_json(asked.name, inspection)) != 0)
        code = fail(EX_SOFTWARE, "cannot make or write the JSON");
    session_finish(&asked.session, code);
}

static enum lk_status start_inspect(void) {
    return lk_inspect(asked.session.lock, holders_on_inspected, NULL);
}

static int holders_run(char **argv) {
    return holders_ask(argv, start_inspect);
}

static const struct setting holders_settings[] = {
    JSON_SETTING, REPLY_SETTING, VERBOSE_SETTING, {.name = NULL}};

const struct command command_holders = {
    .name = "lockctl holders",
    .about = "lockctl holders: list the holders of a lock, and its waiters where the backend\n"
             "knows them, in the order of the line. The JSON has name, holders and waiters;\n"
             "each of these has owner, label, fence, remaining_ms, mode and permits. null:\n"
             "not known.\n"
             "Exit codes: 0 listed, also if nobody holds it; 64 bad usage, 69 the server\n"
             "cannot be reached or refuses, 70 internal.",
    .rest = "URL NAME",
    .least = 2,
    .most = 2,
    .settings = holders_settings,
    .run = holders_run,
};

static void holders_on_broken(enum lk_status status, void *data) {
    (void)data;
    if (status == LK_OK)
        say("%s: taken from its holder", asked.name);
    if (status == LK_LOST)
        session_finish(&asked.session, fail(EXIT_NOBODY, "%s: %s", asked.name,
                                            asked.owner != NULL ? "that owner does not hold it"
                                                                : "nobody holds it"));
    else
        session_finish(&asked.session, status == LK_OK ? EX_OK : fail_status(asked.name, status));
}

static enum lk_status start_break(void) {
    return lk_break(asked.session.lock, asked.owner, holders_on_broken, NULL);
}

static int break_run(char **argv) {
    asked.owner = argv[3];
    return holders_ask(argv, start_break);
}

static const struct setting break_settings[] = {REPLY_SETTING, VERBOSE_SETTING, {.name = NULL}};

const struct command command_break = {
    .name = "lockctl break",
    .about = "lockctl break: take a lock from all its holders, or only from OWNER (as lockctl\n"
             "holders prints it). Use it when the holder is known to be dead or stuck. If it\n"
             "lives it may still write: only its fencing token stops it, if the resource\n"
             "checks that.\n"
             "Exit codes: 0 taken, 1 nobody holds it, or not that owner; 64 bad usage, or the\n"
             "backend cannot do it; 69 the server cannot be reached or refuses, 70 internal.",
    .rest = "URL NAME [OWNER]",
    .least = 2,
    .most = 3,
    .settings = break_settings,
    .run = break_run,
};

/* ---- watch: it asks again and again, because a server tells of a release, but not of a grant */

static int64_t every_ns;

static struct {
    struct session session;
    const char *name;
    uv_timer_t timer;
    uv_signal_t signals[2];
    char *seen; /* the owners that were printed last */
    enum lk_status last;
    bool is_asking, is_closing;
} watch;

static void watch_finish(int code) {
    if (watch.is_closing)
        return;
    watch.is_closing = true;
    uv_close((uv_handle_t *)&watch.timer, NULL);
    for (size_t i = 0; i < 2; i++)
        uv_close((uv_handle_t *)&watch.signals[i], NULL);
    session_finish(&watch.session, code);
}

/* The owners, to compare with those printed last. NULL: out of memory. */
static char *owners_of(const struct lk_inspection *inspection) {
    char *text = NULL;
    size_t size;
    FILE *stream = open_memstream(&text, &size);

    if (stream == NULL)
        return NULL;
    for (size_t i = 0; i < inspection->holder_count; i++)
        (void)fprintf(stream, "%s %" PRIu64 "\n", inspection->holders[i].owner,
                      inspection->holders[i].fence);
    if (fclose(stream) == 0)
        return text;
    free(text);
    return NULL;
}

static void format_now(char to[32]) {
    time_t now = time(NULL);
    struct tm tm;

    (void)gmtime_r(&now, &tm);
    (void)strftime(to, 32, "%Y-%m-%dT%H:%M:%SZ", &tm);
}

static int watch_print_json(const struct lk_inspection *inspection) {
    json_t *json = inspection_json(watch.name, inspection);
    char now[32];

    format_now(now);
    if (json != NULL && json_object_set_new(json, "time", json_string(now)) != 0) {
        json_decref(json);
        return -1;
    }
    return json_print(json);
}

/* a line for each holder: time  OWNER FENCE LABEL; or one line: time  free */
static int watch_print_text(const struct lk_inspection *inspection) {
    char now[32], line[1024];

    format_now(now);
    if (inspection->holder_count == 0)
        (void)printf("%s  free\n", now);
    for (size_t i = 0; i < inspection->holder_count; i++) {
        const struct lk_holder *holder = &inspection->holders[i];

        (void)snprintf(line, sizeof line, "%s %" PRIu64 " %s", holder->owner, holder->fence,
                       holder->label);
        utf8_make_printable(line);
        (void)printf("%s  %s\n", now, line);
    }
    return fflush(stdout) == 0 ? 0 : -1;
}

static void watch_on_inspected(enum lk_status status, const struct lk_inspection *inspection,
                               void *data) {
    char *owners;

    (void)data;
    assert(watch.is_asking);
    watch.is_asking = false;
    if (watch.is_closing)
        return;
    if (status == LK_UNSUPPORTED || status == LK_INVALID) {
        watch_finish(fail_status(watch.name, status));
        return;
    }
    if (status != LK_OK) {
        if (watch.last == LK_OK)
            (void)fail_status(watch.name, status); /* and go on: the server may come back */
        watch.last = status;
        return;
    }
    watch.last = LK_OK;
    owners = owners_of(inspection);
    if (owners == NULL) {
        watch_finish(fail(EX_SOFTWARE, "out of memory"));
        return;
    }
    if (watch.seen == NULL || strcmp(watch.seen, owners) != 0)
        if ((shared.is_json ? watch_print_json : watch_print_text)(inspection) != 0)
            watch_finish(fail(EX_IOERR, "cannot write the output"));
    free(watch.seen);
    watch.seen = owners;
}

static void watch_on_tick(uv_timer_t *timer) {
    enum lk_status status;

    (void)timer;
    if (watch.is_asking)
        return;
    status = lk_inspect(watch.session.lock, watch_on_inspected, NULL);
    watch.is_asking = status == LK_OK;
    if (status != LK_OK)
        watch_finish(fail_status(watch.name, status));
}

static void watch_on_signal(uv_signal_t *handle, int number) {
    (void)handle;
    watch_finish(EXIT_SIGNAL + number);
}

static int watch_run(char **argv) {
    static const int numbers[] = {SIGINT, SIGTERM};
    int code = session_open(&watch.session, argv[1], argv[2], NULL, NULL);

    watch.name = argv[2];
    if (code != 0)
        return code;
    (void)uv_timer_init(&watch.session.loop, &watch.timer);
    (void)uv_timer_start(&watch.timer, watch_on_tick, 0, (uint64_t)(every_ns / 1000000));
    for (size_t i = 0; i < 2; i++) {
        (void)uv_signal_init(&watch.session.loop, &watch.signals[i]);
        (void)uv_signal_start(&watch.signals[i], watch_on_signal, numbers[i]);
    }
    code = session_end(&watch.session);
    free(watch.seen);
    return code;
}

static const struct setting watch_settings[] = {
    {"every", 0, SETTING_DURATION, &every_ns, "500ms", "how often to ask", "10ms..1h"},
    JSON_SETTING,
    REPLY_SETTING,
    VERBOSE_SETTING,
    {.name = NULL}};

const struct command command_watch = {
    .name = "lockctl watch",
    .about = "lockctl watch: print the holders of a lock, now and after each change, a line\n"
             "for each holder: time, owner, fencing token and label; or \"free\". With --json a\n"
             "line is an object like that of lockctl holders, plus the time. Two changes\n"
             "within --every count as one. If the server cannot be reached, it says so once\n"
             "and goes on asking.\n"
             "Exit codes: 64 bad usage, 70 internal, 130 and 143 interrupted.",
    .rest = "URL NAME",
    .least = 2,
    .most = 2,
    .settings = watch_settings,
    .run = watch_run,
};
