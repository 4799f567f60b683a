/* A service as a program: what the main() of each has in common, around service_run().
 *
 * Settings are read and checked, then the loop, the database and what else the service has are
 * opened, and it serves until its drain is over; then all is closed in the opposite order, the
 * database last, and the loop with nothing left on it.
 *
 * Exit codes: 0; 1 when it cannot serve; and of <sysexits.h> 64 for a bad setting and 70 without
 * memory, or when something was left open. Each but 0 has its line on stderr. */
#ifndef UVKIT_SERVICE_PROGRAM_H
#define UVKIT_SERVICE_PROGRAM_H

#include "pg.h"
#include "service.h"
#include "settings.h"

/* The settings that every service has. */
struct service_settings {
    char *listen, *db, *log_level;
    int64_t port, db_connections, drain_ns;
};

/* Their rows, but for those of `db` and `db_connections`, which each service words for itself. */
#define SERVICE_SETTINGS(set, default_port)                                                        \
    SERVICE_ROW("listen", 0, TEXT, &(set).listen, "127.0.0.1", "address to listen on", NULL),      \
        SERVICE_ROW("port", 'p', INT, &(set).port, default_port, "port to listen on", "1..65535"), \
        SERVICE_ROW("drain", 0, DURATION, &(set).drain_ns, "10s", SERVICE_DRAIN_HELP, "0s..1h"),   \
        SERVICE_ROW("log-level", 0, TEXT, &(set).log_level, "info", "debug, info, warn or error",  \
                    NULL)
#define SERVICE_ROW(name, letter, type, ...)                                                       \
    { name, letter, SETTING_##type, __VA_ARGS__ }
#define SERVICE_DRAIN_HELP "how long requests may take after SIGTERM"

struct service_program {
    struct service service; /* all but what the settings say: listen, port, drain */
    const char *about;      /* the first line of --help */
    const char *variables;  /* the prefix of its environment variables: "ORDER_SVC" */
    const char *metrics;    /* the prefix of its pool's metrics: "order" */
    const struct setting *table;
    const struct service_settings *set;
    const char *instance; /* its name in the log and at the database */
    /* With the settings read, before anything is opened: 0, or the exit code after a line on
     * stderr. May still write to what `instance` points to. Or NULL. */
    int (*check)(void);
    /* Open the rest: the same. */
    int (*open)(uv_loop_t *loop, struct pg_pool *pool);
    /* Close what `open` has opened, which may be a part of it, and call service_close_pool() once
     * nothing uses the pool any more. Runs once, with no handler left. */
    void (*close)(void);
};

/* What main() returns. */
__attribute__((warn_unused_result)) int service_main(const struct service_program *program,
                                                     int argc, char **argv);
void service_close_pool(void);

/* A line on stderr that begins with the program's name; returns `code`. */
__attribute__((format(printf, 2, 3))) int service_fail(int code, const char *format, ...);

#endif
