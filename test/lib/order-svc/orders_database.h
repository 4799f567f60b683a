/* The orders database of a test: sql/orders.sql in a schema of this process on TEST_PG, and a pool
 * on it. */
#ifndef TEST_ORDERS_DATABASE_H
#define TEST_ORDERS_DATABASE_H

#include "order_fixture.h"

static inline void run_sql(const char *sql) {
    PGresult *result = PQexec(fixture.admin, sql);

    if (PQresultStatus(result) != PGRES_COMMAND_OK && PQresultStatus(result) != PGRES_TUPLES_OK)
        fail_msg("%s: %s", sql, PQerrorMessage(fixture.admin));
    PQclear(result);
}

/* The first field of what a query answers; it lasts until the next question. */
static inline const char *ask(const char *sql) {
    static char answer[200];
    PGresult *result = PQexec(fixture.admin, sql);

    if (PQresultStatus(result) != PGRES_TUPLES_OK)
        fail_msg("%s: %s", sql, PQerrorMessage(fixture.admin));
    (void)snprintf(answer, sizeof answer, "%s",
                   PQntuples(result) > 0 ? PQgetvalue(result, 0, 0) : "");
    PQclear(result);
    return answer;
}

static inline int count_orders(void) {
    return atoi(ask("SELECT count(*) FROM orders"));
}

static inline void apply_orders_sql(void) {
    FILE *file = fopen("sql/orders.sql", "r");
    char text[20000];
    size_t length;

    if (file == NULL)
        fail_msg("sql/orders.sql: run the tests in the top directory");
    length = fread(text, 1, sizeof text - 1, file);
    text[length] = '\0';
    (void)fclose(file);
    run_sql(text);
}

static inline void open_pool(unsigned connections, unsigned queue) {
    struct pg_pool_options options = {.conninfo = getenv("TEST_PG"),
                                      .name = fixture.name,
                                      .connections = connections,
                                      .queue = queue};

    assert_int_equal(pg_pool_open(&fixture.pool, &fixture.loop, &options), 0);
    fixture.open++;
    WAIT_FOR(pg_pool_is_up(fixture.pool));
}

static inline void close_pool(void) {
    unsigned open = fixture.open;

    pg_pool_close(fixture.pool, on_something_closed, NULL);
    WAIT_FOR(fixture.open < open);
}

/* Every connection from here on works in the schema. */
static inline int set_up_database(void **state) {
    const char *conninfo = getenv("TEST_PG");
    char text[200];

    if (conninfo == NULL) {
        print_error("set TEST_PG to a conninfo (test/run does)\n");
        return -1;
    }
    if (set_up_peers(state) != 0)
        return -1;
    (void)snprintf(fixture.name, sizeof fixture.name, "orders_%ld", (long)getpid());
    (void)snprintf(text, sizeof text, "-c search_path=%s", fixture.name);
    assert_int_equal(setenv("PGOPTIONS", text, 1), 0);
    fixture.admin = PQconnectdb(conninfo);
    if (PQstatus(fixture.admin) != CONNECTION_OK)
        fail_msg("%s", PQerrorMessage(fixture.admin));
    (void)snprintf(text, sizeof text,
                   "SET client_min_messages = error; DROP SCHEMA IF EXISTS %s CASCADE; "
                   "CREATE SCHEMA %s",
                   fixture.name, fixture.name);
    run_sql(text);
    run_sql("DO $$ BEGIN CREATE ROLE order_svc; EXCEPTION WHEN OTHERS THEN END $$;"
            "DO $$ BEGIN CREATE ROLE loadgen; EXCEPTION WHEN OTHERS THEN END $$");
    apply_orders_sql();
    open_pool(4, 100);
    open_inventory(1);
    return 0;
}

static inline int tear_down_database(void **state) {
    char text[100];

    run_sql("ROLLBACK"); /* of a test that failed in the middle */
    close_pool();
    (void)snprintf(text, sizeof text, "DROP SCHEMA %s CASCADE", fixture.name);
    run_sql(text);
    PQfinish(fixture.admin);
    return tear_down_peers(state);
}

#endif
