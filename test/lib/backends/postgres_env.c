/* A schema for the locks of this process, and two clients in it, one through a proxy. */
#include "postgres_env.h"

#include <unistd.h>

const char *postgres_mode = "mode=session";

static PGconn *admin;
static char schema[40];

static void drop(void) {
    char sql[100];

    (void)snprintf(sql, sizeof sql, "DROP SCHEMA %s CASCADE", schema);
    PQclear(PQexec(admin, sql));
    PQfinish(admin);
}

static void make(void) {
    const char *base = getenv("TEST_PG");
    char text[1000];

    if (base == NULL)
        fail_msg("set TEST_PG to a conninfo of a scratch database (test/run does)");
    (void)snprintf(schema, sizeof schema, "lockkit_%ld", (long)getpid());
    (void)snprintf(text, sizeof text, "%s options='-c search_path=%s -c client_min_messages=error'",
                   base, schema);
    admin = PQconnectdb(text);
    if (PQstatus(admin) != CONNECTION_OK)
        fail_msg("TEST_PG: %s", PQerrorMessage(admin));
    (void)snprintf(text, sizeof text, "DROP SCHEMA IF EXISTS %s CASCADE; CREATE SCHEMA %s", schema,
                   schema);
    (void)postgres_ask(text);
    (void)atexit(drop);
}

PGconn *postgres_admin(void) {
    if (admin == NULL)
        make();
    return admin;
}

const char *postgres_ask_on(PGconn *conn, const char *sql) {
    static char answer[400];
    PGresult *result = PQexec(conn, sql);

    if (PQresultStatus(result) != PGRES_COMMAND_OK && PQresultStatus(result) != PGRES_TUPLES_OK)
        fail_msg("%.300s: %s", sql, PQerrorMessage(conn));
    (void)snprintf(answer, sizeof answer, "%s",
                   PQntuples(result) > 0 ? PQgetvalue(result, 0, 0) : "");
    PQclear(result);
    return answer;
}

const char *postgres_ask(const char *sql) {
    return postgres_ask_on(postgres_admin(), sql);
}

const char *postgres_url_at(int port, const char *parameters) {
    static char url[400];
    PGconn *conn = postgres_admin();

    (void)snprintf(url, sizeof url,
                   "postgres://%s:%s@127.0.0.1:%d/%s?options=-csearch_path%%3D%s&%s", PQuser(conn),
                   PQpass(conn), port, PQdb(conn), schema, parameters);
    return url;
}

const char *postgres_url(const char *parameters) {
    return postgres_url_at(atoi(PQport(postgres_admin())), parameters);
}

int postgres_set_up(void **state) {
    const char *url = postgres_url(postgres_mode);

    return env_open(state, url, url);
}

long ask_locks(struct env *env, const char *what) {
    char sql[400];

    (void)snprintf(sql, sizeof sql,
                   "SELECT count(*) FROM pg_locks JOIN lockkit_lock ON"
                   " ((classid::bigint << 32) | objid::bigint) = key"
                   " WHERE locktype = 'advisory' AND name = '%s' AND %s",
                   env->fixture.name, what);
    return strtol(postgres_ask(sql), NULL, 10);
}
