/* Orders that are recorded together, each with its own outcome, on a real Postgres. */
#include "order_groups.h"

#include "fault_proxy.h"
#include "metrics.h"
#include "orders_database.h"

#define BUYERS_MOST 40

/* An order that is being recorded, in a fiber of its own. */
struct buyer {
    struct order order;
    int64_t deadline_ms;
    enum pg_status status;
    bool is_repeat, is_done;
    char why[PG_MESSAGE_BYTES];
};

static struct order_groups groups;
static struct buyer buyers[BUYERS_MOST];
static unsigned started, done;

static int set_up(void **state) {
    (void)set_up_database(state);
    order_groups_init(&groups, &fixture.loop, fixture.pool);
    started = done = 0;
    return 0;
}

static int tear_down(void **state) {
    order_groups_free(&groups);
    return tear_down_database(state);
}

static void record(void *arg) {
    struct buyer *buyer = arg;

    buyer->status = order_groups_insert(&groups, &buyer->order, false, buyer->deadline_ms,
                                        &buyer->is_repeat, buyer->why);
    buyer->is_done = true;
    done++;
}

/* The next order, with units counted from 1. It is not being recorded yet. */
static struct buyer *next_buyer(void) {
    struct buyer *buyer = &buyers[started++];

    assert_true(started <= BUYERS_MOST);
    *buyer = (struct buyer){.order = {.product_id = A_UUID,
                                      .unit = started,
                                      .remaining = BUYERS_MOST - started,
                                      .price = "9.90",
                                      .instance = "inventory-1"},
                            .deadline_ms = clock_now_ms() + PATIENCE_MS};
    uuid_v7(buyer->order.order_id);
    return buyer;
}

static struct buyer *start(struct buyer *buyer) {
    assert_int_equal(fiber_start(record, buyer), 0);
    return buyer;
}

static void start_some(int count) {
    while (count-- > 0)
        (void)start(next_buyer());
}

/* The first order goes alone. All orders after it, until let_go(), are one group. */
static void hold(void) {
    run_sql("BEGIN; LOCK TABLE orders");
    start_some(1);
}

static void wait_for_all(void) {
    WAIT_FOR(&fixture.loop, done == started);
}

static void let_go(void) {
    run_sql("ROLLBACK");
    wait_for_all();
}

/* The third order of all, between two others of its group. */
static struct buyer *hold_two(void) {
    hold();
    start_some(1);
    return next_buyer();
}

static void record_third(struct buyer *third) {
    (void)start(third);
    start_some(1);
    let_go();
}

static void expect(const struct buyer *buyer, enum pg_status status) {
    if (buyer->status != status)
        fail_msg("order %d: %d: %s", (int)buyer->order.unit, (int)buyer->status, buyer->why);
    if (status != PG_OK)
        assert_true(buyer->why[0] != '\0');
}

static void expect_recorded(const struct buyer *buyer) {
    expect(buyer, PG_OK);
    assert_false(buyer->is_repeat);
    assert_int_equal(count("SELECT count(*) FROM orders WHERE order_id = '%s' AND unit = %d",
                           buyer->order.order_id, (int)buyer->order.unit),
                     1);
}

static void expect_all_recorded(unsigned from) {
    for (unsigned i = from; i < started; i++)
        expect_recorded(&buyers[i]);
}

static int metric(const char *name) {
    size_t length;
    char *text = metrics_text(&length), line[80];
    const char *found;
    int value;

    assert_non_null(text);
    (void)snprintf(line, sizeof line, "\n%s ", name);
    found = strstr(text, line);
    assert_non_null(found);
    value = atoi(found + strlen(line));
    free(text);
    return value;
}

static void test_orders_that_come_together_are_recorded_by_one_statement(void **state) {
    int statements = metric("order_record_statements_total");
    int orders = metric("order_records_total");

    hold();
    start_some(20);
    let_go();
    expect_all_recorded(0);
    assert_int_equal(count("SELECT count(DISTINCT xmin::text) FROM orders"), 2);
    assert_int_equal(metric("order_record_statements_total") - statements, 2);
    assert_int_equal(metric("order_records_total") - orders, 21);
}

static void test_half_of_many_orders_in_flight_go_together(void **state) {
    groups.in_flight = 16;
    start_some(8);
    wait_for_all();
    (void)start(next_buyer()); /* other orders in flight do not come */
    wait_for_all();
    groups.in_flight = 0;
    expect_all_recorded(0);
    assert_int_equal(count("SELECT count(DISTINCT xmin::text) FROM orders"), 2);
}

static void test_all_of_an_order_is_recorded(void **state) {
    struct buyer *buyer = next_buyer();

    buyer->order.unit = INT64_MAX;
    buyer->order.remaining = INT64_MIN;
    (void)start(buyer);
    wait_for_all();
    expect(buyer, PG_OK);
    assert_string_equal(ask("SELECT concat_ws(' ', order_id, product_id) FROM orders") + 37,
                        A_UUID);
    assert_string_equal(
        ask("SELECT concat_ws(' ', unit, remaining, price, inventory_instance) FROM orders"),
        "9223372036854775807 -9223372036854775808 9.90 inventory-1");
}

/* Another service chooses these texts. */
static void test_a_name_stays_as_it_is_with_any_characters(void **state) {
    static const char *const names[] = {
        "",     "NULL",         "null", " a ",  "a,b",   "\"",      "\"\"", "\\",
        "\\\"", "{}",           "}",    "','",  "\",\"", "\"},{\"", "a\tb", "\n",
        "\x7f", "\xe7\xab\xb9", "$1",   "\\\\", "--",    "\\x41",   "\\N",
    };
    const unsigned names_count = sizeof names / sizeof *names;

    hold();
    for (unsigned i = 0; i < names_count; i++) {
        struct buyer *buyer = next_buyer();

        strcpy(buyer->order.instance, names[i]);
        (void)start(buyer);
    }
    let_go();
    for (unsigned i = 0; i < names_count; i++) {
        expect_recorded(&buyers[i + 1]);
        assert_string_equal(ask("SELECT inventory_instance FROM orders WHERE order_id = '%s'",
                                buyers[i + 1].order.order_id),
                            names[i]);
    }
    assert_int_equal(count("SELECT count(DISTINCT xmin::text) FROM orders"), 2);
}

static void test_a_refused_order_fails_alone_and_with_its_own_reason(void **state) {
    static const char *const prices[] = {"dear", "99999999999.99", "1\",\"2", "NULL", "", "-1"};
    const unsigned prices_count = sizeof prices / sizeof *prices;

    run_sql("ALTER TABLE orders ADD CONSTRAINT no_gift CHECK (price > 0)");
    hold();
    for (unsigned i = 0; i < prices_count; i++) {
        struct buyer *buyer = next_buyer();

        strcpy(buyer->order.price, prices[i]);
        (void)start(buyer);
        start_some(2);
    }
    let_go();
    for (unsigned i = 0; i < started; i++)
        if (i % 3 == 1)
            expect(&buyers[i], PG_REJECTED);
        else
            expect_recorded(&buyers[i]);
    assert_non_null(strstr(buyers[1].why, "dear"));
    assert_non_null(strstr(buyers[4].why, "overflow"));
    assert_non_null(strstr(buyers[16].why, "no_gift"));
    assert_int_equal(count_orders(), 2 * (int)prices_count + 1);
}

/* A name of the greatest length, cut in the middle of a character. */
static void test_a_name_that_is_no_text_fails_alone(void **state) {
    struct buyer *broken = hold_two();

    strcpy(broken->order.instance, "\xe7\xab");
    record_third(broken);
    expect_recorded(&buyers[1]);
    expect(broken, PG_REJECTED);
    expect_recorded(&buyers[3]);
}

static void test_when_all_are_refused_each_is_told(void **state) {
    run_sql("ALTER TABLE orders ADD CONSTRAINT none CHECK (false) NOT VALID");
    hold();
    start_some(5);
    let_go();
    for (unsigned i = 0; i < started; i++)
        expect(&buyers[i], PG_REJECTED);
}

static void test_of_the_same_id_in_one_group_the_first_is_recorded(void **state) {
    struct buyer *first, *again;

    hold();
    start_some(1);
    first = start(next_buyer());
    start_some(1);
    again = next_buyer();
    again->order = first->order;
    again->order.unit = 77;
    (void)start(again);
    start_some(1);
    let_go();
    expect(again, PG_OK);
    assert_true(again->is_repeat);
    for (unsigned i = 0; i < started; i++)
        if (&buyers[i] != again)
            expect_recorded(&buyers[i]);
}

static void test_an_order_that_is_there_is_a_repeat_and_stays_as_it_was(void **state) {
    struct buyer *first = start(next_buyer()), *again;

    wait_for_all();
    hold();
    again = next_buyer();
    again->order = first->order;
    again->order.unit = 77;
    (void)start(again);
    start_some(1);
    let_go();
    expect(again, PG_OK);
    assert_true(again->is_repeat);
    expect_recorded(first);
    expect_recorded(&buyers[1]);
    expect_recorded(&buyers[3]);
}

static void test_an_order_is_not_sent_if_its_turn_comes_too_late(void **state) {
    struct buyer *late = hold_two();

    late->deadline_ms = clock_now_ms();
    record_third(late);
    expect_recorded(&buyers[1]);
    expect(late, PG_NOT_SENT);
    expect_recorded(&buyers[3]);
    assert_int_equal(count_orders(), 3);
}

static void test_without_a_connection_none_is_sent(void **state) {
    struct pg_pool_options options = {.conninfo = "host=127.0.0.1 port=1"};

    close_pool();
    assert_int_equal(pg_pool_open(&fixture.pool, &fixture.loop, &options), 0);
    fixture.open++;
    groups.pool = fixture.pool;
    for (int i = 0; i < 4; i++) {
        struct buyer *buyer = next_buyer();

        buyer->deadline_ms = clock_now_ms() + 50;
        (void)start(buyer);
    }
    wait_for_all();
    for (unsigned i = 0; i < started; i++)
        expect(&buyers[i], PG_NOT_SENT);
}

static struct fault_proxy *open_pool_through_proxy(void) {
    struct fault_proxy *proxy =
        fault_proxy_open(&fixture.loop, PQhost(schema.admin), PQport(schema.admin));
    char conninfo[sizeof schema.conninfo + 64];
    struct pg_pool_options options = {.conninfo = conninfo, .connections = 1};

    (void)snprintf(conninfo, sizeof conninfo, "%s host=127.0.0.1 port=%d sslmode=disable",
                   schema.conninfo, proxy->port);
    fault_proxy_listen(proxy);
    close_pool();
    assert_int_equal(pg_pool_open(&fixture.pool, &fixture.loop, &options), 0);
    fixture.open++;
    WAIT_FOR(&fixture.loop, pg_pool_is_up(fixture.pool));
    groups.pool = fixture.pool;
    return proxy;
}

/* The group waits for a lock at its third order when its connection is cut. Other orders wait for
 * the group. */
static void test_a_lost_connection_leaves_exactly_its_group_unknown(void **state) {
    struct fault_proxy *proxy = open_pool_through_proxy();
    int recorded;

    run_sql("CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS "
            "$$ BEGIN PERFORM pg_advisory_xact_lock(%d); RETURN NEW; END $$; "
            "CREATE TRIGGER wait BEFORE INSERT ON orders FOR EACH ROW WHEN (NEW.unit = 4) "
            "EXECUTE FUNCTION wait(); SELECT pg_advisory_lock(%d)",
            (int)getpid(), (int)getpid());
    hold();
    start_some(4);
    run_sql("ROLLBACK");
    WAIT_FOR(&fixture.loop, count("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND "
                                  "objid = %d AND NOT granted",
                                  (int)getpid()) == 1);
    start_some(3);
    fault_proxy_cut(proxy);
    wait_for_all();
    run_sql("SELECT pg_advisory_unlock(%d)", (int)getpid());
    expect_recorded(&buyers[0]);
    for (unsigned i = 1; i < 5; i++)
        expect(&buyers[i], PG_UNKNOWN);
    expect_all_recorded(5);
    run_sql("BEGIN; LOCK TABLE orders; ROLLBACK"); /* now its effect, if any, is complete */
    recorded = count_orders() - 4;
    assert_true(recorded == 0 || recorded == 4);
    fault_proxy_close(proxy);
}

/* It answers yes for a recorded order, and no for one that was not, even when memory is short. */
static void record_without_memory(void *arg) {
    run_sql("TRUNCATE orders");
    started = done = 0;
    order_groups_free(&groups);
    order_groups_init(&groups, &fixture.loop, fixture.pool);
    for (int i = 0; i < 3; i++)
        if (fiber_start(record, next_buyer()) != 0)
            started--;
    wait_for_all();
    for (unsigned i = 0; i < started; i++)
        assert_int_equal(
            count("SELECT count(*) FROM orders WHERE order_id = '%s'", buyers[i].order.order_id),
            buyers[i].status == PG_OK);
}

static void test_memory_may_fail_at_every_allocation(void **state) {
    fault_each_allocation(record_without_memory, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(test_orders_that_come_together_are_recorded_by_one_statement),
        TEST(test_half_of_many_orders_in_flight_go_together),
        TEST(test_all_of_an_order_is_recorded),
        TEST(test_a_name_stays_as_it_is_with_any_characters),
        TEST(test_a_refused_order_fails_alone_and_with_its_own_reason),
        TEST(test_a_name_that_is_no_text_fails_alone),
        TEST(test_when_all_are_refused_each_is_told),
        TEST(test_of_the_same_id_in_one_group_the_first_is_recorded),
        TEST(test_an_order_that_is_there_is_a_repeat_and_stays_as_it_was),
        TEST(test_an_order_is_not_sent_if_its_turn_comes_too_late),
        TEST(test_without_a_connection_none_is_sent),
        TEST(test_a_lost_connection_leaves_exactly_its_group_unknown),
        TEST(test_memory_may_fail_at_every_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
