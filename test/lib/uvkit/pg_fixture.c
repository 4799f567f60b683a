/* A pool with everything around it, and queries that note their end. */
#include "pg_fixture.h"

struct fixture fixture;
int endings;

static void on_tick(uv_timer_t *timer) {
}

void on_pool_closed(void *data) {
    assert_false(fixture.is_closed);
    fixture.is_closed = true;
    fixture.pool = NULL;
}

void open_pool(const char *conninfo, unsigned connections, unsigned queue) {
    struct pg_pool_options options = {.conninfo = conninfo,
                                      .name = fixture.name,
                                      .connections = connections,
                                      .queue = queue,
                                      .pipelines = fixture.pipelines,
                                      .in_flight = fixture.in_flight,
                                      .answer_ms = fixture.answer_ms,
                                      .stall_ms = fixture.stall_ms,
                                      .connect_timeout_ms = 1000};

    fixture.is_closed = false;
    assert_int_equal(pg_pool_open(&fixture.pool, &fixture.loop, &options), 0);
}

struct pg_pool_stats pool_stats(void) {
    struct pg_pool_stats stats;

    pg_pool_stats(fixture.pool, &stats);
    return stats;
}

void open_ready_pool(const char *conninfo, unsigned connections, unsigned queue) {
    open_pool(conninfo, connections, queue);
    WAIT_FOR(&fixture.loop, pool_stats().connections == connections);
}

void close_pool(void) {
    if (fixture.pool == NULL)
        return;
    pg_pool_close(fixture.pool, on_pool_closed, NULL);
    WAIT_FOR(&fixture.loop, fixture.is_closed);
}

int ask(const char *sql) {
    PGresult *result = PQexec(fixture.admin, sql);
    int answer = 0;

    if (PQresultStatus(result) == PGRES_TUPLES_OK && PQntuples(result) > 0)
        answer = atoi(PQgetvalue(result, 0, 0));
    else if (PQresultStatus(result) != PGRES_COMMAND_OK &&
             PQresultStatus(result) != PGRES_TUPLES_OK)
        fail_msg("%s: %s", sql, PQerrorMessage(fixture.admin));
    PQclear(result);
    return answer;
}

void make_role(char conninfo[512]) {
    char sql[300];

    (void)snprintf(sql, sizeof sql,
                   "CREATE ROLE %s LOGIN PASSWORD 'x'; GRANT CONNECT ON DATABASE %s TO %s;"
                   "GRANT ALL ON ALL TABLES IN SCHEMA public TO %s",
                   fixture.name, PQdb(fixture.admin), fixture.name, fixture.name);
    (void)ask(sql);
    (void)snprintf(conninfo, 512, "host='%s' port=%s user=%s password=x dbname='%s'",
                   PQhost(fixture.admin), PQport(fixture.admin), fixture.name, PQdb(fixture.admin));
}

void drop_role(void) {
    char sql[200];

    close_pool();
    (void)snprintf(sql, sizeof sql, "DROP OWNED BY %s; DROP ROLE %s", fixture.name, fixture.name);
    (void)ask(sql);
}

static void connect_admin(const char *conninfo) {
    const char *const names[] = {"dbname", "application_name", "options", NULL};
    const char *const values[] = {conninfo, fixture.name, "-c client_min_messages=warning", NULL};

    fixture.admin = PQconnectdbParams(names, values, 1);
    if (PQstatus(fixture.admin) != CONNECTION_OK)
        fail_msg("%s", PQerrorMessage(fixture.admin));
}

/* The folder where libpq finds a server's socket, if the host is a folder. */
static struct fault_proxy *open_proxy(void) {
    const char *host = PQhost(fixture.admin), *port = PQport(fixture.admin);
    char path[256];

    if (host[0] != '/')
        return fault_proxy_open(&fixture.loop, host, port);
    (void)snprintf(path, sizeof path, "%s/.s.PGSQL.%s", host, port);
    return fault_proxy_open(&fixture.loop, path, NULL);
}

int pg_set_up(void **state) {
    const char *conninfo = getenv("TEST_PG");

    if (conninfo == NULL) {
        print_error("set TEST_PG to a conninfo (test/run does)\n");
        return -1;
    }
    fixture = (struct fixture){.pool = NULL};
    (void)snprintf(fixture.name, sizeof(fixture.name), "test_pg_%d", (int)getpid());
    connect_admin(conninfo);
    assert_int_equal(uv_loop_init(&fixture.loop), 0);
    fixture.proxy = open_proxy();
    (void)snprintf(fixture.conninfo, sizeof(fixture.conninfo),
                   "host='%s' port=%s user='%s' password='%s' dbname='%s'", PQhost(fixture.admin),
                   PQport(fixture.admin), PQuser(fixture.admin), PQpass(fixture.admin),
                   PQdb(fixture.admin));
    (void)snprintf(fixture.proxy_conninfo, sizeof(fixture.proxy_conninfo),
                   "host=127.0.0.1 port=%d user='%s' password='%s' dbname='%s' sslmode=disable",
                   fixture.proxy->port, PQuser(fixture.admin), PQpass(fixture.admin),
                   PQdb(fixture.admin));
    assert_int_equal(uv_timer_init(&fixture.loop, &fixture.tick), 0);
    assert_int_equal(uv_timer_start(&fixture.tick, on_tick, 2, 2), 0);
    return 0;
}

int pg_set_up_ready(void **state) {
    int rv = pg_set_up(state);

    if (rv == 0)
        open_ready_pool(fixture.conninfo, 1, 0);
    return rv;
}

int pg_tear_down(void **state) {
    close_pool();
    fault_proxy_close(fixture.proxy);
    uv_close((uv_handle_t *)&fixture.tick, NULL);
    (void)uv_run(&fixture.loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&fixture.loop), 0);
    PQfinish(fixture.admin);
    fiber_cleanup();
    return 0;
}

struct start {
    struct pg_pool *pool;
    struct asked *asked;
};

static void await_end(void *arg) {
    struct start start = *(struct start *)arg;

    (void)pg_query_await(start.pool, &start.asked->query);
    start.asked->ended = ++endings;
}

static void start_in_fiber(struct asked *asked, struct pg_query query, int64_t timeout_ms) {
    struct start start = {fixture.pool, asked};

    query.deadline_ms = clock_now_ms() + timeout_ms;
    *asked = (struct asked){.query = query};
    assert_int_equal(fiber_start(await_end, &start), 0);
    assert_int_equal(asked->ended, 0); /* it never ends inside the call */
}

void start_query(struct asked *asked, const char *sql, int64_t timeout_ms) {
    start_in_fiber(asked, (struct pg_query){.sql = sql}, timeout_ms);
}

void start_prepared(struct asked *asked, const struct pg_statement *statement, int64_t timeout_ms) {
    start_in_fiber(asked, (struct pg_query){.statement = statement, .params = {"1"}}, timeout_ms);
}

void start_statement(struct asked *asked, int64_t timeout_ms) {
    static const struct pg_statement one = {"test_one", "SELECT $1::int", 1};

    start_prepared(asked, &one, timeout_ms);
}

enum pg_status run_sql(struct pg_query *query, const char *sql) {
    struct asked asked;

    start_query(&asked, sql, PATIENCE_MS);
    WAIT_FOR(&fixture.loop, asked.ended != 0);
    *query = asked.query;
    return query->status;
}

bool run_with_little_memory(struct pg_query *query) {
    struct pg_pool_options options = {.conninfo = fixture.conninfo,
                                      .name = fixture.name,
                                      .connections = 1 + fixture.pipelines,
                                      .pipelines = fixture.pipelines};
    struct asked asked;
    int rv = pg_pool_open(&fixture.pool, &fixture.loop, &options);

    query->result = NULL;
    if (rv != 0) {
        assert_int_equal(rv, UV_ENOMEM);
        fixture.pool = NULL;
        return false;
    }
    fixture.is_closed = false;
    start_statement(&asked, PATIENCE_MS);
    WAIT_FOR(&fixture.loop, asked.ended != 0);
    *query = asked.query;
    close_pool();
    return true;
}

void expect_sql(const char *sql, enum pg_status status) {
    struct pg_query query;

    assert_int_equal(run_sql(&query, sql), status);
    pg_query_clear(&query);
}

void expect_first(const char *sql, const char *answer) {
    struct pg_query query;

    assert_int_equal(run_sql(&query, sql), PG_OK);
    assert_string_equal(pg_text(&query, 0, 0), answer);
    pg_query_clear(&query);
}

void expect_end(const struct asked *asked, enum pg_status status) {
    WAIT_FOR(&fixture.loop, asked->ended != 0);
    assert_int_equal(asked->query.status, status);
}

static void run_body(void *arg) {
    void (**body)(void) = arg;

    (*body)();
}

void run_in_fiber(void (*body)(void)) {
    wait_for_fiber(&fixture.loop, run_body, &body);
}

enum pg_status run_on(struct pg_conn *conn, const char *sql) {
    struct pg_query query = {.sql = sql, .on = conn, .deadline_ms = clock_now_ms() + PATIENCE_MS};
    enum pg_status status = pg_query_await(fixture.pool, &query);

    pg_query_clear(&query);
    return status;
}
