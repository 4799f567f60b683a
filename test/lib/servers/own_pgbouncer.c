/* Starts pgbouncer with a configuration in a folder of its own. It refuses to run as root; then
 * it runs as the user postgres. */
#include "own_pgbouncer.h"

#include "own_folder.h"
#include "own_port.h"
#include "own_process.h"
#include "process_end.h"
#include "test.h"

#include <libpq-fe.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATIENCE_MS 10000

static const char *value_of(const PQconninfoOption *options, const char *keyword) {
    for (; options->keyword != NULL; options++)
        if (strcmp(options->keyword, keyword) == 0)
            return options->val != NULL ? options->val : "";
    return "";
}

static void write_config(const struct own_pgbouncer *own, const char *path, const char *schema,
                         int connections) {
    PQconninfoOption *options = PQconninfoParse(getenv("TEST_PG"), NULL);
    FILE *file = fopen(path, "w");

    assert_non_null(options);
    assert_non_null(file);
    (void)fprintf(file,
                  "[databases]\n"
                  "pooled = host=%s port=%s dbname=%s user=%s password=%s"
                  " connect_query='SET search_path TO %s'\n"
                  "[pgbouncer]\n"
                  "listen_addr = 127.0.0.1\nlisten_port = %d\nunix_socket_dir =\n"
                  "auth_type = any\npool_mode = transaction\ndefault_pool_size = %d\n"
                  "ignore_startup_parameters = extra_float_digits,options\n",
                  value_of(options, "host"), value_of(options, "port"), value_of(options, "dbname"),
                  value_of(options, "user"), value_of(options, "password"), schema, own->port,
                  connections);
    assert_int_equal(fclose(file), 0);
    PQconninfoFree(options);
}

static void await(const struct own_pgbouncer *own) {
    for (int waited_ms = 0;; waited_ms += 20) {
        PGconn *conn = PQconnectdb(own->url);
        bool is_up = PQstatus(conn) == CONNECTION_OK;

        PQfinish(conn);
        if (is_up)
            return;
        if (waited_ms >= PATIENCE_MS)
            fail_msg("pgbouncer did not start on port %d", own->port);
        (void)usleep(20000);
    }
}

void own_pgbouncer_start(struct own_pgbouncer *own, const char *schema, int connections) {
    const struct passwd *user = own_process_postgres();
    char path[96];

    if (getenv("TEST_PG") == NULL)
        fail_msg("set TEST_PG to a conninfo of a scratch database (test/run does)");
    own->port = own_port();
    own_folder_make(own->folder, sizeof own->folder, "own-pgbouncer");
    (void)snprintf(own->url, sizeof own->url, "postgres://pooled@127.0.0.1:%d/pooled", own->port);
    (void)snprintf(path, sizeof path, "%s/pgbouncer.ini", own->folder);
    (void)umask(077);
    write_config(own, path, schema, connections);
    if (user != NULL) {
        assert_int_equal(chown(path, user->pw_uid, user->pw_gid), 0);
        assert_int_equal(chown(own->folder, user->pw_uid, user->pw_gid), 0);
    }
    own->pid =
        own_process_start("/dev/null", user, SIGKILL, "/usr/sbin/pgbouncer", path, (char *)NULL);
    await(own);
}

void own_pgbouncer_stop(struct own_pgbouncer *own) {
    process_end(&own->pid, SIGKILL);
    own_folder_remove(own->folder);
}
