/* One instance in a test: a schema of its own on TEST_PG, Redis of TEST_REDIS, pools, locks and the
 * table of products; and sales in as many fibers as one likes. */
#ifndef TEST_INSTANCE_H
#define TEST_INSTANCE_H

#include "clock.h"
#include "fault.h"
#include "fiber.h"
#include "log.h"
#include "selling.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATIENCE_S 120

struct instance {
    uv_loop_t loop;
    struct inventory inventory;
    PGconn *admin;
    char name[32]; /* of this process's connections, so that tests side by side tell them apart */
};

static struct instance instance;

static inline void run_sql(const char *sql) {
    PGresult *result = PQexec(instance.admin, sql);

    if (PQresultStatus(result) != PGRES_COMMAND_OK && PQresultStatus(result) != PGRES_TUPLES_OK)
        fail_msg("%s: %s", sql, PQerrorMessage(instance.admin));
    PQclear(result);
}

/* The number that a query answers, with the product for its %s. */
static inline long ask(const char *format, const char *product_id) {
    char sql[600];
    PGresult *result;
    long number;

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    (void)snprintf(sql, sizeof sql, format, product_id);
#pragma GCC diagnostic pop
    result = PQexec(instance.admin, sql);
    if (PQresultStatus(result) != PGRES_TUPLES_OK)
        fail_msg("%s: %s", sql, PQerrorMessage(instance.admin));
    number = PQntuples(result) > 0 ? strtol(PQgetvalue(result, 0, 0), NULL, 10) : -1;
    PQclear(result);
    return number;
}

static inline void run_file(const char *path) {
    FILE *file = fopen(path, "r");
    char text[20000];
    size_t length;

    if (file == NULL)
        fail_msg("%s: run the tests in the top directory", path);
    length = fread(text, 1, sizeof text - 1, file);
    text[length] = '\0';
    (void)fclose(file);
    run_sql(text);
}

/* Before all tests of a program: every connection from here on works in a schema of this process.
 */
static inline int make_schema(void **state) {
    const char *conninfo = getenv("TEST_PG");
    char text[200];

    (void)state;
    if (conninfo == NULL || getenv("TEST_REDIS") == NULL) {
        print_error("set TEST_PG and TEST_REDIS (test/run does)\n");
        return -1;
    }
    (void)alarm(PATIENCE_S);
    log_init("test", LOG_ERROR);
    (void)snprintf(text, sizeof text, "-c search_path=inventory_%ld -c statement_timeout=%d",
                   (long)getpid(), SERVER_MS);
    assert_int_equal(setenv("PGOPTIONS", text, 1), 0);
    instance.admin = PQconnectdb(conninfo);
    if (PQstatus(instance.admin) != CONNECTION_OK)
        fail_msg("%s", PQerrorMessage(instance.admin));
    run_sql("SET client_min_messages = error");
    (void)snprintf(text, sizeof text, "CREATE SCHEMA inventory_%ld", (long)getpid());
    run_sql(text);
    run_sql("DO $$ BEGIN CREATE ROLE inventory_svc; EXCEPTION WHEN OTHERS THEN END $$;"
            "DO $$ BEGIN CREATE ROLE loadgen; EXCEPTION WHEN OTHERS THEN END $$");
    run_file("sql/inventory.sql");
    return 0;
}

static inline int drop_schema(void **state) {
    char text[100];

    (void)state;
    if (instance.admin == NULL)
        return 0;
    (void)snprintf(text, sizeof text, "DROP SCHEMA inventory_%ld CASCADE", (long)getpid());
    run_sql(text);
    PQfinish(instance.admin);
    return 0;
}

static inline int set_up(void **state) {
    struct store *store = &instance.inventory.store;
    struct pg_pool_options db = {.conninfo = getenv("TEST_PG"), .name = instance.name};
    struct lk_client_options locks = {.size = sizeof locks, .label = "inventory-test"};

    (void)state;
    (void)snprintf(instance.name, sizeof instance.name, "test-%ld", (long)getpid());
    assert_int_equal(uv_loop_init(&instance.loop), 0);
    store->loop = &instance.loop;
    store->instance = "inventory-test";
    assert_int_equal(pg_pool_open(&store->pool, &instance.loop, &db), 0);
    assert_int_equal(lk_client_open(&store->local, &instance.loop, "local:", NULL), LK_OK);
    assert_int_equal(lk_client_open(&store->redis, &instance.loop, getenv("TEST_REDIS"), &locks),
                     LK_OK);
    instance.inventory.products = product_table_open(store->pool, store->instance, true, 100);
    assert_non_null(instance.inventory.products);
    return 0;
}

static inline void on_closed(void *data) {
    (void)data;
}

static inline int tear_down(void **state) {
    struct store *store = &instance.inventory.store;

    (void)state;
    run_sql("ROLLBACK"); /* of a test that failed in the middle */
    product_table_close(instance.inventory.products);
    lk_client_close(store->local, on_closed, NULL);
    lk_client_close(store->redis, on_closed, NULL);
    pg_pool_close(store->pool, on_closed, NULL);
    (void)uv_run(&instance.loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&instance.loop), 0);
    fiber_cleanup();
    return 0;
}

/* From here on Redis is not there; returns what regain_redis() takes. */
static inline lk_client *lose_redis(void) {
    struct store *store = &instance.inventory.store;
    struct lk_client_options options = {.size = sizeof options, .cleanup_ms = 1};
    lk_client *usual = store->redis;

    assert_int_equal(lk_client_open(&store->redis, &instance.loop, "redis://127.0.0.1:1", &options),
                     LK_OK);
    return usual;
}

static inline void regain_redis(lk_client *usual) {
    lk_client_close(instance.inventory.store.redis, on_closed, NULL);
    instance.inventory.store.redis = usual;
}

/* Make a product and leave its id in `id`. */
static inline void make_product(char id[UUID_TEXT], const char *strategy, int stock) {
    char sql[500];

    uuid_v7(id);
    (void)snprintf(sql, sizeof sql, "INSERT INTO product VALUES ('%s', 'bamboo', 9.90, %d, '%s')",
                   id, stock, strategy);
    run_sql(sql);
}

/* A sale in a fiber of its own. */
struct buyer {
    char product_id[UUID_TEXT], order_id[UUID_TEXT];
    struct selling selling;
    bool is_done;
};

static inline void buy(void *arg) {
    struct buyer *buyer = arg;

    selling_run(&buyer->selling, &instance.inventory);
    buyer->is_done = true;
}

/* Start a sale; `order_id` NULL makes a new one. */
static inline void begin(struct buyer *buyer, const char *product_id, const char *order_id) {
    memset(buyer, 0, sizeof *buyer);
    memcpy(buyer->product_id, product_id, UUID_TEXT);
    if (order_id != NULL)
        memcpy(buyer->order_id, order_id, UUID_TEXT);
    else
        uuid_v7(buyer->order_id);
    buyer->selling.product_id = buyer->product_id;
    buyer->selling.order_id = buyer->order_id;
    buyer->selling.request_id = "test";
    buyer->selling.may_be_repeat = order_id != NULL;
    assert_int_equal(fiber_start(buy, buyer), 0);
}

static inline void finish(struct buyer *buyers, size_t count) {
    for (size_t i = 0; i < count; i++)
        while (!buyers[i].is_done)
            (void)uv_run(&instance.loop, UV_RUN_ONCE);
}

/* One sale from beginning to end: its HTTP status. */
static inline int sell(struct buyer *buyer, const char *product_id, const char *order_id) {
    begin(buyer, product_id, order_id);
    finish(buyer, 1);
    return buyer->selling.status;
}

static inline size_t count_status(const struct buyer *buyers, size_t count, int status) {
    size_t found = 0;

    for (size_t i = 0; i < count; i++)
        found += buyers[i].selling.status == status;
    return found;
}

static inline long twins(const char *product_id) {
    return ask("SELECT count(*) - count(DISTINCT unit) FROM reservation WHERE product_id = '%s'",
               product_id);
}

static inline long sold(const char *product_id) {
    return ask("SELECT count(*) FROM reservation WHERE product_id = '%s'", product_id);
}

static inline long left(const char *product_id) {
    return ask("SELECT sum(available) FROM stock WHERE product_id = '%s'", product_id);
}

#endif
