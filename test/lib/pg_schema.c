/* Makes a schema, and runs SQL in it. */
#include "pg_schema.h"

#include "test.h"

#include <stdbool.h>
#include <unistd.h>

static PGresult *run(struct pg_schema *schema, const char *sql) {
    PGresult *result = PQexec(schema->admin, sql);

    if (PQresultStatus(result) != PGRES_COMMAND_OK && PQresultStatus(result) != PGRES_TUPLES_OK)
        fail_msg("%.500s: %s", sql, PQerrorMessage(schema->admin));
    return result;
}

void pg_schema_apply(struct pg_schema *schema, const char *path) {
    FILE *file = fopen(path, "r");
    char text[20000];
    size_t length;

    if (file == NULL)
        fail_msg("%s: run the tests in the top directory", path);
    length = fread(text, 1, sizeof text - 1, file);
    text[length] = '\0';
    (void)fclose(file);
    PQclear(run(schema, text));
}

void pg_schema_open(struct pg_schema *schema, const char *area, const char *path,
                    const char *options) {
    const char *base = getenv("TEST_PG");

    if (base == NULL)
        fail_msg("set TEST_PG to a conninfo of a scratch database (test/run does)");
    (void)snprintf(schema->name, sizeof schema->name, "%s_%ld", area, (long)getpid());
    (void)snprintf(schema->conninfo, sizeof schema->conninfo,
                   "%s options='-c search_path=%s -c client_min_messages=error %s'", base,
                   schema->name, options);
    schema->admin = PQconnectdb(schema->conninfo);
    if (PQstatus(schema->admin) != CONNECTION_OK)
        fail_msg("TEST_PG: %s", PQerrorMessage(schema->admin));
    pg_schema_run(schema, "DROP SCHEMA IF EXISTS %s CASCADE; CREATE SCHEMA %s", schema->name,
                  schema->name);
    /* The roles of the grants in the file. Roles are of all databases, and may exist. */
    pg_schema_run(schema,
                  "DO $$ BEGIN CREATE ROLE order_svc; EXCEPTION WHEN OTHERS THEN END $$;"
                  "DO $$ BEGIN CREATE ROLE inventory_svc; EXCEPTION WHEN OTHERS THEN END $$;"
                  "DO $$ BEGIN CREATE ROLE loadgen; EXCEPTION WHEN OTHERS THEN END $$");
    pg_schema_apply(schema, path);
}

void pg_schema_close(struct pg_schema *schema) {
    if (schema->admin == NULL)
        return;
    pg_schema_run(schema, "ROLLBACK; DROP SCHEMA %s CASCADE", schema->name);
    PQfinish(schema->admin);
    schema->admin = NULL;
}

static PGresult *run_format(struct pg_schema *schema, const char *format, va_list args) {
    char sql[4096];

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    assert_in_range(vsnprintf(sql, sizeof sql, format, args), 0, sizeof sql - 1);
#pragma GCC diagnostic pop
    return run(schema, sql);
}

void pg_schema_run(struct pg_schema *schema, const char *format, ...) {
    va_list args;

    va_start(args, format);
    PQclear(run_format(schema, format, args));
    va_end(args);
}

const char *pg_schema_ask(struct pg_schema *schema, const char *format, ...) {
    static char answer[200];
    PGresult *result;
    bool is_there;
    va_list args;

    va_start(args, format);
    result = run_format(schema, format, args);
    va_end(args);
    is_there = PQntuples(result) > 0;
    (void)snprintf(answer, sizeof answer, "%s", is_there ? PQgetvalue(result, 0, 0) : "");
    PQclear(result);
    return is_there ? answer : NULL;
}

long pg_schema_to_number(const char *text) {
    return text != NULL ? strtol(text, NULL, 10) : -1;
}
