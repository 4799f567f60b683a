/* The live store when things fail: what is refused sells nothing, what is unknown keeps its lock,
 * and a failpoint strikes where it says. */
#include "instance.h"

static void wait_until_blocked(void) {
    static const char blocked[] =
        "SELECT count(*) FROM (SELECT pg_stat_clear_snapshot()) AS fresh, pg_stat_activity"
        " WHERE application_name = '%s' AND wait_event_type = 'Lock'";

    WAIT_FOR(&instance.loop, ask(blocked, instance.name) > 0);
}

static void cut_blocked(void) {
    (void)ask("SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
              " WHERE application_name = '%s' AND wait_event_type = 'Lock'",
              instance.name);
}

static void lay_out(const char *id) {
    struct buyer nobody;

    assert_int_equal(sell(&nobody, id, NULL), OUTCOME_SOLD);
}

/* A product with 4 of 5 units left, whose row of stock the test has locked until it ends its
 * transaction. */
static void make_locked_product(char id[UUID_TEXT]) {
    make_product(id, "atomic", 5);
    lay_out(id);
    lock_stock(id);
}

static void test_a_refused_write_sells_nothing(void **state) {
    static const char *const all[] = {"none", "mutex", "redis", "sharded,shards=1", "atomic"};
    struct buyer buyer;
    char id[UUID_TEXT];

    run_sql("ALTER TABLE reservation ADD CONSTRAINT nothing CHECK (unit < 0) NOT VALID");
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        make_product(id, all[i], 5);
        assert_int_equal(sell(&buyer, id, NULL), OUTCOME_FAILED);
        assert_null(strstr(buyer.selling.message, "nothing")); /* which is for the log */
        assert_int_equal(left(id), 5);
        assert_int_equal(ask("SELECT version FROM stock WHERE product_id = '%s'", id), 0);
    }
    run_sql("ALTER TABLE reservation DROP CONSTRAINT nothing");
    assert_int_equal(sell(&buyer, id, NULL), OUTCOME_SOLD);
}

/* By its SQLSTATE: what passes is told as such, and its text, with what it names, to nobody. */
static void test_a_server_in_trouble_is_busy_and_says_nothing_of_itself(void **state) {
    static const struct {
        const char *sqlstate;
        enum outcome outcome;
    } cases[] = {{"53100", OUTCOME_BUSY},   {"53200", OUTCOME_BUSY},   {"25006", OUTCOME_BUSY},
                 {"57P01", OUTCOME_BUSY},   {"58030", OUTCOME_BUSY},   {"40P01", OUTCOME_BUSY},
                 {"42501", OUTCOME_FAILED}, {"XX001", OUTCOME_FAILED}, {"23514", OUTCOME_FAILED}};
    static const char *const all[] = {"none", "mutex", "redis", "atomic"};
    struct buyer buyer;
    char id[UUID_TEXT];

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        run_sql("CREATE OR REPLACE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
                " RAISE 'could not extend file base/16384' USING ERRCODE = '%s'; END $$",
                cases[i].sqlstate);
        run_sql("CREATE TRIGGER fail BEFORE INSERT ON reservation EXECUTE FUNCTION fail()");
        make_product(id, all[i % 4], 5);
        assert_int_equal(sell(&buyer, id, NULL), cases[i].outcome);
        assert_null(strstr(buyer.selling.message, "file"));
        assert_int_equal(left(id), 5);
        run_sql("DROP TRIGGER fail ON reservation");
    }
}

static void test_a_write_that_the_server_cancels_sells_nothing(void **state) {
    struct buyer buyer;
    char id[UUID_TEXT];

    make_locked_product(id);
    assert_int_equal(sell(&buyer, id, NULL), OUTCOME_BUSY); /* after statement_timeout */
    run_sql("ROLLBACK");
    assert_int_equal(left(id), 4);
}

static void test_a_write_whose_connection_is_cut_is_unknown(void **state) {
    struct buyer buyer;
    char id[UUID_TEXT];

    make_locked_product(id);
    begin(&buyer, id, NULL);
    wait_until_blocked();
    cut_blocked();
    finish(&buyer, 1);
    assert_int_equal(buyer.selling.outcome, OUTCOME_UNKNOWN);
    run_sql("ROLLBACK");
    assert_int_equal(left(id), 4);
}

static void test_an_unknown_write_keeps_the_lock_until_its_ttl(void **state) {
    struct buyer first, second, again;
    char id[UUID_TEXT];
    int64_t begun_ms;

    make_product(id, "redis,ttl=1200ms,fail=after-write:error@1", 5);
    begun_ms = clock_now_ms();
    assert_int_equal(sell(&first, id, NULL), OUTCOME_UNKNOWN);
    assert_int_equal(sell(&second, id, NULL), OUTCOME_SOLD);
    assert_true(clock_now_ms() - begun_ms >= 1150);
    assert_int_equal(second.selling.sold.unit, 4);
    assert_int_equal(twins(id), 0);
    assert_int_equal(sell(&again, id, first.order_id), OUTCOME_REPEATED);
    assert_int_equal(again.selling.sold.unit, 5);
}

/* Whoever asked may take back what is certainly new, so what was perhaps there before is not. */
static void test_an_unknown_write_that_the_ledger_has_is_a_repeat(void **state) {
    struct buyer buyer;
    char id[UUID_TEXT];

    make_locked_product(id);
    begin(&buyer, id, NULL);
    wait_until_blocked();
    run_sql("INSERT INTO reservation VALUES ('%s', '%s', 0, 4, 3, 'x', 0)", buyer.order_id, id);
    cut_blocked();
    run_sql("COMMIT");
    finish(&buyer, 1);
    assert_int_equal(buyer.selling.outcome, OUTCOME_REPEATED);
    assert_int_equal(buyer.selling.sold.unit, 4);
}

/* The ledger cannot be asked, so that this very request sold nothing is no answer. */
static void test_a_repeat_that_cannot_be_looked_up_is_unknown(void **state) {
    static const struct pg_pool_options nowhere = {.conninfo = "host=127.0.0.1 port=1"};
    struct store *store = &instance.store;
    struct pg_pool *usual = store->pool;
    struct buyer first, again;
    char id[UUID_TEXT];

    make_product(id, "atomic,wait=0", 5);
    assert_int_equal(sell(&first, id, NULL), OUTCOME_SOLD);
    assert_int_equal(pg_pool_open(&store->pool, &instance.loop, &nowhere), 0);
    begin(&again, id, first.order_id);
    finish(&again, 1);
    assert_int_equal(again.selling.outcome, OUTCOME_UNKNOWN);
    assert_int_equal(sell(&again, id, NULL), OUTCOME_BUSY);
    assert_null(strstr(again.selling.message, "127.0.0.1")); /* which is for the log */
    pg_pool_close(store->pool, on_closed, NULL);
    store->pool = usual;
}

static void take_late(void *arg) {
    struct live_sale *live = arg;

    assert_int_equal(store_take_stock(&live->sale, 0), OUTCOME_BUSY);
    live->sale.shard = -1;
}

static void test_a_sale_past_its_deadline_sends_nothing(void **state) {
    struct live_sale live;
    struct buyer buyer;
    char id[UUID_TEXT], message[MESSAGE_BYTES];
    struct product *product;

    make_product(id, "atomic,wait=1s,work=1s", 5);
    lay_out(id);
    assert_int_equal(product_get(instance.store.products, id, &product, message), OUTCOME_OK);
    uuid_v7(buyer.order_id);
    live_sale_init(&live, &instance.store, product, buyer.order_id,
                   clock_now_ms() - 1000 - 1000 - 3000);
    assert_int_equal(fiber_start(take_late, &live), 0);
    WAIT_FOR(&instance.loop, live.sale.shard != 0);
    product_put(product);
    assert_int_equal(left(id), 4);
}

static void test_a_lock_not_won_in_time_is_busy(void **state) {
    static const char *const specs[] = {"redis,wait=700ms,work=2s", "mutex,wait=300ms,work=1s",
                                        "redis,wait=0,work=1s", "mutex,wait=0,work=1s"};

    for (size_t i = 0; i < sizeof specs / sizeof specs[0]; i++) {
        struct buyer holder, waiter;
        char id[UUID_TEXT];

        make_product(id, specs[i], 5);
        begin(&holder, id, NULL);
        begin(&waiter, id, NULL);
        finish(&waiter, 1);
        finish(&holder, 1);
        assert_int_equal(waiter.selling.outcome,
                         holder.selling.outcome == OUTCOME_SOLD ? OUTCOME_BUSY : OUTCOME_SOLD);
        assert_true(holder.selling.outcome == OUTCOME_SOLD ||
                    holder.selling.outcome == OUTCOME_BUSY);
        assert_int_equal(left(id), 4);
    }
}

static void test_each_failpoint_with_error_ends_the_sale(void **state) {
    static const struct {
        const char *fail;
        enum outcome outcome;
        long left;
    } cases[] = {{"after-lock:error@1", OUTCOME_FAILED, 5},
                 {"after-read:error@1", OUTCOME_FAILED, 5},
                 {"before-write:error@1", OUTCOME_FAILED, 5},
                 {"after-write:error@1", OUTCOME_UNKNOWN, 4},
                 {"before-unlock:error@1", OUTCOME_SOLD, 4}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct buyer buyer;
        char id[UUID_TEXT], spec[100];

        (void)snprintf(spec, sizeof spec, "redis,ttl=1s,fail=%s", cases[i].fail);
        make_product(id, spec, 5);
        assert_int_equal(sell(&buyer, id, NULL), cases[i].outcome);
        assert_int_equal(left(id), cases[i].left);
        assert_int_equal(sell(&buyer, id, NULL), OUTCOME_SOLD); /* the lock came back */
    }
}

static void test_a_product_has_several_failpoints(void **state) {
    struct buyer buyer;
    char id[UUID_TEXT];

    make_product(id,
                 "atomic,fail=elsewhere/before-write:error,fail=after-write:drop-reply@1,"
                 "fail=before-write:error@2",
                 5);
    assert_int_equal(sell(&buyer, id, NULL), OUTCOME_SOLD);
    assert_true(buyer.selling.is_reply_dropped);
    assert_int_equal(sell(&buyer, id, NULL), OUTCOME_FAILED);
    assert_int_equal(sell(&buyer, id, NULL), OUTCOME_SOLD);
    assert_int_equal(left(id), 3);
}

static void test_a_dropped_reply_is_a_sale(void **state) {
    struct buyer buyer;
    char id[UUID_TEXT];

    make_product(id, "atomic,fail=after-write:drop-reply@2", 5);
    assert_int_equal(sell(&buyer, id, NULL), OUTCOME_SOLD);
    assert_false(buyer.selling.is_reply_dropped);
    assert_int_equal(sell(&buyer, id, NULL), OUTCOME_SOLD);
    assert_true(buyer.selling.is_reply_dropped);
    assert_int_equal(left(id), 3);
}

/* A pause of the whole process outlives the lease: what the guard before the write is for. */
static void test_a_pause_before_the_check_sells_nothing(void **state) {
    struct buyer buyer;
    char id[UUID_TEXT];

    make_product(id, "redis,ttl=1s,fail=after-read:pause=1100ms@1", 5);
    assert_int_equal(sell(&buyer, id, NULL), OUTCOME_BUSY);
    assert_int_equal(left(id), 5);
    assert_int_equal(sell(&buyer, id, NULL), OUTCOME_SOLD);
}

/* By the TTL alone it could still write, but nothing would be left for a slow statement. The first
 * sale teaches the statement to the connection that the second will hold, so that nothing lies
 * between pause and check: no renewal either. */
static void test_a_write_needs_a_third_of_the_lease(void **state) {
    struct buyer buyer;
    char id[UUID_TEXT];

    make_product(id, "redis,ttl=1500ms,fail=after-read:pause=1100ms@2", 5);
    assert_int_equal(sell(&buyer, id, NULL), OUTCOME_SOLD);
    assert_int_equal(sell(&buyer, id, NULL), OUTCOME_BUSY);
    assert_int_equal(left(id), 4);
}

static void test_without_redis_nothing_is_sold_and_nobody_waits_for_ever(void **state) {
    lk_client *usual;
    struct buyer buyer;
    char id[UUID_TEXT];

    usual = lose_redis();
    make_product(id, "redis,wait=100ms", 5);
    assert_int_equal(sell(&buyer, id, NULL), OUTCOME_BUSY);
    assert_int_equal(left(id), 5);
    regain_redis(usual);
}

static void test_without_memory_for_the_lock_nothing_is_sold(void **state) {
    static const char *const specs[] = {"mutex", "reentrant", "rwlock", "spin", "mkdir", "flock"};

    for (size_t i = 0; i < sizeof specs / sizeof specs[0]; i++) {
        struct buyer buyer;
        char id[UUID_TEXT];

        make_product(id, specs[i], 5);
        lay_out(id);
        fault_memory(0, 1);
        begin(&buyer, id, NULL);
        assert_true(fault_memory_end());
        finish(&buyer, 1);
        assert_int_equal(buyer.selling.outcome, OUTCOME_FAILED);
        assert_int_equal(left(id), 4);
    }
}

static void sell_one(void *arg) {
    struct buyer buyer;
    char id[UUID_TEXT];
    enum outcome outcome;

    make_product(id, arg, 5);
    outcome = sell(&buyer, id, NULL);
    assert_true(outcome == OUTCOME_SOLD || outcome == OUTCOME_FAILED || outcome == OUTCOME_BUSY ||
                outcome == OUTCOME_UNKNOWN);
    assert_int_equal(sold(id), outcome == OUTCOME_SOLD);
}

static void test_no_failed_allocation_sells_without_saying_so(void **state) {
    static char specs[][40] = {"mutex", "redis,ttl=50ms", "sharded,shards=2,ttl=50ms", "atomic"};

    for (size_t i = 0; i < sizeof specs / sizeof specs[0]; i++)
        fault_each_allocation(sell_one, specs[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(test_a_refused_write_sells_nothing),
        TEST(test_a_server_in_trouble_is_busy_and_says_nothing_of_itself),
        TEST(test_a_write_that_the_server_cancels_sells_nothing),
        TEST(test_a_write_whose_connection_is_cut_is_unknown),
        TEST(test_an_unknown_write_keeps_the_lock_until_its_ttl),
        TEST(test_an_unknown_write_that_the_ledger_has_is_a_repeat),
        TEST(test_a_repeat_that_cannot_be_looked_up_is_unknown),
        TEST(test_a_sale_past_its_deadline_sends_nothing),
        TEST(test_a_lock_not_won_in_time_is_busy),
        TEST(test_each_failpoint_with_error_ends_the_sale),
        TEST(test_a_product_has_several_failpoints),
        TEST(test_a_dropped_reply_is_a_sale),
        TEST(test_a_pause_before_the_check_sells_nothing),
        TEST(test_a_write_needs_a_third_of_the_lease),
        TEST(test_without_redis_nothing_is_sold_and_nobody_waits_for_ever),
        TEST(test_without_memory_for_the_lock_nothing_is_sold),
        TEST(test_no_failed_allocation_sells_without_saying_so),
    };

    return cmocka_run_group_tests(tests, make_schema, drop_schema);
}
