/* An instance that reaches its servers through proxies. */
#include "far_instance.h"

struct fault_proxy *to_postgres, *to_redis;
static struct pg_pool *usual_pool;
static lk_client *usual_redis;

int go_far(void **state) {
    /* No statement_timeout: the test decides how long a stuck statement stays stuck. */
    struct pg_pool_options db = {.name = instance.name, .connections = 2};
    struct lk_client_options locks = {.size = sizeof locks, .reply_ms = 100, .cleanup_ms = 1};
    struct store *store = &instance.store;
    char conninfo[700];

    assert_int_equal(set_up(state), 0);
    usual_pool = store->pool;
    usual_redis = *redis_locks();
    to_postgres = fault_proxy_open(&instance.loop, PQhost(instance.schema.admin),
                                   PQport(instance.schema.admin));
    to_redis = fault_proxy_open_url(&instance.loop, getenv("TEST_REDIS"));
    fault_proxy_listen(to_postgres);
    fault_proxy_listen(to_redis);
    (void)snprintf(conninfo, sizeof conninfo, "%s host=127.0.0.1 port=%d sslmode=disable",
                   instance.schema.conninfo, to_postgres->port);
    db.conninfo = conninfo;
    instance_open_pool(&db);
    name_postgres_locks(to_postgres->port);
    assert_int_equal(lk_client_open(redis_locks(), &instance.loop, to_redis->url, &locks), LK_OK);
    product_table_close(store->products);
    store->products = product_table_open(store->pool, store->instance, true, 100);
    return 0;
}

int come_back(void **state) {
    struct store *store = &instance.store;

    fault_proxy_set(to_postgres, PROXY_PASSES);
    fault_proxy_set(to_redis, PROXY_PASSES);
    pg_pool_close(store->pool, on_closed, NULL);
    lk_client_close(*redis_locks(), on_closed, NULL);
    fault_proxy_close(to_postgres);
    fault_proxy_close(to_redis);
    store->pool = usual_pool;
    *redis_locks() = usual_redis;
    return tear_down(state);
}
