/* A service: a program that serves HTTP. service_main() is the life of its process, from its
 * arguments to its exit code. service_run() is the part that listens, answers /healthz, /readyz and
 * /metrics, and drains on SIGTERM and SIGINT. Programs with settings of their own call it alone.
 *
 * service_main() reads and checks the settings. It opens the loop, the database and the rest of the
 * service, and serves until the drain is over. Then it closes all in the opposite order, the
 * database last, and the loop empty. It writes no core file, unless --cores asks for it.
 *
 * Exit codes: 0; 1 when it cannot serve. From <sysexits.h>: 64 for a bad setting, 70 without memory
 * or when something was left open. Each one except 0 has its line on stderr. */
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

/* Their rows. `db`, `db_connections` and `db_in_flight` have none here, because each service words
 * its own. With more than one in flight, one connection is in pipeline mode. */
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
    "names by which clients may ask, beside addresses and localhost; with commas between"
#define SERVICE_CORES_HELP "allow core files and debuggers: they reveal the secrets"
#define SERVICE_DRAIN_HELP "longest time for requests after SIGTERM"

struct service {
    const char *name;
    const char *listen;     /* a literal address; this and the next three come from `set` */
    const char *allow_host; /* more names by which clients may ask, or NULL */
    int port;
    uint64_t drain_ms;               /* longest time for requests in flight after SIGTERM */
    const struct http_route *routes; /* the service's own; ends with {NULL} */
    void *data;                      /* for handlers and the callbacks below */
    /* Runs in a fiber for GET /readyz: 0 when the service can do its work, else -1, and `why` names
     * the missing part in one line. Or NULL. */
    int (*is_ready)(void *data, struct why *why);
    /* Runs once when it listens, on this port; or NULL. */
    void (*on_listening)(void *data, int port);
    /* Runs once when it has drained, or could not serve. Closes everything that keeps the loop
     * alive, of which `open` may have opened only a part, and last the pool, by
     * service_close_pool(). Or NULL. */
    void (*close)(void *data);

    /* Only for service_main(). */
    const char *about;     /* the first line of --help */
    const char *also;      /* the macros under SEE ALSO of its man page; or NULL */
    const char *variables; /* the prefix of its environment variables: "ORDER_SVC" */
    const char *metrics;   /* the prefix of its pool's metrics: "order" */
    const struct setting *table;
    const struct service_settings *set;
    const char *instance; /* its name in the log and at the database */
    const char *session;  /* settings of each session there, see pg_pool_options; or NULL */
    /* Runs when the settings are read and nothing is open. 0; or the exit code, after a line on
     * stderr. May still write to the text of `instance`. Or NULL. */
    int (*check)(void);
    /* Open the rest: the same. */
    int (*open)(uv_loop_t *loop, struct pg_pool *pool);
};

/* Returns the exit code for main(). */
__attribute__((warn_unused_result)) int service_main(const struct service *service, int argc,
                                                     char **argv);
void service_close_pool(void);

/* Print a line on stderr that begins with the program's name. Returns `code`. */
__attribute__((format(printf, 2, 3))) int service_fail(int code, const char *format, ...);

/* Serve until SIGTERM or SIGINT, and drain. 0; or 1 after a line on stderr that tells the reason,
 * such as a taken port. A second signal ends the drain at once. */
__attribute__((warn_unused_result)) int service_run(uv_loop_t *loop, const struct service *service);

#endif
