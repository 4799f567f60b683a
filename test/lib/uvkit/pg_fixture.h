/* Shared by the tests of the Postgres pool: a loop, a pool, an administrator's connection, and a
 * proxy between pool and server that can stall, drop and refuse connections. */
#ifndef TEST_PG_FIXTURE_H
#define TEST_PG_FIXTURE_H

#include "clock.h"
#include "fault_proxy.h"
#include "fiber.h"
#include "pg.h"
#include "test.h"
#include "wait.h"

#include <unistd.h>

struct fixture {
    uv_loop_t loop;
    uv_timer_t tick; /* keeps UV_RUN_ONCE from sleeping long */
    struct pg_pool *pool;
    struct fault_proxy *proxy;
    PGconn *admin;
    char name[32];            /* of this process, pools and administrator alike */
    char conninfo[512];       /* straight to the server */
    char proxy_conninfo[512]; /* through the proxy */
    bool is_closed;
    unsigned pipelines, in_flight; /* options of pools that are opened from now on */
    uint64_t answer_ms, stall_ms;
};

extern struct fixture fixture; /* of the test that runs */

int pg_set_up(void **state);
int pg_set_up_ready(void **state); /* with a pool that has its one connection */
int pg_tear_down(void **state);
#define TEST(test)       cmocka_unit_test_setup_teardown(test, pg_set_up, pg_tear_down)
#define TEST_READY(test) cmocka_unit_test_setup_teardown(test, pg_set_up_ready, pg_tear_down)

void open_pool(const char *conninfo, unsigned connections, unsigned queue);
/* And wait until it has its connections. */
void open_ready_pool(const char *conninfo, unsigned connections, unsigned queue);
void close_pool(void);
void on_pool_closed(void *data);
struct pg_pool_stats pool_stats(void);

/* Ask as the administrator, at once. Returns the first field of the answer. */
int ask(const char *sql);

/* Make a role of this process's own, with rights on all present tables. Returns its conninfo.
 * drop_role() closes the pool. */
void make_role(char conninfo[512]);
void drop_role(void);

/* The backends of this process's pools, without the administrator's. */
#define POOL_BACKENDS                                                                              \
    "FROM pg_stat_activity WHERE application_name = current_setting('application_name') AND "      \
    "pid <> pg_backend_pid()"

/* A query, and its place in the order of endings; 0: it has not ended. */
extern int endings;
struct asked {
    struct pg_query query;
    int ended;
};
void start_query(struct asked *asked, const char *sql, int64_t timeout_ms);
/* With one parameter, 1. */
void start_prepared(struct asked *asked, const struct pg_statement *statement, int64_t timeout_ms);
void start_statement(struct asked *asked, int64_t timeout_ms);
/* Start it and wait. */
enum pg_status run_sql(struct pg_query *query, const char *sql);
void expect_sql(const char *sql, enum pg_status status);
void expect_first(const char *sql, const char *answer); /* its first field */
/* Wait for a query that was started. */
void expect_end(const struct asked *asked, enum pg_status status);

/* The same on a pool that it opens, for fault_each_allocation(). False: the pool did not open. */
bool run_with_little_memory(struct pg_query *query);

/* Run a function in a fiber and wait for its end. */
void run_in_fiber(void (*body)(void));
/* In a fiber, on a held connection. */
enum pg_status run_on(struct pg_conn *conn, const char *sql);

#endif
