/* Failures on purpose, and answers to raw lock commands, become rows in the database. */
#include "instance.h"

#include "lab_events.h"
#include "store_live.h"

#define EVENTS "SELECT count(*) FROM lab_event WHERE product_id = '%s' AND "

static void test_a_failpoint_is_told_before_it_acts(void **state) {
    struct buyer buyer;
    const char *id = make_product("none,fail=before-write:error@2", 5);

    assert_int_equal(sell(&buyer, id, NULL), OUTCOME_SOLD);
    assert_int_equal(ask(EVENTS "true", id), 0);
    assert_int_equal(sell(&buyer, id, NULL), OUTCOME_FAILED);
    assert_int_equal(ask(EVENTS "true", id), 1);
    assert_int_equal(ask(EVENTS "kind = 'failpoint' AND name = 'before-write' AND detail = 'error'"
                                " AND instance = 'inventory-test' AND result = ''"
                                " AND at BETWEEN clock_timestamp() - interval '1 minute' AND"
                                " clock_timestamp() AND order_id = '%s'",
                         id, buyer.order_id),
                     1);
}

static void test_a_delay_says_how_long_it_lasts(void **state) {
    const char *id = make_product("redis,fail=after-lock:delay=7ms", 5);

    assert_int_equal(sell_one(id), OUTCOME_SOLD);
    assert_int_equal(ask(EVENTS "detail = 'delay 7 ms' AND lasts_ms = 7", id), 1);
}

static void test_a_failpoint_that_cannot_be_told_acts_all_the_same(void **state) {
    const char *id = make_product("none,fail=before-write:error", 5);

    run_sql("ALTER TABLE lab_event RENAME TO hidden");
    assert_int_equal(sell_one(id), OUTCOME_FAILED);
    run_sql("ALTER TABLE hidden RENAME TO lab_event");
}

/* Another holder frees it while this sale asks. Then it is freed, and freed once more. */
static void use_a_lock(struct sale *sale) {
    char value[KV_TEXT];
    bool was_set;

    assert_int_equal(store_kv_set_absent(sale, "lock", "one", 60000, &was_set), OUTCOME_OK);
    assert_true(was_set);
    for (int i = 0; i < 3; i++)
        assert_int_equal(store_kv_set_absent(sale, "lock", "two", 60000, &was_set), OUTCOME_OK);
    assert_false(was_set);
    assert_int_equal(store_kv_expire(sale, "lock", 50000), OUTCOME_OK);
    assert_int_equal(store_kv_get(sale, "lock", value), OUTCOME_OK);
    assert_int_equal(store_kv_delete_if_equal(sale, "lock", "two"), OUTCOME_OK);
    assert_int_equal(store_kv_delete(sale, "lock"), OUTCOME_OK);
    assert_int_equal(store_kv_delete(sale, "lock"), OUTCOME_OK);
}

static void test_each_result_of_a_raw_lock_is_a_row(void **state) {
    static const char *const rows[] = {
        "name = 'SET NX' AND detail = 'ttl 60000 ms' AND lasts_ms = 60000 AND "
        "token = 'one' AND result = 'yes'",
        "name = 'SET NX' AND detail = '3 times' AND lasts_ms = 0 AND "
        "token = 'two' AND result = 'no'",
        "name = 'PEXPIRE' AND detail = 'ttl 50000 ms' AND lasts_ms = 50000 AND result = 'yes'",
        "name = 'GET' AND token = 'one' AND result = 'yes'",
        "name = 'DEL if own' AND token = 'two' AND result = 'no'",
        "name = 'DEL' AND result = 'yes'",
        "name = 'DEL' AND result = 'no'"};
    const long count = sizeof rows / sizeof rows[0];
    const char *id = make_product("none", 5);

    (void)run_steps(id, NULL, use_a_lock, 0);
    WAIT_FOR(&instance.loop, ask(EVENTS "true", id) == count);
    for (long i = 0; i < count; i++)
        if (ask(EVENTS "kind = 'lock' AND took_us > 0 AND key = 'sale:{%s}:lock' AND %s AND"
                       " (SELECT count(*) FROM lab_event b WHERE b.product_id = '%s' AND b.seq <"
                       " lab_event.seq) = %ld",
                id, id, rows[i], id, i) != 1)
            fail_msg("no row %ld with %s", i, rows[i]);
}

/* Another holder never gives the lock back: two refusals, however slow the server is. */
static void ask_in_vain(struct sale *sale) {
    bool was_set = true;

    assert_int_equal(store_kv_set_absent(sale, "lock", "one", 60000, &was_set), OUTCOME_OK);
    do {
        assert_int_equal(store_kv_set_absent(sale, "lock", "two", 60000, &was_set), OUTCOME_OK);
        assert_false(was_set);
        sale->pauses++;
    } while (store_pause(sale) == OUTCOME_OK || sale->pauses < 2);
}

static void test_who_gives_up_tells_how_often_it_was_refused(void **state) {
    const char *id = make_product("none,wait=100ms", 5);

    (void)run_steps(id, NULL, ask_in_vain, 0);
    WAIT_FOR(&instance.loop, ask(EVENTS "true", id) == 2);
    assert_int_equal(ask(EVENTS "result = 'no' AND detail ~ '^[0-9]+ times$'", id), 1);
}

static void test_events_are_written_when_it_closes(void **state) {
    const struct lab_event event = {.product_id = "01900000-0000-7000-8000-000000000001",
                                    .order_id = "01900000-0000-7000-8000-000000000002",
                                    .kind = "lock",
                                    .name = "DEL",
                                    .result = "yes"};

    for (int i = 0; i < 1000; i++)
        lab_events_note(instance.store.lab, &event);
    lab_events_close(instance.store.lab);
    instance.store.lab = NULL;
    WAIT_FOR(&instance.loop, ask(EVENTS "true", event.product_id) == 1000);
    assert_int_equal(ask("SELECT count(*) FROM (SELECT seq, lag(at) OVER (ORDER BY seq) > at AS "
                         "is_back FROM lab_event WHERE product_id = '%s') rows WHERE is_back",
                         event.product_id),
                     0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_a_failpoint_is_told_before_it_acts),
        TEST(test_a_delay_says_how_long_it_lasts),
        TEST(test_a_failpoint_that_cannot_be_told_acts_all_the_same),
        TEST(test_each_result_of_a_raw_lock_is_a_row),
        TEST(test_who_gives_up_tells_how_often_it_was_refused),
        TEST(test_events_are_written_when_it_closes),
    };

    return cmocka_run_group_tests(tests, make_schema, drop_schema);
}
