/* An instance without HTTP, and its buyers. */
#include "instance.h"

#include "pending.h"
#include "redis.h"
#include "reservation_sql.h"

#include "log.h"

#include <unistd.h>

#define PATIENCE_S 120

struct instance instance;

int make_schema(void **state) {
    if (getenv("TEST_REDIS") == NULL)
        fail_msg("set TEST_REDIS (test/run does)");
    (void)alarm(PATIENCE_S);
    log_init("test", LOG_ERROR);
    pg_schema_open(&instance.schema, "inventory", "sql/inventory.sql", "");
    return 0;
}

int drop_schema(void **state) {
    pg_schema_close(&instance.schema);
    return 0;
}

void instance_open_pool(const struct pg_pool_options *options) {
    assert_int_equal(pg_pool_open(&instance.store.pool, &instance.loop, options), 0);
    WAIT_FOR(&instance.loop, pool_stats().idle == options->connections);
}

void name_postgres_locks(int port) {
    PGconn *admin = instance.schema.admin;

    (void)snprintf(instance.lock_url, sizeof instance.lock_url,
                   "postgres://%s:%s@127.0.0.1:%d/%s?options=-csearch_path%%3D%s"
                   "&application_name=%s",
                   PQuser(admin), PQpass(admin), port, PQdb(admin), instance.schema.name,
                   instance.name);
    instance.store.locks.urls[LOCK_AT_POSTGRES] = instance.lock_url;
}

int set_up(void **state) {
    struct store *store = &instance.store;
    lk_client *redis;
    struct pg_pool_options db = {.conninfo = instance.schema.conninfo,
                                 .name = instance.name,
                                 .settings = STATEMENT_SESSION,
                                 .connections = 8};

    (void)snprintf(instance.name, sizeof instance.name, "test-%ld", (long)getpid());
    assert_int_equal(uv_loop_init(&instance.loop), 0);
    store->loop = &instance.loop;
    store->instance = "inventory-test";
    strcpy(instance.lock_dir, "/tmp/inventory-test-XXXXXX");
    assert_non_null(mkdtemp(instance.lock_dir));
    instance_open_pool(&db);
    store->locks = (struct lock_servers){.loop = &instance.loop,
                                         .label = "inventory-test",
                                         .pooled = store->pool,
                                         .dir = instance.lock_dir};
    store->locks.urls[LOCK_AT_REDIS] = getenv("TEST_REDIS");
    name_postgres_locks(atoi(PQport(instance.schema.admin)));
    assert_int_equal(lock_servers_client(&store->locks, LOCK_AT_REDIS, "", &redis), LK_OK);
    assert_int_equal(redis_open(&store->kv, &instance.loop,
                                &(struct redis_options){.url = getenv("TEST_REDIS")}),
                     0);
    assert_int_equal(
        lab_open(&store->lab, &instance.loop, instance.schema.conninfo, store->instance), 0);
    store->products = product_table_open(store->pool, store->instance, true, 100);
    assert_non_null(store->products);
    store->pending = pending_open(store->loop, store->pool, store->kv, store->instance);
    assert_non_null(store->pending);
    return 0;
}

void on_closed(void *data) {
    (void)data;
}

static void on_pending_closed(void *data) {
    *(bool *)data = true;
}

int tear_down(void **state) {
    struct store *store = &instance.store;
    bool is_closed = false;

    run_sql("ROLLBACK"); /* of a test that failed in the middle */
    pending_close(store->pending, on_pending_closed, &is_closed);
    WAIT_FOR(&instance.loop, is_closed);
    product_table_close(store->products);
    lock_servers_close(&store->locks);
    redis_close(store->kv, on_closed, NULL);
    lab_close(store->lab);
    pg_pool_close(store->pool, on_closed, NULL);
    (void)uv_run(&instance.loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&instance.loop), 0);
    assert_int_equal(rmdir(instance.lock_dir), 0); /* no lock was left */
    fiber_cleanup();
    return 0;
}

lk_client **redis_locks(void) {
    assert_int_equal(instance.store.locks.clients[0].server, LOCK_AT_REDIS);
    return &instance.store.locks.clients[0].client;
}

lk_client *lose_redis(void) {
    struct lk_client_options options = {.size = sizeof options, .cleanup_ms = 1};
    lk_client **client = redis_locks(), *usual = *client;

    assert_int_equal(lk_client_open(client, &instance.loop, "redis://127.0.0.1:1", &options),
                     LK_OK);
    return usual;
}

void regain_redis(lk_client *usual) {
    lk_client **client = redis_locks();

    lk_client_close(*client, on_closed, NULL);
    *client = usual;
}

void make_product(char id[UUID_TEXT], const char *strategy, int stock) {
    uuid_v7(id);
    run_sql("INSERT INTO product VALUES ('%s', 'bamboo', 9.90, %d, '%s')", id, stock, strategy);
}

void lock_stock(const char *id) {
    run_sql("BEGIN");
    (void)ask("SELECT 1 FROM stock WHERE product_id = '%s' FOR UPDATE", id);
}

static void buy(void *arg) {
    struct buyer *buyer = arg;

    selling_run(&buyer->selling, &instance.store);
    buyer->is_done = true;
}

void begin(struct buyer *buyer, const char *product_id, const char *order_id) {
    memset(buyer, 0, sizeof *buyer);
    memcpy(buyer->product_id, product_id, UUID_TEXT);
    if (order_id != NULL)
        memcpy(buyer->order_id, order_id, UUID_TEXT);
    else
        uuid_v7(buyer->order_id);
    buyer->selling.product_id = buyer->product_id;
    buyer->selling.order_id = buyer->order_id;
    buyer->selling.may_be_repeat = order_id != NULL;
    assert_int_equal(fiber_start(buy, buyer), 0);
}

void finish(struct buyer *buyers, size_t count) {
    for (size_t i = 0; i < count; i++)
        WAIT_FOR(&instance.loop, buyers[i].is_done);
}

enum outcome sell(struct buyer *buyer, const char *product_id, const char *order_id) {
    begin(buyer, product_id, order_id);
    finish(buyer, 1);
    return buyer->selling.outcome;
}

size_t count_outcome(const struct buyer *buyers, size_t count, enum outcome outcome) {
    size_t found = 0;

    for (size_t i = 0; i < count; i++)
        found += buyers[i].selling.outcome == outcome;
    return found;
}

long twins(const char *product_id) {
    return ask("SELECT count(*) - count(DISTINCT unit) FROM reservation WHERE product_id = '%s'",
               product_id);
}

long sold(const char *product_id) {
    return ask("SELECT count(*) FROM reservation WHERE product_id = '%s'", product_id);
}

long left(const char *product_id) {
    return ask("SELECT sum(available) FROM stock WHERE product_id = '%s'", product_id);
}

void run_cancel(void *arg) {
    struct cancel *cancel = arg;

    cancel->outcome =
        reservation_sql_cancel(instance.store.pool, cancel->order_id, &cancel->was_there,
                               cancel->product_id, cancel->message);
    if (cancel->was_there)
        product_note_returned(instance.store.products, cancel->product_id);
    cancel->is_done = true;
}

struct pg_pool_stats pool_stats(void) {
    struct pg_pool_stats stats;

    pg_pool_stats(instance.store.pool, &stats);
    return stats;
}

void instance_await_rollback(void) {
    for (int tries = 0; tries < 1000; tries++) {
        const struct pg_pool_stats stats = pool_stats();

        if (stats.idle + stats.held >= stats.connections)
            return;
        fiber_sleep(&instance.loop, 1);
    }
}
