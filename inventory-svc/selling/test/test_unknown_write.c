/* A write that was sent and not answered: its late effect, and the other sales meanwhile. */
#include "far_instance.h"

/* The statement waits for a row that the test has locked, and its connection breaks. The server
 * does not notice, and executes it after another sale has come. */
static void land_late(const char *strategy) {
    struct buyer first, second;
    const char *id = make_product(strategy, 5);

    assert_int_equal(sell(&first, id, NULL), OUTCOME_SOLD);
    lock_stock(id);
    begin(&first, id, NULL);
    WAIT_FOR(&instance.loop, blocked() == 1);
    fault_proxy_cut(to_postgres);
    assert_int_equal(finish_one(&first), OUTCOME_UNKNOWN);
    begin(&second, id, NULL);
    WAIT_FOR(&instance.loop, second.is_done || blocked() == 2);
    run_sql("ROLLBACK");
    finish(&second, 1);
    WAIT_FOR(&instance.loop, sold(id) >= 2);
    assert_int_equal(twins(id), 0);
    assert_int_equal(second.selling.outcome, OUTCOME_BUSY);
}

static void test_an_unknown_write_keeps_a_lock_without_ttl(void **state) {
    land_late("mutex,wait=300ms");
}

static void test_an_unknown_write_keeps_a_lock_with_a_short_ttl(void **state) {
    land_late("redis,ttl=1s,wait=2s");
}

static uint64_t lost(void) {
    struct lk_counters counters = {.size = sizeof counters};

    lk_client_counters(*redis_locks(), &counters);
    return counters.lost;
}

/* The connection does not know the statement yet: the lease is checked after it was prepared. */
static void test_nothing_lies_between_the_check_and_the_write(void **state) {
    struct buyer buyer;
    const char *id = make_product("redis,ttl=900ms,fail=after-read:delay=100ms", 5);

    begin(&buyer, id, NULL);
    WAIT_FOR(&instance.loop, pool_stats().queries >= 3); /* the product, its rows, and the stock */
    fault_proxy_set(to_postgres, PROXY_HOLDS_REPLIES);
    fault_proxy_freeze(to_redis);
    WAIT_FOR(&instance.loop, lost() == 1);
    fault_proxy_set(to_postgres, PROXY_PASSES);
    assert_int_equal(finish_one(&buyer), OUTCOME_BUSY);
    assert_int_equal(sold(id), 0);
}

static bool is_lock_held(const char *id) {
    return ask("SELECT count(*) FROM lockkit_lock WHERE name = 'stock:%s:0'"
               " AND owner IS NOT NULL",
               id) == 1;
}

static bool was_given_back(void) {
    return lock_servers_count(&instance.store.locks, LOCK_AT_POSTGRES,
                              offsetof(struct lk_counters, released)) > 0;
}

/* The row was won, and nobody knows it. */
static void test_a_lock_in_a_table_that_was_not_told_of_is_given_back(void **state) {
    struct buyer first;
    const char *id = make_product("pg-table,wait=0ms,ttl=1h", 5);

    assert_int_equal(sell(&first, id, NULL), OUTCOME_SOLD);
    WAIT_FOR(&instance.loop, was_given_back()); /* then a connection is free */
    fault_proxy_set(to_postgres, PROXY_HOLDS_REPLIES);
    begin(&first, id, NULL);
    WAIT_FOR(&instance.loop, is_lock_held(id));
    fault_proxy_cut(to_postgres);
    fault_proxy_set(to_postgres, PROXY_PASSES);
    assert_int_equal(finish_one(&first), OUTCOME_BUSY);
    WAIT_FOR(&instance.loop, !is_lock_held(id));
    assert_int_equal(sell_one(id), OUTCOME_SOLD);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        FAR_TEST(test_an_unknown_write_keeps_a_lock_without_ttl),
        FAR_TEST(test_an_unknown_write_keeps_a_lock_with_a_short_ttl),
        FAR_TEST(test_a_lock_in_a_table_that_was_not_told_of_is_given_back),
        FAR_TEST(test_nothing_lies_between_the_check_and_the_write),
    };

    return cmocka_run_group_tests(tests, make_schema, drop_schema);
}
