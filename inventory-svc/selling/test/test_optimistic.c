/* Strategies that notice a write between their read and their own, on real Postgres. */
#include "instance.h"

/* The strategies, with the number of statements until a sale has read. */
static const struct {
    const char *name;
    unsigned statements;
} all[] = {{"pg-version", 1}, {"pg-value", 1}, {"pg-serializable", 2}};

#define ALL (sizeof all / sizeof *all)

/* A sale that pauses after it has read 5. */
static const char *read_five(struct buyer *buyer, size_t which, const char *wait,
                             struct buyer *first) {
    char spec[100];
    const char *id;
    uint64_t before;

    (void)snprintf(spec, sizeof spec, "%s,wait=%s,fail=after-read:delay=1s@2", all[which].name,
                   wait);
    id = make_product(spec, 6);
    assert_int_equal(sell(first, id, NULL), OUTCOME_SOLD);
    before = pool_stats().queries;
    begin(buyer, id, NULL);
    WAIT_FOR(&instance.loop, pool_stats().queries == before + all[which].statements);
    return id;
}

static void test_a_sale_that_another_overtook_begins_again(void **state) {
    for (size_t i = 0; i < ALL; i++) {
        struct buyer first, slow, quick;
        const char *id = read_five(&slow, i, "5s", &first);

        assert_int_equal(sell(&quick, id, NULL), OUTCOME_SOLD);
        assert_false(slow.is_done);
        assert_int_equal(finish_one(&slow), OUTCOME_SOLD);
        assert_int_equal(quick.selling.sold.unit, 5);
        assert_int_equal(slow.selling.sold.unit, 4);
        assert_non_null(strstr(slow.selling.timing, "retry;desc=\"1\""));
    }
}

static void test_a_sale_that_is_always_overtaken_gives_up(void **state) {
    for (size_t i = 0; i < ALL; i++) {
        struct buyer first, slow;
        const char *id = read_five(&slow, i, "0ms", &first);

        assert_int_equal(sell_one(id), OUTCOME_SOLD);
        assert_int_equal(finish_one(&slow), OUTCOME_BUSY);
        expect_units(id, 2, 4);
    }
}

static void test_what_returns_to_the_count_is_sold_next_and_in_its_turn(void **state) {
    static const char *const specs[] = {"pg-version,return=count", "pg-value,return=count",
                                        "pg-row,return=count", "pg-serializable,return=count"};

    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        static const int64_t next[] = {4, 5, 2, 1};
        struct buyer bought[3], again;
        const char *id = make_product(specs[i], 5);

        for (size_t b = 0; b < 3; b++)
            assert_int_equal(sell(&bought[b], id, NULL), OUTCOME_SOLD);
        assert_true(cancel_order(bought[0].order_id)); /* unit 5, to the place of 3 */
        assert_true(cancel_order(bought[1].order_id)); /* unit 4, to its own */
        assert_int_equal(left(id), 4);
        for (size_t n = 0; n < 4; n++) {
            assert_int_equal(sell(&again, id, NULL), OUTCOME_SOLD);
            assert_int_equal(again.selling.sold.unit, next[n]);
            assert_int_equal(again.selling.sold.remaining, 3 - n);
        }
        assert_int_equal(sell(&again, id, NULL), OUTCOME_SOLD_OUT);
        assert_int_equal(twins(id), 0);
        assert_int_equal(ask("SELECT count(*) FROM returned_unit WHERE product_id = '%s'", id), 0);
    }
}

/* During its pause, 5 is sold and 6 comes back: the count is the same again. */
static void test_a_count_that_came_back_deceives_a_comparison(void **state) {
    for (size_t i = 0; i < 2; i++) {
        struct buyer first, slow, quick;
        const char *id = read_five(&slow, i, "5s,return=count", &first);

        assert_int_equal(sell(&quick, id, NULL), OUTCOME_SOLD);
        assert_int_equal(quick.selling.sold.unit, 5);
        assert_true(cancel_order(first.order_id));
        assert_false(slow.is_done);
        assert_int_equal(finish_one(&slow), OUTCOME_SOLD);
        assert_int_equal(slow.selling.sold.unit, i == 0 ? 6 : 5);
        assert_int_equal(twins(id), i);
    }
}

static long table_fence(const char *id) {
    return ask("SELECT coalesce(max(fence), 0) FROM lockkit_lock WHERE name = 'stock:%s:0'", id);
}

static void test_a_lock_in_a_table_is_taken_in_turn(void **state) {
    struct buyer buyers[3];
    const char *id = make_product("pg-table,work=20ms", 5);

    for (size_t i = 0; i < 3; i++)
        begin(&buyers[i], id, NULL);
    finish(buyers, 3);
    assert_int_equal(count_outcome(buyers, 3, OUTCOME_SOLD), 3);
    assert_int_equal(twins(id), 0);
    assert_int_equal(ask("SELECT max(fence) FROM reservation WHERE product_id = '%s'", id),
                     table_fence(id));
    assert_int_equal(
        ask("SELECT count(DISTINCT fence) FROM reservation WHERE product_id = '%s'", id), 3);
    assert_non_null(strstr(buyers[0].selling.timing, "lock;desc=\"table\""));
}

static void test_a_lock_in_a_table_that_is_held_is_busy(void **state) {
    struct buyer first, holder;
    const char *id = make_product("pg-table", 5);

    assert_int_equal(sell(&first, id, NULL), OUTCOME_SOLD); /* makes the locks' connection */
    id = make_product("pg-table,wait=1s", 5);
    assert_int_equal(sell(&first, id, NULL), OUTCOME_SOLD);
    lock_stock(id);
    begin(&holder, id, NULL);
    WAIT_FOR(&instance.loop, table_fence(id) > first.selling.sold.fence);
    assert_int_equal(sell_one(id), OUTCOME_BUSY);
    run_sql("COMMIT");
    assert_int_equal(finish_one(&holder), OUTCOME_SOLD);
    assert_int_equal(sell_one(id), OUTCOME_SOLD);
}

/* Another sale holds it, and the refused one listens for its end. */
static void test_who_waited_is_told_that_it_is_sold_out(void **state) {
    struct buyer buyer;
    const char *id = make_product("pg-table", 0);

    run_sql("INSERT INTO lockkit_lock (name, fence, owner, until)"
            " VALUES ('stock:%s:0', 1, 'other', now() + interval '1 hour')",
            id);
    begin(&buyer, id, NULL);
    WAIT_FOR(&instance.loop,
             ask("SELECT count(*) FROM (SELECT pg_stat_clear_snapshot()) AS fresh,"
                 " pg_stat_activity WHERE application_name = '%s' AND query LIKE 'LISTEN%%'",
                 instance.name) == 1);
    run_sql("UPDATE lockkit_lock SET until = '-infinity' WHERE name = 'stock:%s:0'", id);
    assert_int_equal(finish_one(&buyer), OUTCOME_SOLD_OUT);
    assert_string_equal(buyer.selling.why.text, outcome_text(OUTCOME_SOLD_OUT));
}

/* Its holder died. */
static void test_a_lock_in_a_table_is_taken_over_when_it_has_expired(void **state) {
    struct buyer first, second;
    const char *id = make_product("pg-table,ttl=1s,fail=before-unlock:error@1", 5);

    assert_int_equal(sell(&first, id, NULL), OUTCOME_SOLD);
    assert_int_equal(sell(&second, id, NULL), OUTCOME_SOLD);
    assert_true(second.selling.sold.fence > first.selling.sold.fence);
    assert_int_equal(second.selling.sold.unit, 4);
}

/* Another instance has taken over the lock meanwhile, and sold. */
static void test_a_write_behind_the_next_holder_is_refused(void **state) {
    struct buyer late, next;
    long fence;
    const char *id = make_product("pg-table,fail=before-write:delay=1s@1", 5);

    begin(&late, id, NULL);
    WAIT_FOR(&instance.loop, (fence = table_fence(id) + 1) > 1);
    run_sql("UPDATE lockkit_lock SET fence = %ld, owner = NULL, until = '-infinity'"
            " WHERE name = 'stock:%s:0'",
            fence, id);
    run_sql("UPDATE stock SET fence = %ld, available = 4 WHERE product_id = '%s'", fence, id);
    assert_int_equal(finish_one(&late), OUTCOME_CONFLICT);
    assert_int_equal(sold(id), 0);
    assert_int_equal(sell(&next, id, NULL), OUTCOME_SOLD);
    assert_true(next.selling.sold.fence > fence);
    assert_int_equal(next.selling.sold.unit, 4);
}

static bool release_was_refused(void) {
    return lock_servers_count(&instance.store.locks, LOCK_AT_POSTGRES,
                              offsetof(struct lk_counters, release_lost)) > 0;
}

/* Giving it back twice would free the next holder's lock. */
static void test_a_late_holder_gives_back_only_its_own_lock(void **state) {
    struct buyer late, next;
    const char *id = make_product("pg-table,ttl=2s,fail=before-unlock:delay=1s@1", 5);

    begin(&late, id, NULL);
    WAIT_FOR(&instance.loop, sold(id) == 1);
    run_sql("UPDATE lockkit_lock SET owner = 'next' WHERE name = 'stock:%s:0'", id);
    finish(&late, 1);
    WAIT_FOR(&instance.loop, release_was_refused());
    assert_int_equal(ask("SELECT count(*) FROM lockkit_lock WHERE name = 'stock:%s:0'"
                         " AND owner = 'next' AND until > clock_timestamp()",
                         id),
                     1);
    assert_int_equal(sell(&next, id, NULL), OUTCOME_SOLD); /* once the lock has expired */
}

static void test_a_lock_that_ends_before_the_commit_sells_one_unit_twice(void **state) {
    struct buyer first, second;
    const char *id = make_product("early-unlock,fail=before-commit:delay=1s@1", 5);

    begin(&first, id, NULL);
    WAIT_FOR(&instance.loop,
             ask("SELECT count(*) FROM (SELECT pg_stat_clear_snapshot()) AS fresh,"
                 " pg_stat_activity WHERE application_name = '%s'"
                 " AND state = 'idle in transaction' AND query LIKE 'WITH written%%'",
                 instance.name) == 1);
    begin(&second, id, NULL);
    finish(&first, 1);
    finish(&second, 1);
    assert_int_equal(first.selling.outcome, OUTCOME_SOLD);
    assert_int_equal(second.selling.outcome, OUTCOME_SOLD);
    assert_int_equal(first.selling.sold.unit, second.selling.sold.unit);
    assert_int_equal(twins(id), 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_a_sale_that_another_overtook_begins_again),
        TEST(test_a_sale_that_is_always_overtaken_gives_up),
        TEST(test_what_returns_to_the_count_is_sold_next_and_in_its_turn),
        TEST(test_a_count_that_came_back_deceives_a_comparison),
        TEST(test_a_lock_in_a_table_is_taken_in_turn),
        TEST(test_a_lock_in_a_table_that_is_held_is_busy),
        TEST(test_who_waited_is_told_that_it_is_sold_out),
        TEST(test_a_lock_in_a_table_is_taken_over_when_it_has_expired),
        TEST(test_a_write_behind_the_next_holder_is_refused),
        TEST(test_a_late_holder_gives_back_only_its_own_lock),
        TEST(test_a_lock_that_ends_before_the_commit_sells_one_unit_twice),
    };

    return cmocka_run_group_tests(tests, make_schema, drop_schema);
}
