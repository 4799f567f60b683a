/* The live store when things fail: a refused sale sells nothing, an unknown one keeps its lock, and
 * a failpoint strikes at its point. */
#include "instance.h"

static void cut_blocked(void) {
    (void)ask("SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
              " WHERE application_name = '%s' AND wait_event_type = 'Lock'",
              instance.name);
}

/* A product with 4 of 5 units left. The test has locked its row of stock until it ends its
 * transaction. */
static const char *make_locked_product(void) {
    const char *id = lay_out("atomic", 5);

    lock_stock(id);
    return id;
}

static void test_a_refused_write_sells_nothing(void **state) {
    static const char *const all[] = {"none", "mutex", "redis", "sharded,shards=1", "atomic"};
    struct buyer buyer;
    const char *id;

    run_sql("ALTER TABLE reservation ADD CONSTRAINT nothing CHECK (unit < 0) NOT VALID");
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        id = make_product(all[i], 5);
        assert_int_equal(sell(&buyer, id, NULL), OUTCOME_FAILED);
        assert_null(strstr(buyer.selling.why.text, "nothing")); /* that is for the log */
        assert_int_equal(left(id), 5);
        assert_int_equal(ask("SELECT version FROM stock WHERE product_id = '%s'", id), 0);
    }
    run_sql("ALTER TABLE reservation DROP CONSTRAINT nothing");
    assert_int_equal(sell(&buyer, id, NULL), OUTCOME_SOLD);
}

/* The SQLSTATE decides whether an error may pass. The customer never sees its text, which may name
 * servers and tables. */
static void test_a_server_in_trouble_is_busy_and_says_nothing_of_itself(void **state) {
    static const struct {
        const char *sqlstate;
        enum outcome outcome;
    } cases[] = {{"53100", OUTCOME_BUSY},   {"53200", OUTCOME_BUSY},   {"25006", OUTCOME_BUSY},
                 {"57P01", OUTCOME_BUSY},   {"58030", OUTCOME_BUSY},   {"40P01", OUTCOME_BUSY},
                 {"42501", OUTCOME_FAILED}, {"XX001", OUTCOME_FAILED}, {"23514", OUTCOME_FAILED}};
    static const char *const all[] = {"none", "mutex", "redis", "atomic"};
    struct buyer buyer;
    const char *id;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        run_sql("CREATE OR REPLACE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
                " RAISE 'could not extend file base/16384' USING ERRCODE = '%s'; END $$",
                cases[i].sqlstate);
        run_sql("CREATE TRIGGER fail BEFORE INSERT ON reservation EXECUTE FUNCTION fail()");
        id = make_product(all[i % 4], 5);
        assert_int_equal(sell(&buyer, id, NULL), cases[i].outcome);
        assert_null(strstr(buyer.selling.why.text, "file"));
        assert_int_equal(left(id), 5);
        run_sql("DROP TRIGGER fail ON reservation");
    }
}

static void test_a_write_that_the_server_cancels_sells_nothing(void **state) {
    const char *id = make_locked_product();

    assert_int_equal(sell_one(id), OUTCOME_BUSY); /* after statement_timeout */
    run_sql("ROLLBACK");
    assert_int_equal(left(id), 4);
}

static void test_a_write_on_a_cut_connection_is_unknown(void **state) {
    struct buyer buyer;
    const char *id = make_locked_product();

    begin(&buyer, id, NULL);
    WAIT_FOR(&instance.loop, blocked() > 0);
    cut_blocked();
    assert_int_equal(finish_one(&buyer), OUTCOME_UNKNOWN);
    run_sql("ROLLBACK");
    assert_int_equal(left(id), 4);
}

static void test_an_unknown_write_keeps_the_lock_until_its_ttl(void **state) {
    struct buyer first, second, again;
    const char *id = make_product("redis,ttl=1200ms,fail=after-write:error@1", 5);
    const int64_t begun_ms = clock_now_ms();

    assert_int_equal(sell(&first, id, NULL), OUTCOME_UNKNOWN);
    assert_int_equal(sell(&second, id, NULL), OUTCOME_SOLD);
    assert_true(clock_now_ms() - begun_ms >= 1150);
    assert_int_equal(second.selling.sold.unit, 4);
    assert_int_equal(twins(id), 0);
    assert_int_equal(sell(&again, id, first.order_id), OUTCOME_REPEATED);
    assert_int_equal(again.selling.sold.unit, 5);
}

/* The caller may take back a unit that is certainly new. So a unit that may be older is not new. */
static void test_an_unknown_write_that_the_ledger_has_is_a_repeat(void **state) {
    struct buyer buyer;
    const char *id = make_locked_product();

    begin(&buyer, id, NULL);
    WAIT_FOR(&instance.loop, blocked() > 0);
    run_sql("INSERT INTO reservation VALUES ('%s', '%s', 0, 4, 3, 'x', 0)", buyer.order_id, id);
    cut_blocked();
    run_sql("COMMIT");
    assert_int_equal(finish_one(&buyer), OUTCOME_REPEATED);
    assert_int_equal(buyer.selling.sold.unit, 4);
}

/* Without the ledger, "this request sold nothing" would not answer a repeat. */
static void test_a_repeat_that_cannot_be_looked_up_is_unknown(void **state) {
    static const struct pg_pool_options nowhere = {.conninfo = "host=127.0.0.1 port=1"};
    struct store *store = &instance.store;
    struct pg_pool *usual = store->pool;
    struct buyer first, again;
    const char *id = make_product("atomic,wait=0", 5);

    assert_int_equal(sell(&first, id, NULL), OUTCOME_SOLD);
    assert_int_equal(pg_pool_open(&store->pool, &instance.loop, &nowhere), 0);
    begin(&again, id, first.order_id);
    assert_int_equal(finish_one(&again), OUTCOME_UNKNOWN);
    assert_int_equal(sell(&again, id, NULL), OUTCOME_BUSY);
    assert_null(strstr(again.selling.why.text, "127.0.0.1")); /* that is for the log */
    pg_pool_close(store->pool, on_closed, NULL);
    store->pool = usual;
}

static void take_late(struct sale *sale) {
    assert_int_equal(store_take_stock(sale, 0), OUTCOME_BUSY);
}

static void test_a_sale_past_its_deadline_sends_nothing(void **state) {
    const char *id = lay_out("atomic,wait=1s,work=1s", 5);

    (void)run_steps(id, NULL, take_late, 1000 + 1000 + 3000);
    assert_int_equal(left(id), 4);
}

static void test_a_lock_not_won_in_time_is_busy(void **state) {
    static const char *const specs[] = {"redis,wait=700ms,work=2s", "mutex,wait=300ms,work=1s",
                                        "redis,wait=0,work=1s", "mutex,wait=0,work=1s"};

    for (size_t i = 0; i < sizeof specs / sizeof specs[0]; i++) {
        struct buyer holder, waiter;
        const char *id = make_product(specs[i], 5);

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
        const char *id;
        char spec[100];

        (void)snprintf(spec, sizeof spec, "redis,ttl=1s,fail=%s", cases[i].fail);
        id = make_product(spec, 5);
        assert_int_equal(sell_one(id), cases[i].outcome);
        assert_int_equal(left(id), cases[i].left);
        assert_int_equal(sell_one(id), OUTCOME_SOLD); /* the lock came back */
    }
}

static void test_a_product_has_several_failpoints(void **state) {
    struct buyer buyer;
    const char *id =
        make_product("atomic,fail=elsewhere/before-write:error,fail=after-write:drop-reply@1,"
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
    const char *id = make_product("atomic,fail=after-write:drop-reply@2", 5);

    assert_int_equal(sell(&buyer, id, NULL), OUTCOME_SOLD);
    assert_false(buyer.selling.is_reply_dropped);
    assert_int_equal(sell(&buyer, id, NULL), OUTCOME_SOLD);
    assert_true(buyer.selling.is_reply_dropped);
    assert_int_equal(left(id), 3);
}

/* A pause of the whole process outlives the lease: the check before the write exists for this. */
static void test_a_pause_before_the_check_sells_nothing(void **state) {
    const char *id = make_product("redis,ttl=1s,fail=after-read:pause=1100ms@1", 5);

    assert_int_equal(sell_one(id), OUTCOME_BUSY);
    assert_int_equal(left(id), 5);
    assert_int_equal(sell_one(id), OUTCOME_SOLD);
}

/* The TTL alone would allow the write, but would leave no time for a slow statement. The first sale
 * teaches the statement to the connection that the second sale will hold. So nothing lies between
 * pause and check, not even a renewal. */
static void test_a_write_needs_a_third_of_the_lease(void **state) {
    const char *id = make_product("redis,ttl=1500ms,fail=after-read:pause=1100ms@2", 5);

    assert_int_equal(sell_one(id), OUTCOME_SOLD);
    assert_int_equal(sell_one(id), OUTCOME_BUSY);
    assert_int_equal(left(id), 4);
}

static void test_without_redis_nothing_is_sold_and_nobody_waits_for_ever(void **state) {
    lk_client *usual = lose_redis();
    const char *id = make_product("redis,wait=100ms", 5);

    assert_int_equal(sell_one(id), OUTCOME_BUSY);
    assert_int_equal(left(id), 5);
    regain_redis(usual);
}

static void test_without_memory_for_the_lock_nothing_is_sold(void **state) {
    static const char *const specs[] = {"mutex", "reentrant", "rwlock", "spin", "mkdir", "flock"};

    for (size_t i = 0; i < sizeof specs / sizeof specs[0]; i++) {
        struct buyer buyer;
        const char *id = lay_out(specs[i], 5);

        fault_memory(0, 1);
        begin(&buyer, id, NULL);
        assert_true(fault_memory_end());
        assert_int_equal(finish_one(&buyer), OUTCOME_FAILED);
        assert_int_equal(left(id), 4);
    }
}

static void sell_with_faults(void *arg) {
    const char *id = make_product(arg, 5);
    const enum outcome outcome = sell_one(id);

    assert_true(outcome == OUTCOME_SOLD || outcome == OUTCOME_FAILED || outcome == OUTCOME_BUSY ||
                outcome == OUTCOME_UNKNOWN);
    assert_int_equal(sold(id), outcome == OUTCOME_SOLD);
}

static void test_no_failed_allocation_sells_without_saying_so(void **state) {
    static char specs[][40] = {"mutex", "redis,ttl=50ms", "sharded,shards=2,ttl=50ms", "atomic"};

    for (size_t i = 0; i < sizeof specs / sizeof specs[0]; i++)
        fault_each_allocation(sell_with_faults, specs[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_a_refused_write_sells_nothing),
        TEST(test_a_server_in_trouble_is_busy_and_says_nothing_of_itself),
        TEST(test_a_write_that_the_server_cancels_sells_nothing),
        TEST(test_a_write_on_a_cut_connection_is_unknown),
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
