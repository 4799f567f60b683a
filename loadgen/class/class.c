/* The class's page: its requests, the one program that it runs, and its watchers. */
#include "class.h"

#include "exit_code.h"
#include "fiber.h"
#include "guard.h"
#include "interrupts.h"
#include "json_read.h"
#include "runner.h"
#include "serve.h"
#include "summary_read.h"
#include "target.h"

#include <assert.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define WATCHERS_MAX 16
#define LOOK_MS      100  /* between two checks for news */
#define QUIET_MS     1000 /* without news, this long until a byte tests whether a watcher is gone */
#define RUNS_MAX     12   /* earlier runs to compare with */
#define GRACE_MS     8000 /* for a stopped run to judge its records and start its servers again */

/* The files of the page, compiled into the program. */
extern const char class_html[], class_css[], class_dom_js[], class_steps_js[], class_js[];

/* Only these scripts and styles, and nothing from another site. */
static const char policy[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/* One page per process. */
static struct {
    uv_loop_t *loop;
    const struct options *options;
    FILE *to;
    char lab[PATH_MAX]; /* path of the program lab, beside this one */
    struct guard guard;
    struct runner runner;
    unsigned watchers;
    struct interrupts interrupts;
    bool is_ending, is_drained;
} room;

/* ---- access */

static bool is_let_in(struct http_exchange *exchange, bool is_change) {
    const struct guard_headers headers = {.host = http_header(exchange, "Host"),
                                          .origin = http_header(exchange, "Origin"),
                                          .token = http_header(exchange, "X-Class-Token")};
    const struct guard_refusal *refusal = guard_look(&room.guard, &headers, is_change);

    if (refusal != NULL)
        http_reply_error(exchange, refusal->status, refusal->code, "%s", refusal->message);
    return refusal == NULL;
}

static void reply_json(struct http_exchange *exchange, int status, json_t *json) {
    serve_add_headers(exchange, policy);
    http_reply_json(exchange, status, json);
}

/* ---- questions without effect */

/* Replies with the page or one of its files. */
static void class_on_file(struct http_exchange *exchange, void *data) {
    static const char script[] = "text/javascript; charset=utf-8";
    static const struct {
        const char *name, *content_type, *text;
    } files[] = {{"", "text/html; charset=utf-8", class_html},
                 {"class.css", "text/css; charset=utf-8", class_css},
                 {"dom.js", script, class_dom_js},
                 {"steps.js", script, class_steps_js},
                 {"class.js", script, class_js}};
    const char *file = http_path_param(exchange, "file"), *name = file != NULL ? file : "";

    (void)data;
    if (!is_let_in(exchange, false))
        return;
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        if (strcmp(files[i].name, name) == 0) {
            serve_add_headers(exchange, policy);
            http_reply(exchange, 200, files[i].content_type, files[i].text, strlen(files[i].text));
            return;
        }
    http_reply_error(exchange, 404, "not_found", "the page has no such file");
}

/* The target's table of strategies, a new reference; or NULL with the reason in `why`. */
static json_t *fetch_strategies(struct why *why) {
    struct target target = {.client = NULL};
    json_t *strategies = NULL;

    if (target_open(&target, room.loop, room.options->target, why) != 0)
        return NULL;
    if (target_strategies(&target, &strategies, why) != TARGET_OK)
        strategies = NULL;
    target_close(&target);
    return strategies;
}

static void on_setup(struct http_exchange *exchange, void *data) {
    struct why why = {""};
    json_t *setup, *strategies;

    (void)data;
    if (!is_let_in(exchange, false))
        return;
    strategies = fetch_strategies(&why);
    setup = lesson_setup();
    (void)json_object_set_new(setup, "has_lab", json_boolean(access(room.lab, X_OK) == 0));
    (void)json_object_set_new(setup, "problem",
                              strategies == NULL ? json_string(why.text) : json_null());
    (void)json_object_set_new(setup, "strategies", strategies != NULL ? strategies : json_array());
    reply_json(exchange, 200, setup);
}

/* The names of the newest results folders; the page reads their summaries by /runs/. */
static void on_runs(struct http_exchange *exchange, void *data) {
    struct dirent **folders;
    json_t *names;
    size_t count;

    (void)data;
    if (!is_let_in(exchange, false))
        return;
    names = json_array();
    if (serve_list(serve_root(room.options), &folders, &count) != 0)
        count = 0;
    for (size_t i = 0; i < count && json_array_size(names) < RUNS_MAX; i++)
        if (serve_has(serve_root(room.options), folders[i]->d_name, "summary.json"))
            (void)json_array_append_new(names, json_string(folders[i]->d_name));
    serve_list_free(folders, count);
    reply_json(exchange, 200, names);
}

/* Replies with the result of the last exploration. */
static void on_explored(struct http_exchange *exchange, void *data) {
    json_t *json = NULL;

    (void)data;
    if (!is_let_in(exchange, false))
        return;
    if (!room.runner.is_running && room.runner.kind == LESSON_EXPLORE &&
        room.runner.said.length > 0)
        json = json_read(room.runner.said.bytes, room.runner.said.length, NULL);
    if (json_is_object(json)) {
        reply_json(exchange, 200, json);
        return;
    }
    json_decref(json);
    http_reply_error(exchange, 404, "not_found", "no exploration has ended with a result");
}

/* ---- the running program */

static void class_on_end(void) {
    assert(!room.runner.is_running);
    if (room.is_drained)
        interrupts_close(&room.interrupts);
}

/* Returns false, after an error reply, if another program runs or the server ends. */
static bool is_free(struct http_exchange *exchange) {
    if (room.is_ending)
        http_reply_error(exchange, 503, "ending", "this server stops");
    else if (room.runner.is_running)
        http_reply_error(exchange, 409, "busy",
                         "%s of %s is still running: wait for it, or press Stop",
                         room.runner.kind == LESSON_RUN ? "a run" : "an exploration",
                         summary_text(room.runner.shown, "title"));
    else
        return true;
    return false;
}

static void class_start(struct http_exchange *exchange, struct lesson *lesson) {
    const char *path = lesson->kind == LESSON_RUN ? "/proc/self/exe" : room.lab;
    int rc = runner_start(&room.runner, path, lesson);

    if (rc != 0)
        http_reply_error(exchange, 500, "not_started", "%s could not be started: %s",
                         lesson->words[0], uv_strerror(rc));
    else
        reply_json(exchange, 202, json_pack("{s:s}", "title", lesson->title));
}

static void class_ask(struct http_exchange *exchange, enum lesson_kind kind) {
    const struct lesson_place place = {.target = room.options->target,
                                       .results = serve_root(room.options)};
    struct lesson lesson;
    struct why why;
    json_t *asked, *strategies;

    if (!is_let_in(exchange, true) || !is_free(exchange))
        return;
    asked = http_body_json(exchange);
    if (asked == NULL)
        return;
    strategies = fetch_strategies(&why);
    if (strategies == NULL)
        http_reply_error(exchange, 503, "no_target", "%s", why.text);
    else if (lesson_read(kind, asked, strategies, &place, &lesson, &why) != 0)
        http_reply_error(exchange, 422, "refused", "%s", why.text);
    else if (is_free(exchange)) /* once more: the fiber waited */
        class_start(exchange, &lesson);
    json_decref(strategies);
    json_decref(asked);
}

static void on_run(struct http_exchange *exchange, void *data) {
    (void)data;
    class_ask(exchange, LESSON_RUN);
}

static void on_explore(struct http_exchange *exchange, void *data) {
    (void)data;
    class_ask(exchange, LESSON_EXPLORE);
}

static void on_stop(struct http_exchange *exchange, void *data) {
    (void)data;
    if (!is_let_in(exchange, true))
        return;
    runner_stop(&room.runner, GRACE_MS);
    reply_json(exchange, 202, json_pack("{s:b}", "is_running", room.runner.is_running));
}

/* ---- watchers */

/* Sends events until the page is gone, or has read nothing for a long time. */
static void class_follow(struct http_exchange *exchange) {
    uint64_t seen = 0, quiet_ms = 0;
    bool is_there = true;

    while (is_there && !room.is_ending) {
        if (seen != room.runner.version) {
            size_t length;
            char *event = runner_event(&room.runner, &length);

            seen = room.runner.version;
            quiet_ms = 0;
            is_there = event != NULL && http_reply_part(exchange, event, length);
            free(event);
        } else if (quiet_ms >= QUIET_MS) {
            quiet_ms = 0;
            is_there = http_reply_part(exchange, ":\n\n", 3);
        }
        fiber_sleep(room.loop, LOOK_MS);
        quiet_ms += LOOK_MS;
        is_there = is_there && !http_reader_is_gone(exchange);
    }
}

static void class_on_events(struct http_exchange *exchange, void *data) {
    (void)data;
    if (!is_let_in(exchange, false))
        return;
    if (room.watchers == WATCHERS_MAX) {
        http_reply_error(exchange, 503, "too_many", "%d pages are already watching: close one",
                         WATCHERS_MAX);
        return;
    }
    room.watchers++;
    serve_add_headers(exchange, policy);
    if (http_reply_stream(exchange, 200, "text/event-stream"))
        class_follow(exchange);
    assert(room.watchers > 0 && room.watchers <= WATCHERS_MAX);
    room.watchers--;
}

/* ---- start and end */

/* The token is in the fragment of the URL: browsers never send a fragment. */
static void class_on_listening(const char *origin) {
    fprintf(room.to, "the page for the class: %s/class#%s\n", origin, room.guard.token);
    (void)fflush(room.to);
}

static void class_on_signal(void *data, int number) {
    const bool is_for_server =
        number == SIGINT || number == SIGTERM; /* it has a handler of its own */

    (void)data;
    if (!is_for_server)
        (void)uv_kill(uv_os_getpid(), SIGTERM);
    else
        runner_stop(&room.runner, room.is_ending ? 0 : GRACE_MS);
    room.is_ending = room.is_ending || is_for_server;
}

/* A running program keeps the loop alive until it has ended. */
static void class_on_drained(void) {
    room.is_ending = room.is_drained = true;
    runner_stop(&room.runner, GRACE_MS);
    if (!room.runner.is_running)
        interrupts_close(&room.interrupts);
}

static int find_lab(void) {
    ssize_t length = readlink("/proc/self/exe", room.lab, sizeof room.lab - strlen("lab") - 1);
    char *name;

    if (length <= 0)
        return -1;
    room.lab[length] = '\0';
    name = strrchr(room.lab, '/');
    if (name == NULL)
        return -1;
    strcpy(name, "/lab");
    return 0;
}

static const struct http_route routes[] = {
    {"GET", "/class", class_on_file},        {"GET", "/class/setup", on_setup},
    {"GET", "/class/runs", on_runs},         {"GET", "/class/events", class_on_events},
    {"GET", "/class/explored", on_explored}, {"GET", "/class/{file}", class_on_file},
    {"POST", "/class/run", on_run},          {"POST", "/class/explore", on_explore},
    {"POST", "/class/stop", on_stop},        {NULL, NULL, NULL},
};

int class_serve(uv_loop_t *loop, const struct options *options, FILE *to) {
    static const struct serve_more more = {routes, class_on_listening, class_on_drained};
    int exit_code;

    assert(room.loop == NULL); /* one page a process */
    room.loop = loop;
    room.options = options;
    room.to = to;
    if (find_lab() != 0 || guard_init(&room.guard, options->listen) != 0) {
        fprintf(stderr,
                "loadgen: serve --class: the system gives no random bytes, or has no /proc\n");
        return EXIT_INTERNAL;
    }
    (void)mkdir(serve_root(options), 0777); /* the first run may be still to come */
    runner_init(&room.runner, loop, class_on_end);
    interrupts_watch(&room.interrupts, loop, class_on_signal, NULL);
    exit_code = serve(loop, options, to, &more);
    interrupts_close(&room.interrupts); /* if nothing was served */
    (void)uv_run(loop, UV_RUN_DEFAULT);
    runner_free(&room.runner);
    return exit_code;
}
