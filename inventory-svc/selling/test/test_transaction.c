/* Transactions on real Postgres: other sales get the row only after the commit, which is the moment
 * of the sale. A connection may break before the commit or in it. */
#include "far_instance.h"
#include "strategies.h"

/* Transactions that have written and then pause. */
static long idle(void) {
    return ask("SELECT count(*) FROM (SELECT pg_stat_clear_snapshot()) AS fresh, pg_stat_activity"
               " WHERE application_name = '%s' AND state = 'idle in transaction'"
               " AND query LIKE 'WITH written%%'",
               instance.name);
}

/* Lay out the product, so that the next held connection knows all statements. Then begin a sale,
 * and hold back the answers after its first `answers`. */
static const char *hold_replies(struct buyer *buyer, const char *strategy, unsigned answers) {
    const char *id = lay_out(strategy, 5);
    uint64_t before;

    WAIT_FOR(&instance.loop, pool_stats().idle == 2);
    before = pool_stats().queries;
    begin(buyer, id, NULL);
    WAIT_FOR(&instance.loop, pool_stats().queries == before + answers);
    fault_proxy_set(to_postgres, PROXY_HOLDS_REPLIES);
    return id;
}

static void test_a_sale_waits_for_the_row_that_another_holds(void **state) {
    struct buyer buyer;
    const char *id = lay_out("pg-row", 5);

    lock_stock(id);
    begin(&buyer, id, NULL);
    WAIT_FOR(&instance.loop, blocked() == 1);
    run_sql("UPDATE stock SET available = 3 WHERE product_id = '%s'; COMMIT", id);
    assert_int_equal(finish_one(&buyer), OUTCOME_SOLD);
    assert_int_equal(buyer.selling.sold.unit, 3);
}

static void test_a_sale_that_waited_sells_the_unit_that_came_back_meanwhile(void **state) {
    struct buyer first, buyer;
    const char *id = lay_out("pg-row,return=count", 5); /* sells unit 5 */

    assert_int_equal(sell(&first, id, NULL), OUTCOME_SOLD);
    assert_int_equal(first.selling.sold.unit, 4);
    lock_stock(id);
    begin(&buyer, id, NULL);
    WAIT_FOR(&instance.loop, blocked() == 1);
    run_sql("UPDATE stock SET available = 4 WHERE product_id = '%s';"
            " INSERT INTO stock_place (product_id, shard, place, unit) VALUES ('%s', 0, 3, 5);"
            " COMMIT",
            id, id);
    assert_int_equal(finish_one(&buyer), OUTCOME_SOLD);
    assert_int_equal(buyer.selling.sold.unit, 5);
}

/* Each sale takes a product, lets the other take its first one, too, and then wants the other. */
static int carts_begun;

static enum outcome take_product(struct sale *sale, int row) {
    struct stock_row seen;
    enum outcome outcome = store_read_for_update(sale, row, ROW_WAIT, &seen);

    return outcome == OUTCOME_OK ? store_write_stock(sale, &seen, GUARD_ANY, NULL) : outcome;
}

static enum outcome sell_cart(struct sale *sale) {
    int rows[2];
    enum outcome outcome;

    store_cart(sale, rows);
    assert_int_equal(store_begin(sale, READ_COMMITTED), OUTCOME_OK);
    outcome = take_product(sale, rows[0]);
    carts_begun++;
    while (carts_begun < 2)
        fiber_sleep(&instance.loop, 1);
    if (outcome == OUTCOME_SOLD)
        outcome = take_product(sale, rows[1]);
    return store_end(sale, outcome);
}

/* The server looks after its deadlock_timeout of 1 s, and ends one of the two (40P01). */
static void test_of_two_carts_that_wait_for_each_other_one_is_sold(void **state) {
    static const struct strategy carts = {
        .name = "carts", .takes = TAKES_CART, .default_shards = 2, .sell = sell_cart};
    struct buyer buyers[2];
    const char *id;

    strategies_exercise = &carts;
    carts_begun = 0;
    id = make_product("carts,cart=on", 6);
    for (int i = 0; i < 2; i++)
        begin(&buyers[i], id, NULL);
    finish(buyers, 2);
    assert_int_equal(count_outcome(buyers, 2, OUTCOME_SOLD), 1);
    assert_int_equal(count_outcome(buyers, 2, OUTCOME_CONFLICT), 1);
    assert_int_equal(left(id), 4);
    assert_int_equal(ask("SELECT count(*) FROM reservation WHERE product_id = '%s'"
                         " AND shard + second_shard = 1 AND unit + second_unit = 3 + 6",
                         id),
                     1);
    strategies_exercise = NULL;
}

static void test_a_cancelled_cart_gives_both_units_back(void **state) {
    static const struct strategy carts = {
        .name = "carts", .takes = TAKES_CART, .default_shards = 2, .sell = sell_cart};
    struct buyer buyer;
    const char *id;

    strategies_exercise = &carts;
    carts_begun = 1;
    id = make_product("carts,cart=on", 6);
    assert_int_equal(sell(&buyer, id, NULL), OUTCOME_SOLD);
    assert_true(cancel_order(buyer.order_id));
    assert_int_equal(ask("SELECT sum(unit) FROM returned_unit WHERE product_id = '%s'", id), 9);
    strategies_exercise = NULL;
}

static void test_a_sale_waits_no_longer_than_it_may(void **state) {
    static const char *const specs[] = {"pg-row,wait=30ms", "pg-row,wait=0"};

    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        const char *id = lay_out(specs[i], 5);

        lock_stock(id);
        assert_int_equal(sell_one(id), OUTCOME_BUSY);
        run_sql("ROLLBACK");
        assert_int_equal(left(id), 4);
        assert_int_equal(sell_one(id), OUTCOME_SOLD);
    }
}

static void test_nowait_is_refused_at_once(void **state) {
    struct buyer buyer;
    const char *id = lay_out("pg-nowait,wait=60s", 5);

    lock_stock(id);
    assert_int_equal(sell(&buyer, id, NULL), OUTCOME_BUSY);
    run_sql("ROLLBACK");
    assert_int_equal(sell(&buyer, id, NULL), OUTCOME_SOLD);
    assert_int_equal(buyer.selling.sold.unit, 4);
}

/* Each transaction holds a connection. One stays for statements without a hold, such as reading the
 * product. */
static void test_more_sales_than_connections_wait_for_one_row_and_none_for_ever(void **state) {
    struct buyer buyers[12];
    const char *id = lay_out("pg-row,work=1ms", 20);

    lock_stock(id);
    for (size_t i = 0; i < 12; i++)
        begin(&buyers[i], id, NULL);
    WAIT_FOR(&instance.loop, blocked() == 7); /* of 8 */
    run_sql("ROLLBACK");
    finish(buyers, 12);
    assert_int_equal(count_outcome(buyers, 12, OUTCOME_SOLD), 12);
    expect_units(id, ANY, 7);
}

static void test_a_failure_inside_a_transaction_sells_nothing(void **state) {
    static const char *const points[] = {"after-read", "before-write", "after-write",
                                         "before-commit"};

    for (size_t i = 0; i < sizeof points / sizeof *points; i++) {
        struct buyer buyer;
        const char *id;
        char spec[60];

        (void)snprintf(spec, sizeof spec, "pg-row,fail=%s:error@1", points[i]);
        id = make_product(spec, 5);
        assert_int_equal(sell(&buyer, id, NULL), OUTCOME_FAILED);
        assert_null(strstr(buyer.selling.timing, "commit"));
        expect_units(id, 0, 5);
        assert_int_equal(sell(&buyer, id, NULL), OUTCOME_SOLD);
        assert_non_null(strstr(buyer.selling.timing, "commit"));
    }
}

static void test_a_repeat_inside_a_transaction_sells_once(void **state) {
    struct buyer first, again;
    const char *id = make_product("pg-row", 5);

    assert_int_equal(sell(&first, id, NULL), OUTCOME_SOLD);
    assert_int_equal(sell(&again, id, first.order_id), OUTCOME_REPEATED);
    assert_int_equal(again.selling.sold.unit, first.selling.sold.unit);
    assert_int_equal(left(id), 4);
}

static void test_a_transaction_cut_before_its_commit_sells_nothing(void **state) {
    struct buyer buyer;
    const char *id = make_product("pg-row,fail=before-commit:delay=1s@1", 5);

    begin(&buyer, id, NULL);
    WAIT_FOR(&instance.loop, idle() == 1);
    fault_proxy_cut(to_postgres);
    assert_int_equal(finish_one(&buyer), OUTCOME_BUSY);
    assert_int_equal(sell(&buyer, id, NULL), OUTCOME_SOLD); /* once the server has rolled back */
    assert_int_equal(buyer.selling.sold.unit, 5);
    assert_int_equal(sold(id), 1);
}

/* The whole process paused before its commit, for longer than a transaction may take. */
static void test_a_transaction_that_the_server_ended_may_be_tried_again(void **state) {
    const struct pg_pool_options hasty = {.conninfo = instance.schema.conninfo,
                                          .name = instance.name,
                                          .settings = "-c idle_in_transaction_session_timeout=50"};
    struct pg_pool *usual = instance.store.pool;
    const char *id;

    assert_int_equal(pg_pool_open(&instance.store.pool, &instance.loop, &hasty), 0);
    id = make_product("pg-row,fail=before-commit:pause=1s@1", 5);
    assert_int_equal(sell_one(id), OUTCOME_BUSY);
    pg_pool_close(instance.store.pool, on_closed, NULL);
    instance.store.pool = usual;
    expect_units(id, 0, 5);
}

static void test_a_write_that_is_not_answered_in_a_transaction_sells_nothing(void **state) {
    struct buyer buyer;
    const char *id = hold_replies(&buyer, "pg-row,fail=after-read:delay=1s@2", 2);

    WAIT_FOR(&instance.loop, idle() == 1);
    fault_proxy_cut(to_postgres);
    fault_proxy_set(to_postgres, PROXY_PASSES);
    assert_int_equal(finish_one(&buyer), OUTCOME_BUSY);
    assert_int_equal(sold(id), 1);
}

static void test_a_commit_that_is_not_answered_is_looked_up(void **state) {
    struct buyer buyer;
    const char *id = hold_replies(&buyer, "pg-row,fail=before-commit:delay=1s@2", 3);

    WAIT_FOR(&instance.loop, sold(id) == 2);
    fault_proxy_cut(to_postgres);
    fault_proxy_set(to_postgres, PROXY_PASSES);
    assert_int_equal(finish_one(&buyer), OUTCOME_REPEATED);
    assert_int_equal(buyer.selling.sold.unit, 4);
    assert_int_equal(left(id), 3);
}

/* Its commit waits in the server for a lock of the test. The next sale waits for the row. */
static void test_a_commit_that_lands_late_keeps_the_row_until_then(void **state) {
    struct buyer first, second;
    const char *id = lay_out("pg-row", 5);

    run_sql("CREATE FUNCTION linger() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
            " PERFORM pg_advisory_xact_lock(77); RETURN NULL; END $$;"
            " CREATE CONSTRAINT TRIGGER linger AFTER INSERT ON reservation"
            " DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION linger()");
    run_sql("BEGIN");
    (void)ask("SELECT 1 FROM pg_advisory_xact_lock(77)");
    begin(&first, id, NULL);
    WAIT_FOR(&instance.loop, blocked() == 1);
    fault_proxy_cut(to_postgres);
    assert_int_equal(finish_one(&first), OUTCOME_UNKNOWN);
    begin(&second, id, NULL);
    WAIT_FOR(&instance.loop, second.is_done || blocked() == 2);
    run_sql("COMMIT");
    assert_int_equal(finish_one(&second), OUTCOME_SOLD);
    assert_int_equal(second.selling.sold.unit, 3);
    expect_units(id, 3, ANY);
    run_sql("DROP TRIGGER linger ON reservation");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_a_sale_waits_for_the_row_that_another_holds),
        TEST(test_a_sale_that_waited_sells_the_unit_that_came_back_meanwhile),
        TEST(test_of_two_carts_that_wait_for_each_other_one_is_sold),
        TEST(test_a_cancelled_cart_gives_both_units_back),
        TEST(test_a_sale_waits_no_longer_than_it_may),
        TEST(test_nowait_is_refused_at_once),
        TEST(test_more_sales_than_connections_wait_for_one_row_and_none_for_ever),
        TEST(test_a_failure_inside_a_transaction_sells_nothing),
        TEST(test_a_repeat_inside_a_transaction_sells_once),
        TEST(test_a_transaction_that_the_server_ended_may_be_tried_again),
        FAR_TEST(test_a_transaction_cut_before_its_commit_sells_nothing),
        FAR_TEST(test_a_write_that_is_not_answered_in_a_transaction_sells_nothing),
        FAR_TEST(test_a_commit_that_is_not_answered_is_looked_up),
        FAR_TEST(test_a_commit_that_lands_late_keeps_the_row_until_then),
    };

    return cmocka_run_group_tests(tests, make_schema, drop_schema);
}
