/* The live store's raw commands on real Redis. Each leaves its trace there. When Redis is dead,
 * refuses, or loses its reply, a sale never sells a unit without knowing it. */
#include "instance.h"

#include "fault_proxy.h"
#include "own_redis.h"
#include "redis.h"

static struct own_redis own;
static const char *product_id;

static struct fault_proxy *proxy;

static void regain(void) {
    if (proxy != NULL)
        fault_proxy_close(proxy);
    proxy = NULL;
    regain_kv();
}

/* The number of round trips to Redis of these steps, in a sale that was asked for so long ago. */
static unsigned run_since(void (*steps)(struct sale *sale), int64_t ago_ms) {
    return run_steps(product_id, NULL, steps, ago_ms).redis;
}

/* The TTL of the lock's key in milliseconds; -1: for ever, -2: no key. */
static long long pttl(void) {
    return own_redis_do(&own, "PTTL sale:{%s}:lock", product_id);
}

static void assert_key(const char *expected) {
    redisReply *reply = redisCommand(own.admin, "GET sale:{%s}:lock", product_id);

    assert_non_null(reply);
    if (expected == NULL)
        assert_int_equal(reply->type, REDIS_REPLY_NIL);
    else
        assert_string_equal(reply->str, expected);
    freeReplyObject(reply);
}

static bool was_set;

static void set_for_ever(struct sale *sale) {
    assert_int_equal(store_kv_set_absent(sale, "lock", "me", 0, &was_set), OUTCOME_OK);
}

static void set_for_a_minute(struct sale *sale) {
    assert_int_equal(store_kv_set_absent(sale, "lock", "me", 60000, &was_set), OUTCOME_OK);
}

static void expire(struct sale *sale) {
    assert_int_equal(store_kv_expire(sale, "lock", 60000), OUTCOME_OK);
}

static void test_a_key_is_set_with_its_ttl_or_for_ever(void **state) {
    (void)run_since(set_for_ever, 0);
    assert_true(was_set);
    assert_int_equal(pttl(), -1);
    (void)run_since(set_for_a_minute, 0);
    assert_false(was_set);
    assert_int_equal(pttl(), -1); /* a loser changes nothing */
    (void)run_since(expire, 0);
    assert_in_range(pttl(), 1, 60000);
    own_redis_do(&own, "DEL sale:{%s}:lock", product_id);
    (void)run_since(expire, 0);
    assert_key(NULL);
    (void)run_since(set_for_a_minute, 0);
    assert_true(was_set);
    assert_key("me");
    assert_in_range(pttl(), 1, 60000);
}

static void delete_others(struct sale *sale) {
    char value[KV_TEXT];

    assert_int_equal(store_kv_delete_if_equal(sale, "lock", "me"), OUTCOME_OK);
    assert_int_equal(store_kv_get(sale, "lock", value), OUTCOME_OK);
    assert_string_equal(value, "other");
    assert_int_equal(store_kv_delete(sale, "lock"), OUTCOME_OK);
    assert_int_equal(store_kv_get(sale, "lock", value), OUTCOME_OK);
    assert_string_equal(value, "");
    assert_int_equal(store_kv_delete(sale, "lock"), OUTCOME_OK);
}

static void test_only_a_compared_delete_spares_anothers_key(void **state) {
    own_redis_do(&own, "SET sale:{%s}:lock other", product_id);
    assert_int_equal(run_since(delete_others, 0), 5);
    assert_key(NULL);
}

static void be_queued(struct sale *sale) {
    struct redis_call multi = {.argc = 1, .argv = {"MULTI"}, .deadline_ms = clock_now_ms() + 5000};
    char value[KV_TEXT];

    assert_int_equal(redis_call_await(instance.store.kv, &multi), REDIS_IS_OK);
    assert_int_equal(store_kv_set_absent(sale, "lock", "me", 0, &was_set), OUTCOME_OK);
    assert_false(was_set);
    assert_int_equal(store_kv_get(sale, "lock", value), OUTCOME_OK);
    assert_string_equal(value, "");
}

/* Redis answers QUEUED to everything, and sets nothing. */
static void test_a_reply_of_another_form_sets_no_key(void **state) {
    (void)run_since(be_queued, 0);
    assert_key(NULL);
}

static void be_busy_everywhere(struct sale *sale) {
    char value[KV_TEXT] = "?";

    assert_int_equal(store_kv_set_absent(sale, "lock", "me", 0, &was_set), OUTCOME_BUSY);
    assert_false(was_set);
    assert_true(strstr(sale->message, "Redis") == sale->message);
    assert_int_equal(store_kv_expire(sale, "lock", 1000), OUTCOME_BUSY);
    sale->message[0] = '\0';
    assert_int_equal(store_kv_get(sale, "lock", value), OUTCOME_BUSY);
    assert_string_equal(value, "");
    assert_int_equal(store_kv_delete(sale, "lock"), OUTCOME_BUSY);
    assert_int_equal(store_kv_delete_if_equal(sale, "lock", "me"), OUTCOME_BUSY);
    assert_string_equal(sale->message, ""); /* only the log hears of a release */
}

static void renew_and_delete(struct sale *sale) {
    assert_int_equal(store_kv_set_absent(sale, "new", "me", 0, &was_set), OUTCOME_BUSY);
    assert_string_equal(sale->message, "Redis refused a command");
    assert_int_equal(store_kv_expire(sale, "lock", 60000), OUTCOME_OK);
    assert_in_range(pttl(), 1, 60000);
    assert_int_equal(store_kv_delete_if_equal(sale, "lock", "me"), OUTCOME_OK);
    assert_int_equal(store_kv_delete(sale, "other"), OUTCOME_OK);
}

static void test_a_full_server_denies_neither_a_renewal_nor_a_release(void **state) {
    own_redis_do(&own, "SET sale:{%s}:lock me", product_id);
    own_redis_do(&own, "SET sale:{%s}:other me", product_id);
    own_redis_do(&own, "CONFIG SET maxmemory 1");
    (void)run_since(renew_and_delete, 0);
    assert_int_equal(own_redis_do(&own, "DBSIZE"), 0);
}

static const char *const rungs[] = {"redis-setnx", "redis-expire", "redis-ttl", "redis-get-del",
                                    "redis-owner"};

#define RUNGS (sizeof rungs / sizeof *rungs)

static void assert_nothing_is_sold(const char *why) {
    struct buyer buyers[RUNGS];
    const char *ids[RUNGS];

    for (size_t i = 0; i < RUNGS; i++) {
        ids[i] = make_product(rungs[i], 5);
        begin(&buyers[i], ids[i], NULL);
    }
    finish(buyers, RUNGS);
    for (size_t i = 0; i < RUNGS; i++) {
        assert_int_equal(buyers[i].selling.outcome, OUTCOME_BUSY);
        assert_string_equal(buyers[i].selling.why.text, why);
        expect_units(ids[i], 0, 5);
    }
}

static void test_a_dead_server_is_busy_and_sells_nothing(void **state) {
    divert_kv("redis://127.0.0.1:1");
    assert_int_equal(run_since(be_busy_everywhere, 0), 0); /* nothing was sent */
    assert_nothing_is_sold("Redis cannot be reached");
}

static void test_a_server_that_refuses_is_busy_and_sells_nothing(void **state) {
    own_redis_do(&own, "ACL SETUSER default -@all +acl +hello +client +select +ping"); /* NOPERM */
    (void)run_since(be_busy_everywhere, 0);
    assert_nothing_is_sold("Redis refused a command");
    own_redis_do(&own, "ACL SETUSER default +@all");
}

/* Another server has taken the primary's place. */
static void test_a_replica_refuses_and_sells_nothing(void **state) {
    own_redis_do(&own, "REPLICAOF 127.0.0.1 1");
    assert_nothing_is_sold("Redis refused a command");
    own_redis_do(&own, "REPLICAOF NO ONE");
}

static void look(struct sale *sale) {
    char value[KV_TEXT];

    assert_int_equal(store_kv_get(sale, "lock", value), OUTCOME_OK);
}

static void divert_through_proxy(void) {
    proxy = fault_proxy_open_url(&instance.loop, own.url);
    fault_proxy_listen(proxy);
    divert_kv(proxy->url);
    (void)run_since(look, 0); /* makes it connect */
}

/* The article's dead-lock without a crash: the key is set, and its holder does not know. */
static void test_a_key_with_a_lost_reply_has_no_holder_until_its_ttl(void **state) {
    struct buyer first;
    unsigned clients;

    divert_through_proxy();
    product_id = make_product("redis-ttl,ttl=2s", 5);
    fault_proxy_set(proxy, PROXY_HOLDS_REPLIES);
    assert_int_equal(sell(&first, product_id, NULL), OUTCOME_BUSY);
    assert_string_equal(first.selling.why.text, "Redis did not answer");
    assert_key("held");
    clients = proxy->clients;
    fault_proxy_cut(proxy);
    fault_proxy_set(proxy, PROXY_PASSES);
    WAIT_FOR(&instance.loop, proxy->clients > clients);
    assert_int_equal(sell_one(product_id), OUTCOME_SOLD);
    assert_key(NULL);
    product_id = make_product("redis-setnx,wait=300ms", 5);
    own_redis_do(&own, "SET sale:{%s}:lock held", product_id);
    assert_int_equal(sell_one(product_id), OUTCOME_BUSY);
    regain();
}

/* Once the sale has read the stock under the lock, Redis does not answer, or is gone. */
static void sell_without_release(const char *strategy, unsigned faults, bool is_deleted) {
    struct buyer buyer;
    uint64_t before;

    divert_through_proxy();
    product_id = make_product(strategy, 5);
    assert_int_equal(sell(&buyer, product_id, NULL), OUTCOME_SOLD);
    before = pool_stats().queries;
    begin(&buyer, product_id, NULL);
    WAIT_FOR(&instance.loop, pool_stats().queries > before);
    assert_int_not_equal(pttl(), -2);
    fault_proxy_set(proxy, faults);
    if (faults == PROXY_REFUSES)
        fault_proxy_cut(proxy);
    assert_int_equal(finish_one(&buyer), OUTCOME_SOLD);
    assert_int_equal(pttl() == -2, is_deleted);
    regain();
}

static void test_a_release_that_fails_changes_no_answer(void **state) {
    sell_without_release("redis-setnx,work=300ms", PROXY_REFUSES, false);
    sell_without_release("redis-setnx,work=300ms", PROXY_HOLDS_REPLIES, true);
    sell_without_release("redis-get-del,work=300ms", PROXY_HOLDS_REPLIES, false);
    sell_without_release("redis-owner,work=300ms", PROXY_HOLDS_REPLIES, true);
}

static void set_and_delete_late(struct sale *sale) {
    char value[KV_TEXT];

    assert_int_equal(store_kv_set_absent(sale, "other", "me", 0, &was_set), OUTCOME_BUSY);
    assert_int_equal(store_kv_get(sale, "lock", value), OUTCOME_OK);
    assert_string_equal(value, "me");
    assert_int_equal(store_kv_delete(sale, "lock"), OUTCOME_OK);
}

/* A key without a TTL would stay for ever. */
static void test_a_sale_past_its_deadline_wins_nothing_and_gives_back(void **state) {
    own_redis_do(&own, "SET sale:{%s}:lock me", product_id);
    (void)run_since(set_and_delete_late, 60000);
    assert_key(NULL);
    assert_int_equal(own_redis_do(&own, "EXISTS sale:{%s}:other", product_id), 0);
}

static struct redis *kv_of_instance;

static int set_up_kv(void **state) {
    (void)set_up(state);
    own_redis_start(&own);
    kv_of_instance = instance.store.kv;
    assert_int_equal(
        redis_open(&instance.store.kv, &instance.loop, &(struct redis_options){.url = own.url}), 0);
    product_id = make_product("none", 5);
    return 0;
}

static int tear_down_kv(void **state) {
    regain();
    redis_close(instance.store.kv, on_closed, NULL);
    instance.store.kv = kv_of_instance;
    own_redis_stop(&own);
    return tear_down(state);
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define KV_TEST(name) cmocka_unit_test_setup_teardown(name, set_up_kv, tear_down_kv)
        KV_TEST(test_a_key_is_set_with_its_ttl_or_for_ever),
        KV_TEST(test_only_a_compared_delete_spares_anothers_key),
        KV_TEST(test_a_reply_of_another_form_sets_no_key),
        KV_TEST(test_a_dead_server_is_busy_and_sells_nothing),
        KV_TEST(test_a_server_that_refuses_is_busy_and_sells_nothing),
        KV_TEST(test_a_full_server_denies_neither_a_renewal_nor_a_release),
        KV_TEST(test_a_replica_refuses_and_sells_nothing),
        KV_TEST(test_a_key_with_a_lost_reply_has_no_holder_until_its_ttl),
        KV_TEST(test_a_release_that_fails_changes_no_answer),
        KV_TEST(test_a_sale_past_its_deadline_wins_nothing_and_gives_back),
    };

    return cmocka_run_group_tests(tests, make_schema, drop_schema);
}
