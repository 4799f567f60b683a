/* loadgen serve: the results folders in a browser, read-only. */
#include "serve.h"

#include "complain.h"
#include "exit_code.h"
#include "serve_files.h"
#include "serve_index.h"
#include "service.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DRAIN_MS    1000
#define ROUTES_MOST 16
#define PART_BYTES  (16 * 1024) /* on a fiber's stack */

struct viewer {
    const char *root;
    const char *listen;
    FILE *to;
    const struct serve_more *more; /* or NULL */
};

/* The list has no script. A report is one file with its scripts and styles in it, and needs nothing
 * from elsewhere; it may be another's, so its scripts run as those of a site of its own, which can
 * read no other run. */
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
        rc = serve_index(viewer->root, from != NULL ? strtoul(from, NULL, 10) : 0, to);
        if (fclose(to) != 0)
            rc = -1;
    }
    if (rc == 0)
        http_reply(exchange, 200, "text/html; charset=utf-8", page, length);
    else
        http_reply_error(exchange, 500, "out_of_memory", "there is no memory for the page");
    free(page);
}

/* A part at a time, of which little is held for a browser that stops reading. A file that grows
 * meanwhile is cut where it was; one that shrinks ends the connection. */
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

static void on_file(struct http_exchange *exchange, void *data) {
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
        http_reply_error(exchange, 404, "not_found", "no results folder has such a file");
    }
}

static struct http_route routes[ROUTES_MOST] = {
    {"GET", "/", on_index},
    {"GET", "/runs/{folder}/{file}", on_file},
};

static void join_routes(const struct http_route *more) {
    size_t count = 2;

    while (more->method != NULL && count + 1 < ROUTES_MOST)
        routes[count++] = *more++;
    assert(more->method == NULL);
}

static void on_listening(void *data, int port) {
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

static void on_drained(void *data) {
    const struct viewer *viewer = data;

    if (viewer->more != NULL)
        viewer->more->close();
}

static int check_root(const char *root) {
    char run[4096];
    struct stat status;

    if (stat(root, &status) != 0 || !S_ISDIR(status.st_mode)) {
        complain("loadgen",
                 "%s is no folder of results: name another, or run loadgen, which makes "
                 "it",
                 root);
        return EXIT_NO_INPUT;
    }
    snprintf(run, sizeof run, "%s/summary.json", root);
    if (stat(run, &status) == 0) {
        complain("loadgen", "%s is a single run: name the folder that it is in", root);
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
                                    .on_listening = on_listening,
                                    .close = on_drained};
    int exit_code = check_root(viewer.root);

    if (more != NULL)
        join_routes(more->routes);
    if (exit_code != 0)
        return exit_code;
    return service_run(loop, &service) == 0 ? 0 : EXIT_UNREACHABLE;
}
