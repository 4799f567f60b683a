/* Selling from Redis while a server is away, or answers too late, and closing. */
#include "instance.h"

#include "fault_proxy.h"
#include "own_redis.h"
#include "pending.h"
#include "redis.h"

#define BUYERS 25

static struct own_redis own;
static struct buyer buyers[BUYERS];

static int make_all(void **state) {
    own_redis_start(&own);
    (void)setenv("TEST_REDIS", own.url, 1);
    return make_schema(state);
}

static int drop_all(void **state) {
    own_redis_stop(&own);
    return drop_schema(state);
}

static void buy_all(const char *id, size_t count) {
    for (size_t i = 0; i < count; i++)
        begin(&buyers[i], id, NULL);
    finish(buyers, count);
}

static void test_without_redis_nothing_is_sold(void **state) {
    const struct redis_options nowhere = {.url = "redis://127.0.0.1:1"};
    struct redis *usual = instance.store.kv;
    struct buyer buyer;
    char id[UUID_TEXT];

    make_product(id, "prewarm", 5);
    assert_int_equal(redis_open(&instance.store.kv, &instance.loop, &nowhere), 0);
    assert_int_equal(sell(&buyer, id, NULL), OUTCOME_BUSY);
    redis_close(instance.store.kv, on_closed, NULL);
    instance.store.kv = usual;
    assert_int_equal(sell(&buyer, id, NULL), OUTCOME_SOLD);
    assert_int_equal(buyer.selling.sold.unit, 1);
}

/* The first call may have taken a unit that is in Redis alone. */
static void test_a_repeat_without_redis_is_not_told_that_nothing_was_sold(void **state) {
    const struct redis_options nowhere = {.url = "redis://127.0.0.1:1"};
    struct redis *usual = instance.store.kv;
    struct buyer buyer;
    char id[UUID_TEXT], order[UUID_TEXT];

    uuid_v7(order);
    make_product(id, "prewarm", 5);
    assert_int_equal(redis_open(&instance.store.kv, &instance.loop, &nowhere), 0);
    assert_int_equal(sell(&buyer, id, order), OUTCOME_UNKNOWN);
    redis_close(instance.store.kv, on_closed, NULL);
    instance.store.kv = usual;
    assert_int_equal(sell(&buyer, id, order), OUTCOME_SOLD);
}

/* Redis took the unit, and its answer is lost with the connection. */
static void test_a_taking_that_was_not_answered_is_asked_again(void **state) {
    struct fault_proxy *proxy = fault_proxy_open_url(&instance.loop, own.url);
    const struct redis_options through = {.url = proxy->url};
    struct redis *usual = instance.store.kv;
    struct buyer buyer;
    char id[UUID_TEXT];

    fault_proxy_listen(proxy);
    make_product(id, "prewarm,shards=1", 5);
    assert_int_equal(redis_open(&instance.store.kv, &instance.loop, &through), 0);
    buy_all(id, 1);
    fault_proxy_set(proxy, PROXY_HOLDS_REPLIES);
    begin(&buyer, id, NULL);
    WAIT_FOR(&instance.loop,
             own_redis_do(&own, "HEXISTS sale:{%s}:stock:orders %s", id, buyer.order_id) == 1);
    fault_proxy_cut(proxy);
    fault_proxy_set(proxy, PROXY_PASSES);
    finish(&buyer, 1);
    assert_int_equal(buyer.selling.outcome, OUTCOME_REPEATED);
    assert_int_equal(buyer.selling.sold.unit, 4);
    assert_int_equal(sold(id), 2);
    redis_close(instance.store.kv, on_closed, NULL);
    instance.store.kv = usual;
    fault_proxy_close(proxy);
}

/* The ledger gets the sales from before, and Redis forgets them. */
static void test_a_full_redis_sells_nothing_and_forgets_what_was_brought(void **state) {
    struct buyer buyer;
    char id[UUID_TEXT];

    make_product(id, "prewarm,shards=1", 50);
    assert_int_equal(sell(&buyer, id, NULL), OUTCOME_SOLD);
    (void)own_redis_do(&own, "CONFIG SET maxmemory 1");
    assert_int_equal(sell(&buyer, id, NULL), OUTCOME_BUSY);
    WAIT_FOR(&instance.loop, own_redis_do(&own, "ZCARD sale:{%s}:stock:pending", id) == 0);
    assert_int_equal(sold(id), 1);
    (void)own_redis_do(&own, "CONFIG SET maxmemory 0");
    assert_int_equal(sell(&buyer, id, NULL), OUTCOME_SOLD);
    assert_int_equal(buyer.selling.sold.unit, 49);
}

/* As a server that was started again has. */
static void test_a_script_that_redis_lost_is_brought_again(void **state) {
    struct buyer buyer;
    char id[UUID_TEXT];

    make_product(id, "prewarm,shards=1", 50);
    assert_int_equal(sell(&buyer, id, NULL), OUTCOME_SOLD);
    (void)own_redis_do(&own, "SCRIPT FLUSH");
    assert_int_equal(sell(&buyer, id, NULL), OUTCOME_SOLD);
    assert_non_null(strstr(buyer.selling.timing, "retry;desc=\"1\""));
    assert_int_equal(sell(&buyer, id, NULL), OUTCOME_SOLD);
    assert_null(strstr(buyer.selling.timing, "retry"));
}

static void on_stopped(void *data) {
    *(bool *)data = true;
}

static void test_closing_writes_what_was_added(void **state) {
    struct store *store = &instance.store;
    bool is_stopped = false;
    char id[UUID_TEXT];

    make_product(id, "prewarm", 50);
    buy_all(id, 25);
    pending_close(store->pending, on_stopped, &is_stopped);
    WAIT_FOR(&instance.loop, is_stopped);
    assert_int_equal(sold(id), 25);
    store->pending = pending_open(store->loop, store->pool, store->kv, store->instance);
}

/* Then it stays noted, and others bring it. */
static void test_what_postgres_does_not_take_is_brought_later(void **state) {
    static const struct pg_pool_options nowhere = {.conninfo = "host=127.0.0.1 port=1"};
    struct store *store = &instance.store;
    struct pg_pool *usual = store->pool;
    bool is_stopped = false;
    char id[UUID_TEXT];

    make_product(id, "prewarm,shards=1", 5);
    buy_all(id, 1);
    pending_close(store->pending, on_stopped, &is_stopped);
    WAIT_FOR(&instance.loop, is_stopped);
    assert_int_equal(pg_pool_open(&store->pool, &instance.loop, &nowhere), 0);
    store->pending = pending_open(store->loop, store->pool, store->kv, store->instance);
    buy_all(id, 3);
    assert_int_equal(count_outcome(buyers, 3, OUTCOME_SOLD), 3);
    is_stopped = false;
    pending_close(store->pending, on_stopped, &is_stopped);
    WAIT_FOR(&instance.loop, is_stopped);
    pg_pool_close(store->pool, on_closed, NULL);
    store->pool = usual;
    assert_int_equal(sold(id), 1);
    store->pending = pending_open(store->loop, store->pool, store->kv, store->instance);
    WAIT_FOR(&instance.loop, sold(id) == 4);
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(test_without_redis_nothing_is_sold),
        TEST(test_a_repeat_without_redis_is_not_told_that_nothing_was_sold),
        TEST(test_a_taking_that_was_not_answered_is_asked_again),
        TEST(test_a_full_redis_sells_nothing_and_forgets_what_was_brought),
        TEST(test_a_script_that_redis_lost_is_brought_again),
        TEST(test_closing_writes_what_was_added),
        TEST(test_what_postgres_does_not_take_is_brought_later),
    };

    return cmocka_run_group_tests(tests, make_all, drop_all);
}
