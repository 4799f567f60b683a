/* Settling: pages of reservations from a scripted inventory become orders in a real Postgres. */
#include "settle.h"

#include "orders_database.h"

#define AFTER_MS 7000
#define EVERY_MS 10

static struct settle settle;
static bool is_started;

static struct peer *const peer = &fixture.peers[0];

static void start(void) {
    settle_start(&settle, &fixture.loop, fixture.inventory, fixture.pool, AFTER_MS, EVERY_MS);
    settle.step_ms = PATIENCE_MS; /* a server that stalls is a reason of its own */
    fixture.open++;
    is_started = true;
}

static void begin_stop(void) {
    unsigned open = fixture.open;

    is_started = false;
    settle_stop(&settle, on_something_closed, NULL);
    assert_int_equal(fixture.open, open);
}

static void stop(void) {
    unsigned open = fixture.open;

    begin_stop();
    WAIT_FOR(&fixture.loop, fixture.open < open);
}

static const char *cursor(void) {
    return ask("SELECT split_part(cursor, '.', 1) FROM settlement");
}

static void wait_for_cursor(const char *number) {
    WAIT_FOR(&fixture.loop, strcmp(cursor(), number) == 0);
}

static void settle_to(const char *number) {
    start();
    wait_for_cursor(number);
    stop();
}

static void test_it_begins_where_the_database_was_made(void **state) {
    run_sql("UPDATE settlement SET since = 'epoch'::timestamptz + interval '5 seconds'");
    start();
    WAIT_FOR(&fixture.loop, peer->listed > 0);
    assert_string_equal(peer->after, "");
    assert_string_equal(peer->since, "5000");
    assert_string_equal(peer->older, "7000");
    stop();
    assert_int_equal(count_orders(), 0);
    assert_string_equal(cursor(), "");
}

static void test_all_pages_are_settled_in_one_pass(void **state) {
    peer->reservations = 1200;
    start();
    wait_for_cursor("1200");
    assert_int_equal(count_orders(), 1200);
    stop();
}

static void test_the_cursor_outlives_the_process(void **state) {
    unsigned listed;

    peer->reservations = 15;
    settle_to("15");
    run_sql("DELETE FROM orders"); /* settling does not look again behind the cursor */
    peer->reservations = 25;
    listed = peer->listed;
    start();
    wait_for_cursor("25");
    assert_true(peer->listed > listed);
    assert_int_equal(count_orders(), 10);
    stop();
}

/* A clock was set back, or a commit was slow. */
static void test_what_comes_behind_the_cursor_is_settled_too(void **state) {
    peer->reservations = 25;
    start();
    wait_for_cursor("25");
    run_sql("DELETE FROM orders WHERE unit = 20");
    peer->behind = 20;
    WAIT_FOR(&fixture.loop, count_orders() == 25);
    assert_string_equal(peer->overlap, "60000");
    stop();
}

static void test_orders_that_are_there_stay_as_they_are(void **state) {
    char id[UUID_TEXT];

    order_id_of(2, id);
    run_sql("INSERT INTO orders VALUES ('%s', '%s', 99, 0, 1, 'mine')", id, id);
    catch_log();
    peer->reservations = 3;
    settle_to("3");
    assert_int_equal(count_orders(), 3);
    assert_int_equal(count("SELECT count(*) FROM orders WHERE unit = 99"), 1);
    assert_int_equal(said("order settled"), 2);
}

/* Its request was faster: the unit was given back, and its customer knows. */
static void test_a_reservation_that_was_cancelled_meanwhile_gets_no_order(void **state) {
    peer->reservations = 3;
    peer->gone = 2;
    settle_to("3");
    assert_int_equal(peer->confirmed, 3);
    assert_int_equal(peer->strangers, 0);
    assert_string_equal(ask("SELECT string_agg(unit::text, ' ' ORDER BY unit) FROM orders"), "1 3");
}

static void test_nothing_is_confirmed_that_has_its_order(void **state) {
    char id[UUID_TEXT];

    order_id_of(1, id);
    run_sql("INSERT INTO orders VALUES ('%s', '%s', 1, 0, 9.90, 'inventory-9')", id, id);
    peer->reservations = 1;
    settle_to("1");
    assert_int_equal(peer->confirmed, 0);
}

#define RESERVATION(number, unit, remaining, price)                                                \
    "{\"order_id\":\"00000000-0000-7000-8000-00000000000" number                                   \
    "\",\"product_id\":\"00000000-0000-7000-8000-000000000001\",\"unit\":" unit                    \
    ",\"remaining\":" remaining ",\"price\":\"" price "\",\"instance\":\"inventory-9\"}"

static void wait_for_passes(unsigned passes) {
    unsigned listed = peer->listed;

    WAIT_FOR(&fixture.loop, peer->listed >= listed + passes);
}

/* The shard begins at unit 251, and has sold one unit more than it had. */
static void test_a_reservation_without_a_unit_gets_no_order(void **state) {
    catch_log();
    peer->reservations = 3;
    peer->confirmation = "{\"reservations\":[" RESERVATION("1", "0", "0", "9.90") "," RESERVATION(
        "2", "2", "0", "9.90") "," RESERVATION("3", "250", "-1", "9.90") "]}";
    settle_to("3");
    assert_string_equal(ask("SELECT string_agg(unit::text, ' ') FROM orders"), "2");
    assert_int_equal(said("without a unit get no order"), 1);
    assert_int_equal(said("count=2"), 1);
}

static void test_a_reservation_with_a_bad_unit_does_not_stop_settling(void **state) {
    static const char *const lists[] = {
        "{\"reservations\":[" RESERVATION("1", "-3", "0", "9.90") "]}",
        "{\"reservations\":[" RESERVATION("1", "1000000001", "0", "9.90") "]}",
        "{\"reservations\":[" RESERVATION("1", "1", "1000000000", "9.90") "]}",
        "{\"reservations\":[" RESERVATION("1", "\"1\"", "0", "9.90") "]}",
        "{\"reservations\":[" RESERVATION("1", "1", "0", "dear") "]}",
    };

    peer->reservations = 1;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        run_sql("UPDATE settlement SET cursor = ''");
        peer->confirmation = lists[i];
        settle_to("1");
        assert_int_equal(count_orders(), 0);
    }
}

static void test_a_confirmation_for_another_order_is_refused(void **state) {
    static const char *const lists[] = {
        "{\"reservations\":[7]}",
        "{\"reservations\":[{}]}",
        "{\"reservations\":[" RESERVATION("2", "2", "0", "9.90") "]}", /* was not asked for */
        "{\"reservations\":[" RESERVATION("2", "0", "-1", "9.90") "]}",
    };

    peer->reservations = 1;
    peer->confirmation = lists[0];
    start();
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        peer->confirmation = lists[i];
        wait_for_passes(3);
        assert_string_equal(settle.failure, "a confirmation for an order that was not asked for");
        assert_string_equal(cursor(), "");
    }
    peer->confirmation = NULL;
    wait_for_cursor("1");
    stop();
    assert_int_equal(count_orders(), 1);
}

static void test_a_failure_is_said_once_and_again_when_its_reason_changes(void **state) {
    catch_log();
    peer->list = "{}";
    start();
    wait_for_passes(5);
    assert_int_equal(said("cannot settle now"), 1);
    assert_int_equal(said("no list of order_ids"), 1);
    peer->list = NULL;
    peer->reservations = 1;
    run_sql("ALTER TABLE orders RENAME TO others");
    WAIT_FOR(&fixture.loop, said("does not exist") > 0);
    wait_for_passes(5);
    assert_int_equal(said("cannot settle now"), 2);
    run_sql("ALTER TABLE others RENAME TO orders");
    WAIT_FOR(&fixture.loop, said("settling again") > 0);
    wait_for_passes(5);
    assert_int_equal(said("cannot settle now"), 2);
    assert_int_equal(said("settling again"), 1);
    assert_int_equal(count_orders(), 1);
    stop();
}

/* It may have failed for a longer time than the overlap covers. */
static void test_after_a_failure_the_overlap_is_read(void **state) {
    unsigned listed;

    start();
    wait_for_passes(15);
    assert_in_range(peer->overlaps, 1, peer->listed / 5);
    peer->list = "{}";
    wait_for_passes(2); /* one was under way */
    listed = peer->listed - peer->overlaps;
    wait_for_passes(5);
    peer->list = NULL;
    wait_for_passes(1);
    assert_int_equal(peer->listed - peer->overlaps, listed);
    stop();
}

/* An order must never be left out: if a page fails, all pages after it fail, too. */
static void test_the_cursor_stays_before_a_page_that_failed(void **state) {
    run_sql("ALTER TABLE orders ADD CONSTRAINT none CHECK (unit <> 1700)");
    peer->reservations = 2200;
    start();
    WAIT_FOR(&fixture.loop, settle.failure[0] != '\0');
    if (strstr(settle.failure, "none") == NULL)
        fail_msg("%s", settle.failure);
    assert_string_equal(cursor(), "1000");
    assert_int_equal(count_orders(), 1000);
    run_sql("ALTER TABLE orders DROP CONSTRAINT none");
    wait_for_cursor("2200");
    assert_int_equal(count_orders(), 2200);
    stop();
}

/* With it, settling would begin again at the very first reservation, or skip later ones, or be
 * stuck for ever. */
static void test_a_page_with_a_bad_next_is_no_page(void **state) {
    static const char *const bad[] = {
        "",
        "4",
        "5." A_UUID,
        ".7." A_UUID,
        "x.7." A_UUID,
        "5.7" A_UUID,
        "-5.7." A_UUID,
        "5.-7." A_UUID,
        "5.7." A_UUID "&older_than_ms=0",
        "9999999999999999999.7." A_UUID,
        "5.7.82391173",
    };
    char list[400];

    run_sql("UPDATE settlement SET cursor = '4.7." A_UUID "'");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        (void)snprintf(list, sizeof list, "{\"order_ids\":[\"" A_UUID "\"],\"next\":\"%s\"}",
                       bad[i]);
        peer->list = list;
        start();
        wait_for_passes(3);
        stop();
        assert_non_null(strstr(settle.failure, "cursor"));
        assert_string_equal(ask("SELECT cursor FROM settlement"), "4.7." A_UUID);
    }
    assert_int_equal(count_orders(), 0);
}

static void test_without_its_row_settling_fails_and_goes_on_when_it_is_back(void **state) {
    run_sql("DELETE FROM settlement");
    start();
    WAIT_FOR(&fixture.loop, strstr(settle.failure, "settlement") != NULL);
    pg_schema_apply(&schema, "sql/orders.sql");
    peer->reservations = 1;
    wait_for_cursor("1");
    stop();
}

static void test_a_stop_waits_for_the_page_under_way(void **state) {
    unsigned open;

    peer->reservations = 1200;
    peer->is_holding = true;
    start();
    open = fixture.open;
    WAIT_FOR(&fixture.loop, peer->holding > 0);
    begin_stop();
    for (int i = 0; i < 20; i++)
        (void)uv_run(&fixture.loop, UV_RUN_ONCE);
    assert_int_equal(fixture.open, open);
    peer_let_go(peer);
    WAIT_FOR(&fixture.loop, fixture.open < open);
    assert_int_equal(count_orders(), 1000); /* of that page alone */
    assert_string_equal(cursor(), "1000");
}

static void test_a_stop_before_the_first_pass_and_a_second_stop(void **state) {
    unsigned open;

    start();
    open = fixture.open;
    begin_stop();
    begin_stop();
    WAIT_FOR(&fixture.loop, fixture.open < open);
    for (int i = 0; i < 20; i++)
        (void)uv_run(&fixture.loop, UV_RUN_ONCE);
    assert_int_equal(fixture.open, open - 1);
    assert_int_equal(peer->listed, 0);
}

/* Its connections are cut while it works. */
static void test_it_goes_on_when_the_database_is_back(void **state) {
    start();
    wait_for_passes(2);
    run_sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = '%s'",
            schema.name);
    peer->reservations = 600;
    wait_for_cursor("600");
    assert_int_equal(count_orders(), 600);
    stop();
}

static void settle_without_memory(void *arg) {
    unsigned listed = peer->listed;

    run_sql("UPDATE settlement SET cursor = ''; DELETE FROM orders");
    start();
    wait_for_cursor("3"); /* some pass succeeds */
    assert_int_equal(count_orders(), 3);
    assert_true(peer->listed > listed);
    stop();
}

static void test_memory_may_fail_at_every_allocation(void **state) {
    peer->reservations = 3;
    fail_each_allocation(settle_without_memory, NULL);
}

/* Also after a test that failed in the middle: else its tear-down would hang and hide the reason.
 */
static int tear_down(void **state) {
    if (is_started)
        stop();
    return tear_down_database(state);
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up_database, tear_down)
        TEST(test_it_begins_where_the_database_was_made),
        TEST(test_all_pages_are_settled_in_one_pass),
        TEST(test_the_cursor_outlives_the_process),
        TEST(test_what_comes_behind_the_cursor_is_settled_too),
        TEST(test_orders_that_are_there_stay_as_they_are),
        TEST(test_a_reservation_that_was_cancelled_meanwhile_gets_no_order),
        TEST(test_a_reservation_without_a_unit_gets_no_order),
        TEST(test_a_reservation_with_a_bad_unit_does_not_stop_settling),
        TEST(test_a_confirmation_for_another_order_is_refused),
        TEST(test_nothing_is_confirmed_that_has_its_order),
        TEST(test_a_failure_is_said_once_and_again_when_its_reason_changes),
        TEST(test_after_a_failure_the_overlap_is_read),
        TEST(test_the_cursor_stays_before_a_page_that_failed),
        TEST(test_a_page_with_a_bad_next_is_no_page),
        TEST(test_without_its_row_settling_fails_and_goes_on_when_it_is_back),
        TEST(test_a_stop_waits_for_the_page_under_way),
        TEST(test_a_stop_before_the_first_pass_and_a_second_stop),
        TEST(test_it_goes_on_when_the_database_is_back),
        TEST(test_memory_may_fail_at_every_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
