/* A service: a program that serves HTTP. service_main() is the life of its process, from its
 * arguments to its exit code; service_run() the part that listens, answers /healthz, /readyz and
 * /metrics, and drains on SIGTERM and SIGINT, for programs that have settings of their own.
 *
 * Settings are read and checked, then the loop, the database and what else the service has are
 * opened, and it serves until its drain is over; then all is closed in the opposite order, the
 * database last, and the loop with nothing left on it. No core file is written, unless --cores asks
 * for it.
 *
 * Exit codes: 0; 1 when it cannot serve; and of <sysexits.h> 64 for a bad setting and 70 without
 * memory, or when something was left open. Each but 0 has its line on stderr. */
#ifndef UVKIT_SERVICE_H
#define UVKIT_SERVICE_H

#include "http_server.h"
#include "pg.h"
#include "settings.h"
#include "why.h"

/* The settings that every service has. */
struct service_settings {
    char *listen, *allow_host, *db, *log_level;
    int64_t port, db_connections, db_in_flight, drain_ns;
    bool has_cores;
};

/* Their rows, but for those of `db`, `db_connections` and `db_in_flight`, which each service words
 * for itself. With more than one in flight, one connection is in pipeline mode. */
#define SERVICE_SETTINGS(set, default_port)                                                        \
    SERVICE_ROW("listen", 0, TEXT, &(set).listen, "127.0.0.1", "address to listen on", NULL),      \
        SERVICE_ROW("allow-host", 0, TEXT, &(set).allow_host, "", SERVICE_ALLOW_HOST_HELP, NULL),  \
        SERVICE_ROW("port", 'p', INT, &(set).port, default_port, "port to listen on", "1..65535"), \
        SERVICE_ROW("drain", 0, DURATION, &(set).drain_ns, "10s", SERVICE_DRAIN_HELP, "0s..1h"),   \
        SERVICE_ROW("log-level", 0, TEXT, &(set).log_level, "info", "debug, info, warn or error",  \
                    NULL),                                                                         \
        SERVICE_ROW("cores", 0, FLAG, &(set).has_cores, NULL, SERVICE_CORES_HELP, NULL)
#define SERVICE_ROW(name, letter, type, ...)                                                       \
    { name, letter, SETTING_##type, __VA_ARGS__ }
#define SERVICE_ALLOW_HOST_HELP                                                                    \
    "names to be asked by beside addresses and localhost, with commas between"
#define SERVICE_CORES_HELP "core files and debuggers, for whoever mends it: they see the secrets"
#define SERVICE_DRAIN_HELP "how long requests may take after SIGTERM"

struct service {
    const char *name;
    const char *listen;     /* a literal address; this and the next three: from `set` */
    const char *allow_host; /* more names to be asked by, or NULL */
    int port;
    uint64_t drain_ms;               /* how long requests in flight may take after SIGTERM */
    const struct http_route *routes; /* the service's own; ends with {NULL} */
    void *data;                      /* for handlers and the callbacks below */
    /* Runs in a fiber for GET /readyz: 0 when the service can do its work, else -1 and `why` says
     * what is missing, in a line. Or NULL. */
    int (*is_ready)(void *data, struct why *why);
    /* Runs once when it listens, on this port; or NULL. */
    void (*on_listening)(void *data, int port);
    /* Runs once when it has drained, or could not serve: close what keeps the loop alive, which may
     * be a part of what `open` opens, and the pool by service_close_pool(), last. Or NULL. */
    void (*close)(void *data);

    /* For service_main() alone. */
    const char *about;     /* the first line of --help */
    const char *also;      /* the macros under SEE ALSO of its man page; or NULL */
    const char *variables; /* the prefix of its environment variables: "ORDER_SVC" */
    const char *metrics;   /* the prefix of its pool's metrics: "order" */
    const struct setting *table;
    const struct service_settings *set;
    const char *instance; /* its name in the log and at the database */
    const char *session;  /* settings of each session there, as pg_pool_options has them; or NULL */
    /* With the settings read, before anything is opened: 0, or the exit code after a line on
     * stderr. May still write to what `instance` points to. Or NULL. */
    int (*check)(void);
    /* Open the rest: the same. */
    int (*open)(uv_loop_t *loop, struct pg_pool *pool);
};

/* What main() returns. */
__attribute__((warn_unused_result)) int service_main(const struct service *service, int argc,
                                                     char **argv);
void service_close_pool(void);

/* A line on stderr that begins with the program's name; returns `code`. */
__attribute__((format(printf, 2, 3))) int service_fail(int code, const char *format, ...);

/* Serve until SIGTERM or SIGINT, and drain. 0, or 1 after a line on stderr that says what failed (a
 * taken port is named). A second signal ends the drain at once. */
__attribute__((warn_unused_result)) int service_run(uv_loop_t *loop, const struct service *service);

#endif
