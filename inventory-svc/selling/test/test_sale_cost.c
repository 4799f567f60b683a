/* The cost of a sale: its text, and the round trips that each strategy must take. */
#include "instance.h"

#include <math.h>

static void expect_text(const struct sale_cost *cost, const char *expected) {
    char text[SALE_COST_TEXT];

    assert_string_equal(sale_cost_text(cost, text), expected);
}

static void test_parts_that_do_not_apply_are_left_out(void **state) {
    struct sale_cost cost = SALE_COST_INIT;

    expect_text(&cost, "pg;desc=\"0\"");
    cost.postgres = 2;
    sale_cost_lock(&cost, LOCK_LOCAL, 999, 0);
    expect_text(&cost, "wait;dur=0.000, pg;desc=\"2\", lock;desc=\"local\"");
    cost.kept_ns = 998000;
    expect_text(&cost, "wait;dur=0.000, kept;dur=0.998, pg;desc=\"2\", lock;desc=\"local\"");
    cost.kept_ns = -1;
    sale_cost_unlock(&cost, LOCK_LOCAL, 1234567, true);
    expect_text(&cost, "wait;dur=0.000, hold;dur=1.234, pg;desc=\"2\", lock;desc=\"local\"");
    cost.commit_ns = 5004005006;
    cost.shard = 7;
    expect_text(&cost, "wait;dur=0.000, hold;dur=1.234, commit;dur=5004.005, pg;desc=\"2\", "
                       "lock;desc=\"local\", shard;desc=\"7\"");
}

static void test_several_locks_add_up(void **state) {
    struct sale_cost cost = SALE_COST_INIT;

    sale_cost_lock(&cost, LOCK_REDIS, 1000000, 3);
    sale_cost_unlock(&cost, LOCK_REDIS, 2000000, true);
    sale_cost_lock(&cost, LOCK_REDIS, 500000, 1);
    sale_cost_unlock(&cost, LOCK_REDIS, 250000, false);
    sale_cost_lock(&cost, LOCK_REDIS, 0, 0);
    expect_text(&cost, "wait;dur=1.500, hold;dur=2.250, pg;desc=\"0\", redis;desc=\"5\", "
                       "retry;desc=\"2\", lock;desc=\"redis\"");
}

static void test_the_longest_text_has_whole_parts(void **state) {
    struct sale_cost cost = {.postgres = UINT32_MAX,
                             .redis = UINT32_MAX,
                             .retries = UINT32_MAX,
                             .has_lock = true,
                             .lock = LOCK_REDIS,
                             .wait_ns = INT64_MAX,
                             .hold_ns = INT64_MAX,
                             .commit_ns = INT64_MAX,
                             .shard = INT32_MAX};
    char text[SALE_COST_TEXT];
    size_t length = strlen(sale_cost_text(&cost, text));

    assert_true(length < sizeof text);
    assert_int_equal(text[length - 1], '"');
}

/* The counts of a buyer's cost, and the statements that the pool has answered since `before`. */
static void expect_counts(const struct buyer *buyer, const char *counts, unsigned long before,
                          unsigned expected) {
    const char *found = strstr(buyer->selling.timing, "pg;");

    assert_non_null(found);
    assert_string_equal(found, counts);
    assert_int_equal(pool_stats().queries - before, expected);
}

/* For a lock made of this many raw commands. */
#define KEY_REFUSED(commands)                                                                      \
    "pg;desc=\"1\", redis;desc=\"" #commands "\", retry;desc=\"0\", lock;desc=\"key\""
#define KEY_SOLD(commands)                                                                         \
    "pg;desc=\"2\", redis;desc=\"" #commands                                                       \
    "\", retry;desc=\"0\", lock;desc=\"key\", shard;desc=\"0\""

/* A sale alone, of a product that the instance and Redis know. */
static const struct {
    const char *spec;
    unsigned statements;
    const char *sold, *refused; /* the latter when it is sold out, for the second time in a row */
} cases[] = {
    {"none", 2, "pg;desc=\"2\", shard;desc=\"0\"", "pg;desc=\"1\""},
    {"mutex", 2, "pg;desc=\"2\", lock;desc=\"local\", shard;desc=\"0\"",
     "pg;desc=\"1\", lock;desc=\"local\""},
    {"redis", 2,
     "pg;desc=\"2\", redis;desc=\"2\", retry;desc=\"0\", lock;desc=\"redis\", shard;desc=\"0\"",
     "pg;desc=\"1\", redis;desc=\"2\", retry;desc=\"0\", lock;desc=\"redis\""},
    {"redis-fenced", 2,
     "pg;desc=\"2\", redis;desc=\"2\", retry;desc=\"0\", lock;desc=\"redis\", shard;desc=\"0\"",
     "pg;desc=\"1\", redis;desc=\"2\", retry;desc=\"0\", lock;desc=\"redis\""},
    {"redis-fair", 2,
     "pg;desc=\"2\", redis;desc=\"2\", retry;desc=\"0\", lock;desc=\"redis-fair\", "
     "shard;desc=\"0\"",
     "pg;desc=\"1\", redis;desc=\"2\", retry;desc=\"0\", lock;desc=\"redis-fair\""},
    {"rw", 3,
     "pg;desc=\"3\", redis;desc=\"4\", retry;desc=\"0\", lock;desc=\"rw\", shard;desc=\"0\"",
     "pg;desc=\"1\", redis;desc=\"2\", retry;desc=\"0\", lock;desc=\"rw\""},
    {"redis-setnx", 2, KEY_SOLD(2), KEY_REFUSED(2)},
    {"redis-expire", 2, KEY_SOLD(3), KEY_REFUSED(3)},
    {"redis-ttl", 2, KEY_SOLD(2), KEY_REFUSED(2)},
    {"redis-get-del", 2, KEY_SOLD(3), KEY_REFUSED(3)},
    {"redis-owner", 2, KEY_SOLD(2), KEY_REFUSED(2)},
    {"sharded,shards=1", 2,
     "pg;desc=\"2\", redis;desc=\"2\", retry;desc=\"0\", lock;desc=\"redis\", shard;desc=\"0\"",
     "pg;desc=\"1\", redis;desc=\"2\", retry;desc=\"0\", lock;desc=\"redis\""},
    {"atomic", 1, "pg;desc=\"1\", shard;desc=\"0\"", "pg;desc=\"1\""},
    {"batched", 1, "pg;desc=\"1\", shard;desc=\"0\"", "pg;desc=\"1\""},
};

/* The second sale waits for the release of the first. */
static void bring_scripts_to_redis(void) {
    const char *id = make_product("redis", 2);

    for (int i = 0; i < 2; i++)
        assert_int_equal(sell_one(id), OUTCOME_SOLD);
}

static void test_each_strategy_takes_the_round_trips_that_it_must(void **state) {
    bring_scripts_to_redis();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buyer buyer;
        struct product *product;
        struct why why;
        uint64_t before;
        const char *id = make_product(cases[i].spec, 2);

        assert_int_equal(sell(&buyer, id, NULL), OUTCOME_SOLD);
        before = pool_stats().queries;
        assert_int_equal(sell(&buyer, id, NULL), OUTCOME_SOLD);
        expect_counts(&buyer, cases[i].sold, before, cases[i].statements);
        assert_non_null(strstr(buyer.selling.timing, "commit;dur="));
        assert_int_equal(sell(&buyer, id, NULL),
                         OUTCOME_SOLD_OUT); /* this sale looks for a returned unit */
        assert_int_equal(product_get(instance.store.products, id, &product, &why), OUTCOME_OK);
        product->none_returned_until_ms = INT64_MAX; /* the next one does not, however late */
        product_put(product);
        before = pool_stats().queries;
        assert_int_equal(sell(&buyer, id, NULL), OUTCOME_SOLD_OUT);
        expect_counts(&buyer, cases[i].refused, before, 1);
        assert_null(strstr(buyer.selling.timing, "commit;dur="));
    }
}

static void test_a_look_at_the_ledger_counts(void **state) {
    struct buyer first, again;
    uint64_t before;
    const char *id = make_product("atomic", 1);

    assert_int_equal(sell(&first, id, NULL), OUTCOME_SOLD);
    before = pool_stats().queries;
    assert_int_equal(sell(&again, id, NULL), OUTCOME_SOLD_OUT);
    expect_counts(&again, "pg;desc=\"2\"", before, 2); /* and a returned unit */
    before = pool_stats().queries;
    assert_int_equal(sell(&again, id, first.order_id), OUTCOME_REPEATED);
    expect_counts(&again, "pg;desc=\"3\"", before, 3); /* is it sold? and its row */
}

static void test_a_returned_unit_is_a_sale_like_others(void **state) {
    struct buyer buyer;
    uint64_t before;
    const char *id = make_product("atomic", 1);

    assert_int_equal(sell(&buyer, id, NULL), OUTCOME_SOLD);
    run_sql("INSERT INTO returned_unit VALUES ('%s', 0, 1)", id);
    before = pool_stats().queries;
    assert_int_equal(sell(&buyer, id, NULL), OUTCOME_SOLD);
    expect_counts(&buyer, "pg;desc=\"2\", shard;desc=\"0\"", before, 2);
    assert_non_null(strstr(buyer.selling.timing, "commit;dur="));
}

static double part_ms(const struct buyer *buyer, const char *name) {
    const char *at = strstr(buyer->selling.timing, name);

    return at != NULL ? strtod(at + strlen(name), NULL) : -1;
}

static void test_a_lock_that_is_given_up_was_waited_for_and_not_held(void **state) {
    struct buyer first, second;
    const char *id = make_product("redis", 5); /* makes the client connect */
    assert_int_equal(sell(&first, id, NULL), OUTCOME_SOLD);

    id = make_product("redis,wait=1s,ttl=3s,fail=before-unlock:error@1", 5);
    assert_int_equal(sell(&first, id, NULL), OUTCOME_SOLD);
    assert_non_null(strstr(first.selling.timing, "redis;desc=\"1\"")); /* it was not released */
    assert_int_equal(sell(&second, id, NULL), OUTCOME_BUSY);
    assert_true(part_ms(&second, "wait;dur=") > 0);
    assert_true(part_ms(&second, "hold;dur=") < 0);
    assert_non_null(strstr(second.selling.timing, "pg;desc=\"0\", redis;desc=\""));
    assert_null(strstr(second.selling.timing, "shard"));
}

static void wait_and_work(const char *spec) {
    struct buyer buyers[3];
    double longest = 0;
    const char *id = make_product(spec, 5);

    for (size_t i = 0; i < 3; i++)
        begin(&buyers[i], id, NULL);
    finish(buyers, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(buyers[i].selling.outcome, OUTCOME_SOLD);
        assert_true(part_ms(&buyers[i], "hold;dur=") >= 19);
        assert_true(part_ms(&buyers[i], "commit;dur=") < part_ms(&buyers[i], "hold;dur="));
        longest = fmax(longest, part_ms(&buyers[i], "wait;dur="));
    }
    assert_true(longest >= 38); /* of the last sale, while two others worked */
}

static void test_waiters_tell_their_wait_and_holders_their_work(void **state) {
    wait_and_work("redis,work=20ms");
    wait_and_work("redis-ttl,work=20ms");
}

static void test_a_raw_key_tells_its_retries_and_its_wait(void **state) {
    struct buyer first, second;
    const char *id = make_product("redis-setnx,wait=1s,fail=before-delete:error@1", 5);

    assert_int_equal(sell(&first, id, NULL), OUTCOME_SOLD);
    assert_true(part_ms(&first, "hold;dur=") < 0); /* it still holds the lock */
    assert_int_equal(sell(&second, id, NULL), OUTCOME_BUSY);
    assert_true(part_ms(&second, "wait;dur=") >= 200);
    assert_true(part_ms(&second, "hold;dur=") < 0);
    assert_true(part_ms(&second, "retry;desc=\"") > 1);
    assert_int_equal(part_ms(&second, "redis;desc=\""), 1 + part_ms(&second, "retry;desc=\""));
}

/* A failpoint's pause is not the database's time, although the sale holds the lock meanwhile. */
static void test_a_failpoint_is_no_part_of_the_commit(void **state) {
    static const char *const names[] = {"none", "mutex", "redis,ttl=30s", "atomic"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct buyer buyer;
        const char *id;
        char spec[100];

        (void)snprintf(spec, sizeof spec, "%s,fail=before-write:delay=500ms@1", names[i]);
        id = make_product(spec, 5);
        assert_int_equal(sell(&buyer, id, NULL), OUTCOME_SOLD);
        assert_in_range(part_ms(&buyer, "commit;dur=") * 1000, 1, 499999);
        if (strstr(buyer.selling.timing, "hold") != NULL)
            assert_true(part_ms(&buyer, "hold;dur=") >= 499);
    }
}

static void test_an_unknown_product_costs_no_sale(void **state) {
    struct buyer buyer;

    assert_int_equal(sell(&buyer, "00000000-0000-0000-0000-000000000000", NULL),
                     OUTCOME_UNKNOWN_PRODUCT);
    assert_string_equal(buyer.selling.timing, "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts_that_do_not_apply_are_left_out),
        cmocka_unit_test(test_several_locks_add_up),
        cmocka_unit_test(test_the_longest_text_has_whole_parts),
        TEST(test_each_strategy_takes_the_round_trips_that_it_must),
        TEST(test_a_look_at_the_ledger_counts),
        TEST(test_a_returned_unit_is_a_sale_like_others),
        TEST(test_a_lock_that_is_given_up_was_waited_for_and_not_held),
        TEST(test_waiters_tell_their_wait_and_holders_their_work),
        TEST(test_a_raw_key_tells_its_retries_and_its_wait),
        TEST(test_a_failpoint_is_no_part_of_the_commit),
        TEST(test_an_unknown_product_costs_no_sale),
    };

    return cmocka_run_group_tests(tests, make_schema, drop_schema);
}
