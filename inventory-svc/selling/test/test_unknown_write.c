/* A write that is sent and not answered, or late: what it may still do, and what is done meanwhile.
 */
#include "far_instance.h"

#include "stock_sql.h"

static long blocked(void) {
    return ask("SELECT count(*) FROM (SELECT pg_stat_clear_snapshot()) AS fresh, pg_stat_activity"
               " WHERE application_name = '%s' AND wait_event_type = 'Lock'",
               instance.name);
}

/* The statement waits for a row that the test has locked when its connection breaks; the server
 * does not see that, and carries it out after another sale has come. */
static void land_late(const char *strategy) {
    struct buyer first, second;
    char id[UUID_TEXT];

    make_product(id, strategy, 5);
    assert_int_equal(sell(&first, id, NULL), OUTCOME_SOLD);
    lock_stock(id);
    begin(&first, id, NULL);
    WAIT_FOR(&instance.loop, blocked() == 1);
    fault_proxy_cut(to_postgres);
    finish(&first, 1);
    assert_int_equal(first.selling.outcome, OUTCOME_UNKNOWN);
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

/* Calls stock_sql_write() in a fiber. */
struct late_write {
    struct reservation sold;
    int64_t not_after_us;
    enum outcome outcome;
    char message[MESSAGE_BYTES];
    bool is_done;
};

static void write_late(void *arg) {
    struct late_write *late = arg;

    late->outcome = stock_sql_write(instance.store.pool,
                                    &(struct stock_write){.not_after_us = late->not_after_us,
                                                          .deadline_ms = clock_now_ms() + 4000},
                                    &late->sold, late->message);
    late->is_done = true;
}

static void write_in_fiber(struct late_write *late) {
    uuid_v7(late->sold.order_id);
    assert_int_equal(fiber_start(write_late, late), 0);
    WAIT_FOR(&instance.loop, late->is_done);
}

static void test_a_write_that_arrives_after_its_last_moment_writes_nothing(void **state) {
    struct late_write late = {.sold = {.unit = 4, .remaining = 3, .instance = "x"}};
    struct buyer first;

    make_product(late.sold.product_id, "none", 5);
    assert_int_equal(sell(&first, late.sold.product_id, NULL), OUTCOME_SOLD);
    late.not_after_us = ask("SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint");
    write_in_fiber(&late);
    assert_int_equal(late.outcome, OUTCOME_BUSY);
    assert_int_equal(sold(late.sold.product_id), 1);
    assert_int_equal(left(late.sold.product_id), 4);
}

/* A holder that was paused past its lease: it is not refused, and the stock keeps the higher token.
 */
static void test_an_older_token_writes_and_lowers_nothing(void **state) {
    struct late_write late = {.sold = {.unit = 5, .remaining = 4, .fence = 6, .instance = "x"},
                              .not_after_us = INT64_MAX / 1000};
    struct buyer first;

    make_product(late.sold.product_id, "none", 5);
    assert_int_equal(sell(&first, late.sold.product_id, NULL), OUTCOME_SOLD);
    run_sql("UPDATE stock SET fence = 7 WHERE product_id = '%s'", late.sold.product_id);
    write_in_fiber(&late);
    assert_int_equal(late.outcome, OUTCOME_SOLD);
    assert_int_equal(ask("SELECT fence FROM stock WHERE product_id = '%s'", late.sold.product_id),
                     7);
    assert_int_equal(ask("SELECT fence FROM reservation WHERE order_id = '%s'", late.sold.order_id),
                     6);
}

static uint64_t lost(void) {
    struct lk_counters counters = {.size = sizeof counters};

    lk_client_counters(*redis_locks(), &counters);
    return counters.lost;
}

/* A connection that does not know the statement yet: the lease is looked at after it was prepared.
 */
static void test_nothing_lies_between_the_check_and_the_write(void **state) {
    struct buyer buyer;
    char id[UUID_TEXT];

    make_product(id, "redis,ttl=900ms,fail=after-read:delay=100ms", 5);
    begin(&buyer, id, NULL);
    WAIT_FOR(&instance.loop, pool_stats().queries >= 3); /* the product, its rows, and the stock */
    fault_proxy_set(to_postgres, PROXY_HOLDS_REPLIES);
    fault_proxy_freeze(to_redis);
    WAIT_FOR(&instance.loop, lost() == 1);
    fault_proxy_set(to_postgres, PROXY_PASSES);
    finish(&buyer, 1);
    assert_int_equal(buyer.selling.outcome, OUTCOME_BUSY);
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

/* The row was won, and nobody came to know. */
static void test_a_lock_in_a_table_that_was_not_told_of_is_given_back(void **state) {
    struct buyer first, second;
    char id[UUID_TEXT];

    make_product(id, "pg-table,wait=0ms,ttl=1h", 5);
    assert_int_equal(sell(&first, id, NULL), OUTCOME_SOLD);
    WAIT_FOR(&instance.loop, was_given_back()); /* so a connection is free */
    fault_proxy_set(to_postgres, PROXY_HOLDS_REPLIES);
    begin(&first, id, NULL);
    WAIT_FOR(&instance.loop, is_lock_held(id));
    fault_proxy_cut(to_postgres);
    fault_proxy_set(to_postgres, PROXY_PASSES);
    finish(&first, 1);
    assert_int_equal(first.selling.outcome, OUTCOME_BUSY);
    WAIT_FOR(&instance.loop, !is_lock_held(id));
    assert_int_equal(sell(&second, id, NULL), OUTCOME_SOLD);
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, go_far, come_back)
        TEST(test_an_unknown_write_keeps_a_lock_without_ttl),
        TEST(test_an_unknown_write_keeps_a_lock_with_a_short_ttl),
        TEST(test_a_lock_in_a_table_that_was_not_told_of_is_given_back),
        TEST(test_a_write_that_arrives_after_its_last_moment_writes_nothing),
        TEST(test_an_older_token_writes_and_lowers_nothing),
        TEST(test_nothing_lies_between_the_check_and_the_write),
    };

    return cmocka_run_group_tests(tests, make_schema, drop_schema);
}
