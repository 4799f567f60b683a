/* Finds and opens results folders, lists them as HTML, and serves the list and the files.
 *
 * Each part of a path is opened by itself, so that no symbolic link leads out of the results. */
#include "serve.h"

#include "complain.h"
#include "duration.h"
#include "exit_code.h"
#include "service.h"
#include "summary_read.h"
#include "user_command.h"
#include "verdict.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define RUNS_A_PAGE    100
#define STRATEGIES_MAX 100
#define ANOMALIES_MAX  20
#define TEXT_MAX       2000
#define DRAIN_MS       1000
#define ROUTES_MOST    16
#define PART_BYTES     (16 * 1024) /* on a fiber's stack */

extern const char serve_index_head[];

/* ---- the files of results folders */

struct serve_file {
    const char *name, *content_type;
};

static const struct serve_file serve_files[] = {
    {"report.html", "text/html; charset=utf-8"},
    {"summary.json", "application/json"},
    {"violations.txt", "text/plain; charset=utf-8"},
    {"history.ndjson", "application/x-ndjson"},
    {"latency.hlog", "text/plain; charset=utf-8"},
    {"rounds.csv", "text/csv; charset=utf-8"},
    {"env.json", "application/json"},
    {NULL, NULL},
};

/* NULL: no file of a results folder has this name. */
static const struct serve_file *serve_file_named(const char *name) {
    for (const struct serve_file *file = serve_files; file->name != NULL; file++)
        if (strcmp(file->name, name) == 0)
            return file;
    return NULL;
}

/* loadgen names its folders with letters, digits and "-_.+", and no dot first. */
static bool serve_is_plain(const char *folder) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789-_.+";

    return folder[0] != '\0' && folder[0] != '.' && folder[strspn(folder, plain)] == '\0';
}

static int open_folder(const char *root, const char *folder) {
    int at, fd;

    if (!serve_is_plain(folder))
        return -ENOENT;
    at = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (at < 0)
        return -errno;
    fd = openat(at, folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    fd = fd < 0 ? -errno : fd;
    (void)close(at);
    return fd;
}

/* Returns a descriptor, and sets its size; or returns a negative errno. Does not wait for a writer
 * if the file is a pipe. */
static int serve_open(const char *root, const char *folder, const char *file, size_t *size) {
    int at = open_folder(root, folder);
    struct stat status;
    int fd;

    assert(serve_file_named(file) != NULL); /* the caller has looked the name up */
    if (at < 0)
        return at;
    fd = openat(at, file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    fd = fd < 0 ? -errno : fd;
    (void)close(at);
    if (fd >= 0 && (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))) {
        (void)close(fd);
        fd = -ENOENT;
    }
    if (fd >= 0)
        *size = (size_t)status.st_size;
    return fd;
}

bool serve_has(const char *root, const char *folder, const char *file) {
    size_t size;
    int fd = serve_open(root, folder, file, &size);

    return fd >= 0 && close(fd) == 0;
}

/* Reads the whole file, with a NUL at its end. The caller frees `bytes`. If the file grows
 * meanwhile, the new part is left out. Returns 0 or a negative errno: -EFBIG for more than `most`
 * bytes. */
static int serve_read(const char *root, const char *folder, const char *file, size_t most,
                      char **bytes, size_t *length) {
    size_t size;
    int fd = serve_open(root, folder, file, &size);
    FILE *from = fd >= 0 ? fdopen(fd, "r") : NULL;
    int rc = 0;

    *bytes = NULL;
    if (from == NULL && fd >= 0)
        (void)close(fd);
    if (from == NULL)
        return fd < 0 ? fd : -ENOMEM;
    if (size > most)
        rc = -EFBIG;
    else if ((*bytes = calloc(1, size + 1)) == NULL)
        rc = -ENOMEM;
    else if ((*length = fread(*bytes, 1, size, from)) < size && ferror(from))
        rc = -EIO;
    (void)fclose(from);
    return rc;
}

static bool is_dated(const char *name) {
    return name[0] >= '0' && name[0] <= '9';
}

static int newest_first(const struct dirent **a, const struct dirent **b) {
    if (is_dated((*a)->d_name) != is_dated((*b)->d_name))
        return is_dated((*a)->d_name) ? -1 : 1;
    return strcmp((*b)->d_name, (*a)->d_name);
}

static int may_be_folder(const struct dirent *entry) {
    return serve_is_plain(entry->d_name) &&
           (entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN);
}

/* Some file systems do not tell the type of an entry. */
static bool serve_is_folder(int root, const struct dirent *entry) {
    struct stat status;

    return entry->d_type == DT_DIR ||
           (fstatat(root, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISDIR(status.st_mode));
}

static size_t keep_folders(int root, struct dirent **entries, size_t count) {
    size_t kept = 0;

    for (size_t i = 0; i < count; i++)
        if (serve_is_folder(root, entries[i]))
            entries[kept++] = entries[i];
        else
            free(entries[i]);
    return kept;
}

int serve_list(const char *root, struct dirent ***folders, size_t *count) {
    int at = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int found = at < 0 ? -1 : scandirat(at, ".", folders, may_be_folder, newest_first);
    int rc = found < 0 ? -errno : 0;

    *count = found > 0 ? keep_folders(at, *folders, (size_t)found) : 0;
    if (found < 0)
        *folders = NULL;
    assert(*folders != NULL || *count == 0);
    if (at >= 0)
        (void)close(at);
    return rc;
}

void serve_list_free(struct dirent **folders, size_t count) {
    for (size_t i = 0; i < count; i++)
        free(folders[i]);
    free(folders);
}

/* ---- the list of runs as HTML; every text of a run is escaped, cut, and bounded */

/* Escapes the characters of HTML, and cuts at TEXT_MAX, between characters. */
static void text(FILE *to, const char *at) {
    static const char *const spelled[] = {
        ['<'] = "&lt;", ['>'] = "&gt;", ['&'] = "&amp;", ['"'] = "&quot;", ['\''] = "&#39;"};

    for (size_t i = 0; at[i] != '\0'; i++) {
        const unsigned char byte = (unsigned char)at[i];

        if (i >= TEXT_MAX && (byte & 0xc0) != 0x80) {
            fputs(" ...", to);
            return;
        }
        if (byte < sizeof spelled / sizeof spelled[0] && spelled[byte] != NULL)
            fputs(spelled[byte], to);
        else
            fputc(byte, to);
    }
}

static void serve_element(FILE *to, const char *open, const char *inside, const char *close) {
    fputs(open, to);
    text(to, inside);
    fputs(close, to);
}

/* The summary of a run, a new reference; or NULL with the reason in `why`. */
static json_t *serve_load(const char *root, const char *folder, struct why *why) {
    struct why wrong;
    char *bytes;
    json_t *summary = NULL;
    size_t length;
    int rc = serve_read(root, folder, "summary.json", SUMMARY_MAX, &bytes, &length);

    if (rc == -ENOENT)
        why_set(why, "no summary.json: the run still goes on, or it ended early");
    else if (rc != 0)
        why_set(why, "summary.json cannot be read: %s", strerror(-rc));
    else if ((summary = summary_parse(bytes, length, &wrong)) == NULL)
        why_set(why, "summary.json is broken: it %.1000s", wrong.text);
    free(bytes);
    return summary;
}

/* Uses only classes that the style sheet has. */
static void serve_print_verdict(const char *verdict, FILE *to) {
    const char *class = "";

    for (int kind = 0; kind < VERDICT_UNJUDGED; kind++)
        if (strcmp(verdict, verdict_kind_name((enum verdict_kind)kind)) == 0)
            class = verdict;
    fprintf(to, "<td><span class=\"verdict %s\">", class);
    serve_element(to, "", verdict, "</span></td>");
}

static void serve_print_anomalies(const json_t *strategy, FILE *to) {
    const json_t *anomalies = json_object_get(strategy, "anomalies");

    fputs("<td>", to);
    for (size_t i = 0; i < json_array_size(anomalies) && i < ANOMALIES_MAX; i++) {
        const json_t *anomaly = json_array_get(anomalies, i);

        serve_element(to, i > 0 ? ", <span>" : "<span>", summary_text(anomaly, "name"), "");
        fprintf(to, " %" JSON_INTEGER_FORMAT "</span>",
                json_integer_value(json_object_get(anomaly, "count")));
    }
    fputs("</td>", to);
}

static void print_expected(const json_t *strategy, FILE *to) {
    const json_t *expected = json_object_get(strategy, "as_expected");
    if (json_is_false(expected))
        fputs("<td class=\"error\">NO</td>", to);
    else
        fputs(json_is_true(expected) ? "<td>yes</td>" : "<td>-</td>", to);
}

/* Prints sold and stock of all rounds. The summary has the stock of one product of one round. */
static void print_sold(const json_t *summary, const json_t *strategy, FILE *to) {
    const json_t *items = json_object_get(json_object_get(summary, "settings"), "items");
    double rounds = (double)json_array_size(json_object_get(strategy, "rounds"));
    double products = json_number_value(items);
    double stock = json_number_value(json_object_get(strategy, "stock"));

    if (strcmp(summary_text(strategy, "verdict"), "not judged") == 0)
        fputs("<td class=\"number\">-</td>", to);
    else
        fprintf(to, "<td class=\"number\">%" JSON_INTEGER_FORMAT " / %.0f</td>",
                json_integer_value(json_object_get(strategy, "sold")),
                stock * fmax(1, rounds) * fmax(1, products));
}

static void serve_print_strategy(const json_t *summary, const json_t *strategy, FILE *to) {
    double p99_ms =
        json_number_value(json_object_get(json_object_get(strategy, "latency_ms"), "p99"));
    char duration[DURATION_TEXT] = "-";

    if (p99_ms > 0 && p99_ms < 1e9)
        duration_ms(duration, p99_ms);
    serve_element(to, "<tr><td>", summary_text(strategy, "strategy"), "</td>");
    serve_print_verdict(summary_text(strategy, "verdict"), to);
    serve_print_anomalies(strategy, to);
    print_sold(summary, strategy, to);
    fprintf(to, "<td class=\"number\">%s</td>", duration);
    print_expected(strategy, to);
    fputs("</tr>\n", to);
}

static void print_strategies(const json_t *summary, FILE *to) {
    const json_t *strategies = json_object_get(summary, "strategies");

    fprintf(to,
            "<div class=\"wide\"><table><tr><th>%s</th><th>verdict</th><th>anomalies</th>"
            "<th class=\"number\">sold / stock</th><th class=\"number\">p99</th><th>expected</th>"
            "</tr>\n",
            json_object_get(summary, "shop") != NULL ? "shop" : "strategy");
    for (size_t i = 0; i < json_array_size(strategies) && i < STRATEGIES_MAX; i++)
        serve_print_strategy(summary, json_array_get(strategies, i), to);
    fputs("</table></div>\n", to);
}

static void print_missed(const json_t *summary, FILE *to) {
    const json_t *thresholds = json_object_get(summary, "thresholds");

    for (size_t i = 0; i < json_array_size(thresholds) && i < STRATEGIES_MAX; i++) {
        const json_t *threshold = json_array_get(thresholds, i);

        if (!json_is_false(json_object_get(threshold, "holds")))
            continue;
        serve_element(to, "<p class=\"error\">threshold missed: ", summary_text(threshold, "text"),
                      ", ");
        serve_element(to, "", summary_text(threshold, "strategy"), "</p>\n");
    }
}

/* Folder and file names are plain, so they need no escapes in a URL. */
static void print_files(const char *root, const char *folder, FILE *to) {
    fputs("<p class=\"files\">", to);
    for (const struct serve_file *file = serve_files; file->name != NULL; file++)
        if (serve_has(root, folder, file->name))
            fprintf(to, "<a href=\"/runs/%s/%s\">%s</a> ", folder, file->name, file->name);
    fputs("</p>\n", to);
}

/* Prints "2026-11-21T10:01:02.658Z" as "2026-11-21 10:01:02 UTC". */
static void print_time(const char *time, FILE *to) {
    char moment[32];
    bool is_moment = strlen(time) >= 19 && time[10] == 'T' && strlen(time) < sizeof moment;

    if (is_moment)
        snprintf(moment, sizeof moment, "%.10s %.8s UTC", time, time + 11);
    text(to, is_moment ? moment : time);
}

static void serve_print_title(const char *root, const char *folder, const json_t *summary,
                              FILE *to) {
    const char *name = summary_text(summary, "name");
    bool has_page = serve_has(root, folder, "report.html");

    fputs("<h2>", to);
    if (has_page)
        fprintf(to, "<a href=\"/runs/%s/report.html\">", folder);
    serve_element(to, "", name[0] != '\0' ? name : folder, has_page ? "</a></h2>\n" : "</h2>\n");
    fputs("<p class=\"dim\">", to);
    print_time(summary_text(summary, "started_at"), to);
    if (name[0] != '\0')
        fprintf(to, " &middot; %s", folder);
    if (json_is_integer(json_object_get(summary, "exit_code")))
        fprintf(to, " &middot; exit code %" JSON_INTEGER_FORMAT,
                json_integer_value(json_object_get(summary, "exit_code")));
    if (json_is_true(json_object_get(summary, "is_interrupted")))
        fputs(" &middot; interrupted", to);
    if (json_is_true(json_object_get(summary, "is_left_down")))
        fputs(" &middot; ended early", to);
    fputs("</p>\n", to);
}

/* "Vendure 3.7.3, processes: 2, ..." */
static void serve_print_shop(const json_t *shop, FILE *to) {
    const char *version = summary_text(shop, "version"), *config = summary_text(shop, "config");

    serve_element(to, "<p>", summary_text(shop, "name"), version[0] != '\0' ? " " : "");
    serve_element(to, "", version, config[0] != '\0' ? ", " : "");
    serve_element(to, "", config, "");
    fprintf(to, ", processes: %" JSON_INTEGER_FORMAT "</p>\n",
            json_integer_value(json_object_get(shop, "processes")));
}

static void serve_print_run(const char *root, const char *folder, FILE *to) {
    struct why why;
    json_t *summary = serve_load(root, folder, &why);
    const char *command = summary_text(summary, "command");

    fputs("<article>\n", to);
    serve_print_title(root, folder, summary, to);
    if (command[0] != '\0')
        serve_element(to, "<pre>", command, "</pre>\n");
    if (json_object_get(summary, "shop") != NULL)
        serve_print_shop(json_object_get(summary, "shop"), to);
    if (summary != NULL) {
        print_strategies(summary, to);
        print_missed(summary, to);
    } else {
        serve_element(to, "<p class=\"error\">", why.text, "</p>\n");
    }
    print_files(root, folder, to);
    fputs("</article>\n", to);
    json_decref(summary);
}

static void serve_print_others(size_t from, size_t count, FILE *to) {
    assert(from <= count);
    fputs("<p>", to);
    if (from > 0)
        fprintf(to, "<a href=\"/?from=%zu\">newer</a> ",
                from > RUNS_A_PAGE ? from - RUNS_A_PAGE : 0);
    if (count - from > RUNS_A_PAGE)
        fprintf(to, "<a href=\"/?from=%zu\">older</a>", from + RUNS_A_PAGE);
    fputs("</p>\n", to);
}

/* Writes the list of runs, from number `from` on; the newest has number 0. A run that cannot be
 * read is listed with the reason. Returns 0, or -1 if it could not be written. */
static int print_list(const char *root, size_t from, FILE *to) {
    struct dirent **folders;
    size_t count;
    int rc = serve_list(root, &folders, &count);

    fputs(serve_index_head, to);
    fprintf(to, "<p class=\"dim\">%zu in ", count);
    serve_element(to, "", root, "</p>\n");
    if (rc != 0)
        fprintf(to, "<p class=\"error\">The folder cannot be read: %s</p>\n", strerror(-rc));
    else if (count == 0)
        serve_element(to, "<p>No run yet. Make one with <code>", user_command(USER_LOADGEN),
                      " --strategy none,redis,atomic</code>, then reload this page.</p>\n");
    if (from > count)
        from = count;
    for (size_t i = from; i < count && i < from + RUNS_A_PAGE; i++)
        serve_print_run(root, folders[i]->d_name, to);
    serve_print_others(from, count, to);
    fputs("</body>\n</html>\n", to);
    serve_list_free(folders, count);
    return ferror(to) ? -1 : 0;
}

/* ---- the server */

struct viewer {
    const char *root;
    const char *listen;
    FILE *to;
    const struct serve_more *more; /* or NULL */
};

/* The list has no script. A report is one file with its own scripts and styles, and loads nothing.
 * It may come from somebody else, so its scripts run as a site of their own and can read no other
 * run. */
#define POLICY                                                                                     \
    "default-src 'none'; style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; "        \
    "form-action 'none'; frame-ancestors 'none'"
static const char index_policy[] = POLICY;
static const char file_policy[] =
    POLICY "; script-src 'unsafe-inline'; font-src data:; sandbox allow-scripts allow-modals";

void serve_add_headers(struct http_exchange *exchange, const char *policy) {
    http_reply_header(exchange, "Content-Security-Policy", policy);
    http_reply_header(exchange, "X-Content-Type-Options", "nosniff");
    http_reply_header(exchange, "Referrer-Policy", "no-referrer");
    http_reply_header(exchange, "Cross-Origin-Resource-Policy", "same-origin");
    http_reply_header(exchange, "Cache-Control", "no-store");
}

static void on_index(struct http_exchange *exchange, void *data) {
    const struct viewer *viewer = data;
    const char *from = http_query_param(exchange, "from");
    char *page = NULL;
    size_t length;
    FILE *to;
    int rc = -1;

    serve_add_headers(exchange, index_policy);
    to = open_memstream(&page, &length);
    if (to != NULL) {
        rc = print_list(viewer->root, from != NULL ? strtoul(from, NULL, 10) : 0, to);
        if (fclose(to) != 0)
            rc = -1;
    }
    if (rc == 0)
        http_reply(exchange, 200, "text/html; charset=utf-8", page, length);
    else
        http_reply_error(exchange, 500, "out_of_memory", "out of memory for the page");
    free(page);
}

/* Sends the file in small parts, so that a browser that stops reading holds little memory. If the
 * file grows meanwhile, the new part is left out; if it shrinks, the connection ends. */
static void send_file(struct http_exchange *exchange, int fd, size_t left) {
    char part[PART_BYTES];

    while (left > 0) {
        ssize_t length = read(fd, part, left < sizeof part ? left : sizeof part);

        if (length < 0 && errno == EINTR)
            continue;
        if (length <= 0 || !http_reply_part(exchange, part, (size_t)length))
            return;
        left -= (size_t)length;
    }
}

static void serve_on_file(struct http_exchange *exchange, void *data) {
    const struct viewer *viewer = data;
    const char *folder = http_path_param(exchange, "folder");
    const struct serve_file *file = serve_file_named(http_path_param(exchange, "file"));
    size_t size;
    int fd;

    serve_add_headers(exchange, file_policy);
    fd = file == NULL ? -ENOENT : serve_open(viewer->root, folder, file->name, &size);
    if (fd >= 0) {
        if (http_reply_begin(exchange, 200, file->content_type, size))
            send_file(exchange, fd, size);
        (void)close(fd);
    } else if (fd == -ENOMEM || fd == -EACCES || fd == -EIO || fd == -EMFILE) {
        http_reply_error(exchange, 500, "unreadable", "the file cannot be read: %s", strerror(-fd));
    } else {
        http_reply_error(exchange, 404, "not_found", "there is no such file in a results folder");
    }
}

static struct http_route routes[ROUTES_MOST] = {
    {"GET", "/", on_index},
    {"GET", "/runs/{folder}/{file}", serve_on_file},
};

static void serve_join_routes(const struct http_route *more) {
    size_t count = 2;

    assert(routes[count].method == NULL); /* called once */
    while (more->method != NULL && count + 1 < ROUTES_MOST)
        routes[count++] = *more++;
    assert(more->method == NULL);
}

static void serve_on_listening(void *data, int port) {
    const struct viewer *viewer = data;
    bool is_ipv6 = strchr(viewer->listen, ':') != NULL;
    char origin[128];

    snprintf(origin, sizeof origin, "http://%s%s%s:%d", is_ipv6 ? "[" : "", viewer->listen,
             is_ipv6 ? "]" : "", port);
    fprintf(viewer->to, "listening on %s/ ; Ctrl-C ends\n", origin);
    (void)fflush(viewer->to);
    if (viewer->more != NULL)
        viewer->more->on_listening(origin);
}

static void serve_on_drained(void *data) {
    const struct viewer *viewer = data;

    if (viewer->more != NULL)
        viewer->more->close();
}

static int check_root(const char *root) {
    char run[4096];
    struct stat status;

    if (stat(root, &status) != 0 || !S_ISDIR(status.st_mode)) {
        complain("loadgen",
                 "%s is no folder of results: name another, "
                 "or make it by a run of loadgen",
                 root);
        return EXIT_NO_INPUT;
    }
    snprintf(run, sizeof run, "%s/summary.json", root);
    if (stat(run, &status) == 0) {
        complain("loadgen", "%s is a single run: name the folder above it", root);
        return EXIT_USAGE;
    }
    return 0;
}

const char *serve_root(const struct options *options) {
    return options->argument_count > 0 ? options->arguments[0] : options->results;
}

int serve(uv_loop_t *loop, const struct options *options, FILE *to, const struct serve_more *more) {
    struct viewer viewer = {
        .root = serve_root(options), .listen = options->listen, .to = to, .more = more};
    const struct service service = {.name = "loadgen",
                                    .listen = options->listen,
                                    .port = (int)options->port,
                                    .routes = routes,
                                    .data = &viewer,
                                    .drain_ms = DRAIN_MS,
                                    .on_listening = serve_on_listening,
                                    .close = serve_on_drained};
    int exit_code = check_root(viewer.root);

    if (more != NULL)
        serve_join_routes(more->routes);
    if (exit_code != 0)
        return exit_code;
    return service_run(loop, &service) == 0 ? 0 : EXIT_UNREACHABLE;
}
