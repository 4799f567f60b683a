/* lockctl watch: each change of holder, a line. It asks again and again, as a server tells of a
 * release, but not of a grant. */
#include "inspection.h"
#include "lockctl.h"
#include "utf8.h"

#include <assert.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct {
    int64_t every_ns, reply_ns;
    bool is_json, is_verbose;
} set;

static struct {
    struct session session;
    const char *name;
    uv_timer_t timer;
    uv_signal_t signals[2];
    char *seen; /* the owners that were printed last */
    enum lk_status last;
    bool is_asking, is_closing;
    int code;
} watch;

static void watch_finish(int code) {
    if (watch.is_closing)
        return;
    watch.is_closing = true;
    watch.code = code;
    uv_close((uv_handle_t *)&watch.timer, NULL);
    for (size_t i = 0; i < 2; i++)
        uv_close((uv_handle_t *)&watch.signals[i], NULL);
    lk_client_close(watch.session.client, NULL, NULL);
    watch.session.client = NULL;
}

/* By whom it is held: what is compared. NULL without memory. */
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

/* time  OWNER FENCE LABEL, one for each holder, or: time  free */
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
            (void)fail_status(watch.name, status); /* and go on: it may come back */
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
        if ((set.is_json ? watch_print_json : watch_print_text)(inspection) != 0)
            watch_finish(fail(EX_IOERR, "the output cannot be written"));
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

static int watch_run(const char *url) {
    const struct lk_client_options client = {.size = sizeof client,
                                             .reply_ms = (uint32_t)(set.reply_ns / 1000000)};
    static const int numbers[] = {SIGINT, SIGTERM};
    int code = session_open(&watch.session, url, watch.name, &client, NULL);

    if (code != 0)
        return code;
    (void)uv_timer_init(&watch.session.loop, &watch.timer);
    (void)uv_timer_start(&watch.timer, watch_on_tick, 0, (uint64_t)(set.every_ns / 1000000));
    for (size_t i = 0; i < 2; i++) {
        (void)uv_signal_init(&watch.session.loop, &watch.signals[i]);
        (void)uv_signal_start(&watch.signals[i], watch_on_signal, numbers[i]);
    }
    session_end(&watch.session);
    free(watch.seen);
    return watch.code;
}

int watch_main(int argc, char **argv) {
    static const char about[] =
        "lockctl watch: print who holds a lock, and again at each change, a line: the\n"
        "time, the owner, the fencing token and the label; or \"free\". With --json, each\n"
        "line is an object as of lockctl holders, with its time. Two changes within\n"
        "--every are one. While the server cannot be reached it says so once, and goes\n"
        "on.\n"
        "Exit codes: 64 bad usage, 70 internal, 130 and 143 interrupted.";
    static const struct setting table[] = {
        {"every", 0, SETTING_DURATION, &set.every_ns, "500ms", "how often to ask", "10ms..1h"},
        JSON_SETTING(set.is_json),
        REPLY_SETTING(set.reply_ns),
        VERBOSE_SETTING(set.is_verbose),
        {.name = NULL}};
    int code = read_arguments(table, about, "URL NAME", 2, 2, &argc, argv);

    if (code >= 0)
        return code;
    if (set.is_verbose)
        be_verbose();
    watch.name = argv[2];
    return watch_run(argv[1]);
}
