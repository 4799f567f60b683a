/* Selling on real servers: each strategy keeps its promise, repeats sell once, and returned units
 * are sold again. */
#include "instance.h"

#include "redis_admin.h"

#define BUYERS 50

static struct buyer buyers[BUYERS];

static const char *const guarded[] = {"atomic,work=1ms",
                                      "batched,work=1ms",
                                      "redis,work=1ms",
                                      "mutex,work=1ms",
                                      "sharded,shards=3,work=1ms",
                                      "redis-setnx,work=1ms",
                                      "redis-expire,work=1ms",
                                      "redis-ttl,work=1ms",
                                      "redis-get-del,work=1ms",
                                      "redis-owner,work=1ms",
                                      "redis-fenced,work=1ms",
                                      "redis-fair,work=1ms",
                                      "rw,work=1ms,wait=60s",
                                      "pg-row,work=1ms",
                                      "pg-version,work=1ms",
                                      "pg-value",
                                      "pg-serializable",
                                      "pg-table",
                                      "mkdir,work=1ms,wait=60s",
                                      "flock,work=1ms,wait=60s",
                                      "reentrant,work=1ms",
                                      "rwlock,work=1ms",
                                      "stamped,work=1ms,wait=60s",
                                      "spin,work=1ms",
                                      "segment,shards=3,work=1ms"};

#define GUARDED (sizeof guarded / sizeof guarded[0])

static void sell_out(const char *strategy, int stock, size_t count) {
    const char *id = make_product(strategy, stock);

    buy_all(buyers, id, count);
    assert_int_equal(count_outcome(buyers, count, OUTCOME_SOLD), stock);
    assert_int_equal(count_outcome(buyers, count, OUTCOME_SOLD_OUT), count - (size_t)stock);
    expect_units(id, stock, 0);
}

static void test_guarded_strategies_sell_exactly_the_stock(void **state) {
    for (size_t i = 0; i < GUARDED; i++)
        sell_out(guarded[i], 20, BUYERS);
}

static void test_without_a_guard_one_unit_is_sold_to_several(void **state) {
    const char *id = make_product("none,work=20ms", 20);

    buy_all(buyers, id, BUYERS);
    assert_int_equal(count_outcome(buyers, BUYERS, OUTCOME_SOLD), sold(id));
    assert_true(twins(id) > 0);
}

static void test_sharded_leaves_nothing_stranded(void **state) {
    static const struct {
        const char *strategy;
        int stock;
    } cases[] = {{"sharded", 7},
                 {"sharded,shards=1", 5},
                 {"sharded", 0},
                 {"sharded,shards=50", 9},
                 {"sharded,deal=random", 8},
                 {"sharded-skip", 7},
                 {"sharded-skip,shards=1", 5}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        sell_out(cases[i].strategy, cases[i].stock, 20);
}

/* Two units in one of three rows, and a customer for each row. */
static void test_without_borrowing_units_are_stranded(void **state) {
    static const struct {
        const char *strategy;
        size_t sold;
    } cases[] = {{"sharded,shards=3,borrow=off", 1}, {"sharded,shards=3", 2}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *id = make_product(cases[i].strategy, 6);

        assert_int_equal(sell_one(id), OUTCOME_SOLD);
        run_sql("UPDATE stock SET available = CASE shard WHEN 1 THEN 2 ELSE 0 END"
                " WHERE product_id = '%s'",
                id);
        buy_all(buyers, id, 3);
        assert_int_equal(count_outcome(buyers, 3, OUTCOME_SOLD), cases[i].sold);
        assert_int_equal(count_outcome(buyers, 3, OUTCOME_SOLD_OUT), 3 - cases[i].sold);
    }
}

static void test_work_longer_than_the_ttl_keeps_its_lease(void **state) {
    const char *id = make_product("redis,ttl=2s,work=2500ms,wait=20s", 5);

    buy_all(buyers, id, 2);
    assert_int_equal(count_outcome(buyers, 2, OUTCOME_SOLD), 2);
    expect_units(id, ANY, 3);
}

static void test_the_answer_is_the_ledger_row(void **state) {
    struct buyer buyer;
    const char *id = make_product("redis", 5);

    assert_int_equal(sell(&buyer, id, NULL), OUTCOME_SOLD);
    assert_string_equal(buyer.selling.sold.order_id, buyer.order_id);
    assert_string_equal(buyer.selling.sold.instance, "inventory-test");
    assert_string_equal(buyer.selling.sold.price, "9.90");
    assert_int_equal(buyer.selling.sold.unit, 5);
    assert_int_equal(buyer.selling.sold.remaining, 4);
    assert_true(buyer.selling.sold.fence > 0);
    assert_int_equal(ask("SELECT fence FROM reservation WHERE product_id = '%s'", id),
                     buyer.selling.sold.fence);
    assert_int_equal(ask("SELECT fence FROM stock WHERE product_id = '%s'", id),
                     buyer.selling.sold.fence);
}

static long fence(const char *table, const char *order) {
    return ask("SELECT max(fence) FROM %s WHERE product_id = '%s'", table, order);
}

/* Like FLUSHALL, or an eviction. */
static void lose_keys(const char *product_id) {
    redisContext *admin = redis_admin_connect();

    freeReplyObject(
        redisCommand(admin, "DEL lk:{stock:%s:0} lk:{stock:%s:0}:fence", product_id, product_id));
    redisFree(admin);
}

static void test_the_stored_fence_rises_when_redis_loses_its_keys(void **state) {
    struct buyer buyer;
    const char *id = make_product("redis", 5);

    for (long last = 0, times = 0; times < 3; times++) {
        assert_int_equal(sell(&buyer, id, NULL), OUTCOME_SOLD);
        assert_true(buyer.selling.sold.fence > last);
        last = (long)buyer.selling.sold.fence;
        assert_int_equal(fence("stock", id), last);
        assert_int_equal(fence("reservation", id), last);
        lose_keys(id);
    }
}

/* A token from an hour ahead has written. Then the keys are lost, and only the row remembers it. */
static void test_tokens_rise_above_the_row_when_the_clock_was_set_back(void **state) {
    struct buyer buyer;
    long ahead;
    const char *id = make_product("redis", 5);

    assert_int_equal(sell(&buyer, id, NULL), OUTCOME_SOLD);
    ahead = (long)buyer.selling.sold.fence + 3600000000;
    run_sql("UPDATE stock SET fence = %ld WHERE product_id = '%s'", ahead, id);
    assert_int_equal(sell(&buyer, id, NULL), OUTCOME_SOLD); /* under a token that fell */
    assert_true(buyer.selling.sold.fence < ahead);
    assert_int_equal(sell(&buyer, id, NULL), OUTCOME_SOLD);
    assert_true(buyer.selling.sold.fence > ahead);
}

static void test_a_repeated_order_sells_once(void **state) {
    static const char *const all[] = {
        "none",        "mutex", "redis-setnx",  "redis-expire", "redis-ttl", "redis-get-del",
        "redis-owner", "redis", "redis-fenced", "sharded",      "atomic"};

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        const char *id = make_product(all[i], 5);
        const char *order = new_id();

        for (size_t j = 0; j < 10; j++)
            begin(&buyers[j], id, order);
        finish(buyers, 10);
        assert_int_equal(count_outcome(buyers, 10, OUTCOME_SOLD), 1);
        assert_int_equal(count_outcome(buyers, 10, OUTCOME_REPEATED), 9);
        expect_units(id, 1, 4);
        for (size_t j = 0; j < 10; j++) {
            assert_int_equal(buyers[j].selling.sold.unit, buyers[0].selling.sold.unit);
            assert_string_equal(buyers[j].selling.sold.price, "9.90");
        }
    }
}

static void test_a_repeat_after_the_sell_out_gets_the_first_answer(void **state) {
    struct buyer first, again;
    const char *id = make_product("redis", 2);

    assert_int_equal(sell(&first, id, NULL), OUTCOME_SOLD);
    assert_int_equal(sell_one(id), OUTCOME_SOLD);
    assert_int_equal(sell(&again, id, first.order_id), OUTCOME_REPEATED);
    assert_int_equal(again.selling.sold.unit, first.selling.sold.unit);
    assert_int_equal(again.selling.sold.remaining, first.selling.sold.remaining);
    assert_int_equal(again.selling.sold.fence, first.selling.sold.fence);
}

static void test_an_order_id_of_another_product_is_refused(void **state) {
    struct buyer first, second;
    const char *id = make_product("none", 5);
    const char *other = make_product("redis", 5);
    const char *empty = make_product("redis", 0);

    assert_int_equal(sell(&first, id, NULL), OUTCOME_SOLD);
    assert_int_equal(sell(&second, other, first.order_id), OUTCOME_KEY_REUSED);
    assert_int_equal(left(other), 5);
    assert_int_equal(sell(&second, empty, first.order_id), OUTCOME_KEY_REUSED);
}

static void test_a_unit_given_back_is_sold_again_once(void **state) {
    for (size_t i = 0; i < GUARDED; i++) {
        struct buyer back, again;
        const char *id = make_product(guarded[i], 3);

        buy_all(buyers, id, 3);
        back = buyers[1];
        assert_int_equal(sell(&again, id, NULL), OUTCOME_SOLD_OUT);
        assert_true(cancel_order(back.order_id));
        assert_false(cancel_order(back.order_id));
        assert_int_equal(sell(&again, id, NULL), OUTCOME_SOLD);
        assert_int_equal(again.selling.sold.unit, back.selling.sold.unit);
        assert_int_equal(again.selling.sold.shard, back.selling.sold.shard);
        assert_int_equal(again.selling.sold.remaining, 0);
        assert_int_equal(sell(&again, id, NULL), OUTCOME_SOLD_OUT);
        expect_units(id, 3, ANY);
    }
}

static void test_units_given_back_go_to_as_many_of_a_crowd(void **state) {
    char orders[5][UUID_TEXT];
    size_t won = 0;
    const char *id = make_product("atomic", 20);

    buy_all(buyers, id, 20);
    for (size_t i = 0; i < 5; i++) {
        memcpy(orders[i], buyers[i].order_id, UUID_TEXT);
        assert_true(cancel_order(orders[i]));
    }
    while (won < 5) { /* a sale just behind another one may find no unit for a moment */
        buy_all(buyers, id, BUYERS);
        won += count_outcome(buyers, BUYERS, OUTCOME_SOLD);
    }
    assert_int_equal(won, 5);
    expect_units(id, 20, ANY);
    assert_int_equal(ask("SELECT count(*) FROM returned_unit WHERE product_id = '%s'", id), 0);
}

static void test_unknown_products_and_bad_strategies_are_refused(void **state) {
    assert_int_equal(sell_one(new_id()), OUTCOME_UNKNOWN_PRODUCT);
    assert_int_equal(sell_one(make_product("redis,shrads=3", 1)), OUTCOME_BAD_STRATEGY);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_guarded_strategies_sell_exactly_the_stock),
        TEST(test_without_a_guard_one_unit_is_sold_to_several),
        TEST(test_sharded_leaves_nothing_stranded),
        TEST(test_without_borrowing_units_are_stranded),
        TEST(test_work_longer_than_the_ttl_keeps_its_lease),
        TEST(test_the_answer_is_the_ledger_row),
        TEST(test_the_stored_fence_rises_when_redis_loses_its_keys),
        TEST(test_tokens_rise_above_the_row_when_the_clock_was_set_back),
        TEST(test_a_repeated_order_sells_once),
        TEST(test_a_repeat_after_the_sell_out_gets_the_first_answer),
        TEST(test_an_order_id_of_another_product_is_refused),
        TEST(test_a_unit_given_back_is_sold_again_once),
        TEST(test_units_given_back_go_to_as_many_of_a_crowd),
        TEST(test_unknown_products_and_bad_strategies_are_refused),
    };

    return cmocka_run_group_tests(tests, make_schema, drop_schema);
}
