/* An instance without HTTP, and its buyers. */
#include "instance.h"

#include "pending.h"
#include "redis.h"
#include "redis_cluster.h"
#include "reservation_sql.h"
#include "segment_redis.h"

#include "log.h"

#include <unistd.h>

#define PATIENCE_S 120
#define IDS        512

struct instance instance;
static struct store other;

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
    if (getenv("TEST_CLUSTER") != NULL)
        assert_int_equal(redis_cluster_open(&store->cluster, &instance.loop, getenv("TEST_CLUSTER"),
                                            "inventory-test"),
                         0);
    assert_int_equal(
        lab_events_open(&store->lab, &instance.loop, instance.schema.conninfo, store->instance), 0);
    store->products = product_table_open(store->pool, store->instance, true, 100);
    assert_non_null(store->products);
    store->pending =
        pending_open(store->loop, store->pool,
                     &(struct segment_server){
                         .redis = store->kv, .cluster = store->cluster, .loop = store->loop},
                     store->instance);
    assert_non_null(store->pending);
    return 0;
}

void on_closed(void *data) {
}

static void on_pending_closed(void *data) {
    *(bool *)data = true;
}

int tear_down(void **state) {
    struct store *store = &instance.store;
    bool is_closed = false;

    run_sql("ROLLBACK"); /* for a test that failed in the middle */
    pending_close(store->pending, on_pending_closed, &is_closed);
    WAIT_FOR(&instance.loop, is_closed);
    product_table_close(store->products);
    lock_servers_close(&store->locks);
    redis_close(store->kv, on_closed, NULL);
    if (store->cluster != NULL)
        redis_cluster_close(store->cluster, on_closed, NULL);
    lab_events_close(store->lab);
    pg_pool_close(store->pool, on_closed, NULL);
    (void)uv_run(&instance.loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&instance.loop), 0);
    assert_int_equal(rmdir(instance.lock_dir), 0); /* no lock is left */
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

static struct redis *usual_kv;

void divert_kv(const char *url) {
    assert_null(usual_kv);
    usual_kv = instance.store.kv;
    assert_int_equal(
        redis_open(&instance.store.kv, &instance.loop, &(struct redis_options){.url = url}), 0);
}

void regain_kv(void) {
    if (usual_kv == NULL)
        return;
    redis_close(instance.store.kv, on_closed, NULL);
    instance.store.kv = usual_kv;
    usual_kv = NULL;
}

const char *new_id(void) {
    static char ids[IDS][UUID_TEXT];
    static unsigned next;
    char *id = ids[next++ % IDS];

    uuid_v7(id);
    return id;
}

const char *make_product(const char *strategy, int stock) {
    const char *id = new_id();

    run_sql("INSERT INTO product VALUES ('%s', 'bamboo', 9.90, %d, '%s')", id, stock, strategy);
    return id;
}

const char *lay_out(const char *strategy, int stock) {
    const char *id = make_product(strategy, stock);

    assert_int_equal(sell_one(id), OUTCOME_SOLD);
    return id;
}

void lock_stock(const char *id) {
    run_sql("BEGIN");
    (void)ask("SELECT 1 FROM stock WHERE product_id = '%s' FOR UPDATE", id);
}

long blocked(void) {
    return ask("SELECT count(*) FROM (SELECT pg_stat_clear_snapshot()) AS fresh, pg_stat_activity"
               " WHERE application_name = '%s' AND wait_event_type = 'Lock'",
               instance.name);
}

void in_fiber(fiber_fn run, void *arg) {
    wait_for_fiber(&instance.loop, run, arg);
}

struct steps {
    struct live_sale live;
    struct why why;
    const char *product_id, *order_id;
    int64_t ago_ms;
    void (*steps)(struct sale *sale);
};

static void take_steps(void *arg) {
    struct steps *taken = arg;
    struct product *product;

    assert_int_equal(product_get(instance.store.products, taken->product_id, &product, &taken->why),
                     OUTCOME_OK);
    live_sale_init(&taken->live, &instance.store, product, taken->order_id,
                   clock_now_ms() - taken->ago_ms, &taken->why);
    taken->steps(&taken->live.sale);
    live_sale_end(&taken->live);
    product_put(product);
}

struct sale_cost run_steps(const char *product_id, const char *order_id,
                           void (*steps)(struct sale *sale), int64_t ago_ms) {
    struct steps taken = {.product_id = product_id,
                          .order_id = order_id != NULL ? order_id : new_id(),
                          .ago_ms = ago_ms,
                          .steps = steps};

    in_fiber(take_steps, &taken);
    return taken.live.cost;
}

static void buy(void *arg) {
    struct buyer *buyer = arg;

    selling_run(&buyer->selling, buyer->at);
    buyer->is_done = true;
}

static void begin_at(struct store *store, struct buyer *buyer, const char *product_id,
                     const char *order_id) {
    memset(buyer, 0, sizeof *buyer);
    buyer->at = store;
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

void begin(struct buyer *buyer, const char *product_id, const char *order_id) {
    begin_at(&instance.store, buyer, product_id, order_id);
}

void finish(struct buyer *buyers, size_t count) {
    for (size_t i = 0; i < count; i++)
        WAIT_FOR(&instance.loop, buyers[i].is_done);
}

enum outcome finish_one(struct buyer *buyer) {
    finish(buyer, 1);
    return buyer->selling.outcome;
}

enum outcome sell(struct buyer *buyer, const char *product_id, const char *order_id) {
    begin(buyer, product_id, order_id);
    return finish_one(buyer);
}

enum outcome sell_one(const char *product_id) {
    struct buyer buyer;

    return sell(&buyer, product_id, NULL);
}

void buy_all(struct buyer *buyers, const char *product_id, size_t count) {
    for (size_t i = 0; i < count; i++)
        begin(&buyers[i], product_id, NULL);
    finish(buyers, count);
}

void open_other(const char *lock_dir) {
    other = instance.store;
    other.instance = "other";
    other.locks.dir = lock_dir;
    other.products = product_table_open(other.pool, other.instance, true, 100);
    assert_non_null(other.products);
}

void close_other(void) {
    product_table_close(other.products);
}

void begin_at_other(struct buyer *buyer, const char *product_id) {
    begin_at(&other, buyer, product_id, NULL);
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

void instance_expect_units(const char *product_id, long is_sold, long is_left, const char *file,
                           int line) {
    if (is_sold != ANY)
        _assert_int_equal((unsigned long)sold(product_id), (unsigned long)is_sold, file, line);
    _assert_int_equal((unsigned long)twins(product_id), 0, file, line);
    if (is_left != ANY)
        _assert_int_equal((unsigned long)left(product_id), (unsigned long)is_left, file, line);
}

bool cancel_in_fiber(const char *order_id) {
    char product_id[UUID_TEXT];
    struct why why;
    bool was_there;

    assert_int_equal(
        reservation_sql_cancel(instance.store.pool, order_id, &was_there, product_id, &why),
        OUTCOME_OK);
    if (was_there)
        product_note_returned(instance.store.products, product_id);
    return was_there;
}

struct cancel {
    const char *order_id;
    bool was_there;
};

static void run_cancel(void *arg) {
    struct cancel *cancel = arg;

    cancel->was_there = cancel_in_fiber(cancel->order_id);
}

bool cancel_order(const char *order_id) {
    struct cancel cancel = {.order_id = order_id};

    in_fiber(run_cancel, &cancel);
    return cancel.was_there;
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
