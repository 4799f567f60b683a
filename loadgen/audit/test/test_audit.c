/* The auditor and the queries of sql/audit.sql on a real database. */
#include "audit.h"
#include "test.h"

#include "clock.h"
#include "fault.h"
#include "fiber.h"
#include "pg_schema.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct why why;

/* Both databases are schemas of one database, each with the real tables. */

static struct pg_schema inventory, orders;
static uv_loop_t loop;
static struct auditor auditor;
static struct product product;

/* Runs SQL in both. */
#define run_sql(...) pg_schema_run(&inventory, __VA_ARGS__)

static int set_up(void **state) {
    pg_schema_open(&inventory, "audit_inventory", "sql/inventory.sql", "");
    pg_schema_open(&orders, "audit_orders", "sql/orders.sql", "");
    run_sql("SET search_path = %s, %s", inventory.name, orders.name);
    return uv_loop_init(&loop);
}

static int tear_down(void **state) {
    pg_schema_close(&inventory);
    pg_schema_close(&orders);
    fiber_cleanup();
    return uv_loop_close(&loop);
}

/* Runs SQL on a pool of the auditor. */
static void assert_done(int rc) {
    if (rc != 0)
        fail_msg("%s", why.text);
}

static void create_product(void) {
    assert_done(auditor_create(&auditor, "test", 3, "none,work=2ms", &product, &why));
}

/* Runs SQL about the product; its id replaces both %s. */
#define add(sql) run_sql(sql, product.id, product.id)

static void add_rows(void) {
    add("INSERT INTO stock (product_id, shard, first_unit, available) VALUES ('%s', 0, 1, 1), "
        "('%s', 1, 3, 0)");
    add("INSERT INTO reservation (order_id, product_id, shard, unit, remaining, instance, fence, "
        "reserved_at) VALUES ('00000000-0000-7000-8000-00000000000b', '%s', 1, 3, 0, 'i-2', 8, "
        "'2126-01-02 10:00:00.5+00'), ('00000000-0000-7000-8000-00000000000a', '%s', 0, 2, 1, "
        "E'i\\x1b\\n1', 7, '2126-01-02 10:00:00.6+00')");
    /* Times of a clock that was set back, or of another server. */
    add("INSERT INTO reservation (order_id, product_id, shard, unit, remaining, instance, fence, "
        "reserved_at) VALUES ('00000000-0000-7000-8000-00000000000c', '%s', 0, 2, 1, 'i-2', 0, "
        "now() - interval '50 s'), "
        "(gen_random_uuid(), gen_random_uuid(), 0, 99, 0, 'not %s', 0, now())");
    add("INSERT INTO returned_unit (product_id, shard, unit) VALUES ('%s', 0, 1)"
        " -- %s");
    add("INSERT INTO orders (order_id, product_id, unit, remaining, price, inventory_instance, "
        "created_at) VALUES ('00000000-0000-7000-8000-00000000000b', '%s', 3, 0, 1.00, 'i-2', "
        "now() - interval '50 s'), "
        "(gen_random_uuid(), gen_random_uuid(), 98, 0, 1.00, 'not %s', now())");
}

/* Reads the ledger, and finds the rows of add_rows(). */
static void assert_ledger(void) {
    struct ledger read, *ledger = &read;

    assert_done(auditor_read(&auditor, &product, ledger, &why));
    assert_int_equal(ledger->initial, 3);
    assert_int_equal(ledger->available, 1);
    assert_int_equal(ledger->returned, 1);
    assert_int_equal(ledger->counted, 3);
    assert_int_equal(ledger->units, 2);
    assert_int_equal(ledger->sale_count, 3);
    assert_string_equal(ledger->sales[0].order_id, "00000000-0000-7000-8000-00000000000a");
    assert_int_equal(ledger->sales[0].unit, 2);
    assert_int_equal(ledger->sales[0].remaining, 1);
    assert_string_equal(ledger->sales[0].instance, "i? 1");
    assert_int_equal(ledger->sales[1].shard, 1);
    assert_int_equal(ledger_extra(&ledger->sales[1]).fence, 8);
    assert_string_equal(ledger->sales[1].instance, "i-2");
    assert_int_equal(ledger->sales[1].at_us, ledger_time_us("2126-01-02T10:00:00.500000Z"));
    assert_int_equal(ledger->order_count, 1);
    assert_int_equal(ledger->orders[0].unit, 3);
    assert_string_equal(ledger->orders[0].instance, "i-2");
    assert_int_equal(ledger->row_count, 2);
    assert_int_equal(ledger->rows[0].first_unit, 1);
    assert_int_equal(ledger->rows[0].initial, 2);
    assert_int_equal(ledger->rows[0].available, 1);
    assert_int_equal(ledger->rows[1].shard, 1);
    assert_int_equal(ledger->rows[1].first_unit, 3);
    assert_int_equal(ledger->rows[1].initial, 1);
    assert_int_equal(ledger->rows[1].available, 0);
    assert_int_equal(ledger->returned_count, 1);
    assert_int_equal(ledger->returned_units[0].shard, 0);
    assert_int_equal(ledger->returned_units[0].unit, 1);
    ledger_free(ledger);
}

/* Asks twice on another connection: the database's time lies between two of our times. */
static void test_the_databases_clock_is_compared_with_ours(void) {
    int64_t skew_us, before_us, between_us, after_us;

    assert_int_equal(auditor_skew(&auditor, &skew_us), 0);
    before_us = clock_wall_us();
    between_us = pg_schema_number(
        &inventory, "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint");
    after_us = clock_wall_us();
    /* The error is half of the fastest round trip. A busy machine may add a second. */
    assert_true(between_us + skew_us >= before_us - 1000000);
    assert_true(between_us + skew_us <= after_us + 1000000);
}

static void test_a_clock_that_cannot_be_read_is_told(void) {
    int64_t skew_us = 7;

    auditor_close(&auditor);
    assert_int_equal(auditor_open(&auditor, &loop, "host=127.0.0.1 port=1", "", &why), -1);
    auditor.query_ms = 50;
    assert_int_equal(auditor_skew(&auditor, &skew_us), -1);
    assert_int_equal(skew_us, 7);
}

static void test_a_hand_made_ledger_is_read_as_it_is(void) {
    struct ledger ledger;

    create_product();
    assert_done(auditor_read(&auditor, &product, &ledger, &why));
    assert_int_equal(ledger.available, 3); /* nothing was sold: the stock is complete */
    ledger_free(&ledger);
    add_rows();
    assert_ledger();
}

/* Unit 3 came back to the place of 2, which is sold. Units above the count are superfluous. */
static void test_units_that_returned_to_the_count_are_returned(void) {
    struct ledger ledger;

    create_product();
    add("INSERT INTO stock (product_id, shard, first_unit, available, returns_to_count, loaded_into)"
        " VALUES ('%s', 0, 1, 2, true, 'a data set') -- %s");
    add("INSERT INTO stock_place (product_id, shard, place, unit) VALUES ('%s', 0, 1, 3),"
        " ('%s', 0, 2, 2)");
    add("INSERT INTO reservation (order_id, product_id, shard, unit, remaining, instance, fence)"
        " VALUES (gen_random_uuid(), '%s', 0, 2, 1, 'i-1', 0) -- %s");
    assert_done(auditor_read(&auditor, &product, &ledger, &why));
    assert_int_equal(ledger.available, 1);
    assert_int_equal(ledger.returned, 1);
    assert_int_equal(ledger.units, 1);
    assert_int_equal(ledger.rows[0].available, 1);
    assert_true(ledger.rows[0].returns_to_count);
    assert_true(ledger.rows[0].is_loaded);
    assert_int_equal(ledger.returned_count, 1);
    assert_int_equal(ledger.returned_units[0].unit, 3);
    ledger_free(&ledger);
}

static void test_a_cart_has_two_sales_of_one_order(void) {
    struct ledger ledger;

    create_product();
    add("INSERT INTO stock (product_id, shard, first_unit, available) VALUES ('%s', 0, 1, 1), "
        "('%s', 1, 3, 0)");
    add("INSERT INTO reservation (order_id, product_id, shard, unit, remaining, instance, fence, "
        "second_shard, second_unit, second_remaining) VALUES ('00000000-0000-7000-8000-00000000000a'"
        ", '%s', 1, 3, 0, 'i-1', 0, 0, 2, 1) -- %s");
    assert_done(auditor_read(&auditor, &product, &ledger, &why));
    assert_int_equal(ledger.sale_count, 2);
    assert_int_equal(ledger.counted, 2);
    assert_int_equal(ledger.units, 2);
    assert_string_equal(ledger.sales[0].order_id, ledger.sales[1].order_id);
    assert_int_equal(ledger.sales[0].unit + ledger.sales[1].unit, 5);
    assert_int_equal(ledger.sales[0].remaining + ledger.sales[1].remaining, 1);
    ledger_free(&ledger);
}

/* While the auditor waits for the list of returned units, one of them is sold. */
static void sell_returned(uv_timer_t *timer) {
    if (pg_schema_number(&inventory, "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation "
                                     "= 'returned_unit'::regclass") == 0)
        return;
    add("DELETE FROM returned_unit; INSERT INTO reservation (order_id, product_id, shard, unit, "
        "remaining, instance, fence) VALUES (gen_random_uuid(), '%s', 0, 1, 0, '%.3s', 0); COMMIT");
    uv_close((uv_handle_t *)timer, NULL);
}

static void test_a_ledger_is_read_as_it_was_at_one_moment(void) {
    uv_timer_t timer;

    create_product();
    add_rows();
    run_sql("BEGIN; LOCK TABLE returned_unit");
    assert_int_equal(uv_timer_init(&loop, &timer), 0);
    assert_int_equal(uv_timer_start(&timer, sell_returned, 1, 10), 0);
    assert_ledger();
}

/* Finds the two events of the product, ordered by time and then by number, on the round's clock. */
static void test_events_are_read_on_the_clock_of_the_round(void) {
    struct event_list events = {.items = NULL};
    int64_t created_us;

    create_product();
    assert_done(auditor_read_events(&auditor, &product, 2, 0, &events, &why));
    assert_int_equal(events.count, 0);
    run_sql(
        "INSERT INTO lab_event (product_id, order_id, instance, seq, at, took_us, kind, name, "
        "detail, lasts_ms, key, token, result) SELECT '%s', "
        "'00000000-0000-7000-8000-0000000000aa', 'inventory-1', seq, "
        "product.created_at + interval '2 seconds', 1500, kind, rows.name, detail, lasts_ms, key, "
        "token, result FROM product, (VALUES "
        "(8, 'lock', 'SET NX', 'ttl 200 ms', 200, 'stock:1', 'abc', 'yes'), "
        "(7, 'failpoint', 'after-read', 'pause 4000 ms', 4000, '', '', '')) "
        "rows (seq, kind, name, detail, lasts_ms, key, token, result) "
        "WHERE product_id = '%s'",
        product.id, product.id);
    run_sql("INSERT INTO lab_event SELECT gen_random_uuid(), order_id, instance, 1, at, 0, kind, "
            "name FROM lab_event");
    created_us = pg_schema_number(&inventory,
                                  "SELECT (extract(epoch FROM created_at) * 1000000)::bigint FROM "
                                  "product WHERE product_id = '%s'",
                                  product.id);
    assert_done(auditor_read_events(&auditor, &product, 2, -created_us, &events, &why));
    assert_int_equal(events.count, 2);
    assert_int_equal(events.items[0].kind, EVENT_FAILPOINT);
    assert_int_equal(events.items[0].result, EVENT_NONE);
    assert_string_equal(events.items[0].name, "after-read");
    assert_int_equal(events.items[0].until_ns, INT64_C(6000000000));
    assert_int_equal(events.items[1].kind, EVENT_LOCK);
    assert_int_equal(events.items[1].result, EVENT_YES);
    assert_int_equal(events.items[1].item, 2);
    assert_int_equal(events.items[1].at_ns, INT64_C(2000000000));
    assert_int_equal(events.items[1].began_ns, INT64_C(1998500000));
    assert_string_equal(events.items[1].order_id, "00000000-0000-7000-8000-0000000000aa");
    assert_string_equal(events.items[1].who, "inventory-1");
    assert_string_equal(events.items[1].detail, "ttl 200 ms");
    assert_string_equal(events.items[1].key, "stock:1");
    assert_string_equal(events.items[1].token, "abc");
    event_list_free(&events);
    run_sql("ALTER TABLE lab_event RENAME TO hidden");
    assert_int_equal(auditor_read_events(&auditor, &product, 2, 0, &events, &why), -1);
    assert_non_null(strstr(why.text, "events of audit.sql"));
}

static void test_a_product_is_found_with_what_it_is(void) {
    struct audit_found found;
    bool is_fresh;

    create_product();
    product.since[0] = '\0';
    assert_done(auditor_find(&auditor, &product, &found, &why));
    assert_true(found.is_there);
    assert_done(auditor_is_fresh(&auditor, &product, &is_fresh, &why));
    assert_true(is_fresh);
    assert_int_equal(found.stock, 3);
    assert_string_equal(found.spec, "none,work=2ms");
    assert_string_not_equal(product.since, "");
    add("INSERT INTO returned_unit (product_id, shard, unit) VALUES ('%s', 0, 1) -- %s");
    assert_done(auditor_is_fresh(&auditor, &product, &is_fresh, &why));
    assert_false(is_fresh);
    snprintf(product.id, sizeof product.id, "%s", "00000000-0000-7000-8000-0000000000ff");
    assert_done(auditor_find(&auditor, &product, &found, &why));
    assert_false(found.is_there);
    run_sql("ALTER TABLE product RENAME TO hidden");
    assert_int_equal(auditor_find(&auditor, &product, &found, &why), -1);
    assert_non_null(strstr(why.text, "the product could not be read: "));
}

static void test_a_product_that_is_not_there_is_told(void) {
    struct ledger ledger;

    snprintf(product.id, sizeof product.id, "%s", "00000000-0000-7000-8000-0000000000ff");
    snprintf(product.since, sizeof product.since, "-infinity");
    assert_int_equal(auditor_read(&auditor, &product, &ledger, &why), -1);
    assert_non_null(strstr(why.text, "is not in the database"));
    ledger_free(&ledger);
    run_sql("CREATE FUNCTION skip() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';"
            "CREATE TRIGGER skip BEFORE INSERT ON product FOR EACH ROW EXECUTE FUNCTION skip()");
    assert_int_equal(auditor_create(&auditor, "test", 3, "none", &product, &why), -1);
    assert_string_equal(why.text, "the product was not created: the database added no row");
}

/* Returns at once if each sale has its order, else at the deadline. */
static void test_waiting_ends_when_each_sale_has_its_order(void) {
    const bool never = false;
    int64_t deadline_ms;

    create_product();
    assert_true(auditor_wait_quiet(&auditor, &product, 0, clock_now_ms() + 60000, &never));
    add_rows();
    deadline_ms = clock_now_ms() + 300;
    assert_false(auditor_wait_quiet(&auditor, &product, 0, deadline_ms, &never));
    assert_true(clock_now_ms() >= deadline_ms);
    add("INSERT INTO orders SELECT order_id, product_id, unit, remaining, 1.00, instance FROM "
        "reservation WHERE product_id = '%s' ON CONFLICT DO NOTHING -- %s");
    deadline_ms = clock_now_ms() + 400;
    assert_false(auditor_wait_quiet(&auditor, &product, 60000, deadline_ms, &never));
    assert_true(auditor_wait_quiet(&auditor, &product, 400, deadline_ms + 60000, &never));
    assert_true(clock_now_ms() >= deadline_ms + 400);
}

static const struct audit_query *find_query(const char *name) {
    for (size_t i = 0; i < auditor.query_count; i++)
        if (strcmp(auditor.queries[i].name, name) == 0)
            return &auditor.queries[i];
    fail_msg("there is no query %s", name);
    return NULL;
}

/* The queries that only people run find their rows, too. */
static void test_twins_and_units_outside_are_found(void) {
    static const struct {
        const char *name;
        int rows;
    } cases[] = {{"twins", 2},      {"outside", 1},       {"duplicates", 0},
                 {"unbalanced", 1}, {"contradictory", 1}, {"sales_count", 1}};

    create_product();
    add_rows();
    add("UPDATE reservation SET unit = 4 WHERE product_id = '%s' AND shard = 1 -- %s");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct audit_query *query = find_query(cases[i].name);
        struct pg_query ran = {.statement = &query->statement,
                               .params = {product.id, product.since},
                               .deadline_ms = clock_now_ms() + 10000};

        if (pg_query_await(auditor.inventory, &ran) != PG_OK)
            fail_msg("%s: %s", cases[i].name, ran.message);
        assert_int_equal(ran.affected, cases[i].rows);
        pg_query_clear(&ran);
    }
}

/* The plan of a query has none for all rows of the ledger. */
static void assert_by_index(const struct audit_query *query) {
    char sql[4096], name[64];
    const struct pg_statement explain = {name, sql, query->statement.params};
    struct pg_query ran = {.statement = &explain,
                           .params = {product.id, product.since},
                           .deadline_ms = clock_now_ms() + 10000};

    (void)snprintf(name, sizeof name, "explain_%s", query->name);
    assert_in_range(snprintf(sql, sizeof sql, "EXPLAIN %s", query->sql), 1, sizeof sql - 1);
    if (pg_query_await(auditor.inventory, &ran) != PG_OK)
        fail_msg("%s: %s", query->name, ran.message);
    for (int row = 0; row < PQntuples(ran.result); row++)
        if (strstr(pg_text(&ran, row, 0), "Seq Scan on reservation") != NULL)
            fail_msg("%s: %s", query->name, pg_text(&ran, row, 0));
    pg_query_clear(&ran);
}

/* Half a million sales were made in an hour before. */
static void test_the_ledger_of_past_runs_is_not_read(void) {
    run_sql(
        "INSERT INTO reservation (order_id, product_id, shard, unit, remaining, instance, fence, "
        "reserved_at) SELECT gen_random_uuid(), '%s', 0, n, 0, 'i', 0, now() - interval '1 hour' "
        "* (500000 - n) / 500000 FROM generate_series(1, 500000) n",
        "00000000-0000-7000-8000-000000000000");
    run_sql("ANALYZE reservation");
    create_product();
    for (size_t i = 0; i < auditor.query_count; i++)
        if (!auditor.queries[i].is_orders)
            assert_by_index(&auditor.queries[i]);
}

static void test_a_database_that_is_not_there_is_named(void) {
    auditor_close(&auditor);
    assert_int_equal(auditor_open(&auditor, &loop, inventory.conninfo, "", &why), -1);
    assert_non_null(strstr(why.text, "LOADGEN_ORDERS_DB is not set"));
    auditor_close(&auditor);
    assert_int_equal(auditor_open(&auditor, &loop, "host=127.0.0.1 port=1", "", &why), -1);
    assert_non_null(strstr(why.text, "the database inventory cannot be reached"));
}

/* ---- sql/audit.sql, without a database */

static void open_none(void *arg) {
    (void)arg;
    assert_int_equal(auditor_open(&auditor, &loop, "", NULL, &why), -1);
    auditor_close(&auditor);
}

static void test_queries_are_cut_and_have_parameters(void **state) {
    static const char *const names[] = {"stock",   "rows",         "returned", "twins",
                                        "outside", "duplicates",   "sales",    "sales_count",
                                        "orders",  "orders_count", "events"};

    assert_int_equal(auditor_open(&auditor, &loop, "", NULL, &why), -1);
    assert_non_null(strstr(why.text, "LOADGEN_INVENTORY_DB is not set"));
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const struct audit_query *query = find_query(names[i]);
        const char *sql = query->statement.sql;

        assert_int_equal(query->is_orders, strncmp(names[i], "orders", 6) == 0);
        assert_string_equal(query->statement.name, names[i]);
        assert_int_equal(query->statement.params, strstr(sql, "$2") != NULL ? 2 : 1);
        assert_non_null(strstr(sql, "$1"));
        assert_null(strstr(sql, ":'"));
        assert_null(strpbrk(sql, ";\\"));
    }
    auditor_close(&auditor);
}

static void test_no_memory_for_queries_is_told(void **state) {
    fault_each_allocation(open_none, NULL);
}

/* ---- each scene in a fiber, with the auditor open */

static void play(void *scene) {
    assert_done(auditor_open(&auditor, &loop, inventory.conninfo, orders.conninfo, &why));
    ((void (*)(void))(uintptr_t)scene)();
    auditor_close(&auditor);
}

static void run_scene(void **scene) {
    assert_int_equal(fiber_start(play, *scene), 0);
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    fiber_cleanup(); /* asserts that all fibers have ended */
}

#define SCENE(scene)                                                                               \
    { #scene, run_scene, set_up, tear_down, (void *)(uintptr_t)scene }

int main(void) {
    const struct CMUnitTest tests[] = {
        SCENE(test_a_hand_made_ledger_is_read_as_it_is),
        SCENE(test_a_cart_has_two_sales_of_one_order),
        SCENE(test_units_that_returned_to_the_count_are_returned),
        SCENE(test_a_ledger_is_read_as_it_was_at_one_moment),
        SCENE(test_events_are_read_on_the_clock_of_the_round),
        SCENE(test_a_product_is_found_with_what_it_is),
        SCENE(test_a_product_that_is_not_there_is_told),
        SCENE(test_waiting_ends_when_each_sale_has_its_order),
        SCENE(test_twins_and_units_outside_are_found),
        SCENE(test_the_ledger_of_past_runs_is_not_read),
        SCENE(test_a_database_that_is_not_there_is_named),
        SCENE(test_the_databases_clock_is_compared_with_ours),
        SCENE(test_a_clock_that_cannot_be_read_is_told),
        cmocka_unit_test(test_queries_are_cut_and_have_parameters),
        cmocka_unit_test(test_no_memory_for_queries_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
