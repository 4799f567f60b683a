/* The witness on a real Postgres: what it sees, that it leaves nothing, and that it disturbs no
 * shop. */
#include "pg_schema.h"
#include "test.h"
#include "wait.h"
#include "witness.h"

#include <unistd.h>

#define MS 5000

static struct pg_schema schema;
static PGconn *shopper; /* a role of its own, with rights on the table alone */
static char role[64], witness_role[64];
static uv_loop_t loop;
static struct shop shop;
static struct values values;
static struct witness *witness;
static struct ledger ledger;
static struct why why;
static bool is_closed;

/* ---- the databases' sessions */

static void tell(PGconn *on, const char *sql) {
    PGresult *result = PQexec(on, sql);

    if (PQresultStatus(result) != PGRES_COMMAND_OK && PQresultStatus(result) != PGRES_TUPLES_OK)
        fail_msg("%s: %s", sql, PQerrorMessage(on));
    PQclear(result);
}

/* A role that may use the schema and nothing more. */
static void make_role(char name[64], const char *suffix) {
    (void)snprintf(name, 64, "witness_%s_%d", suffix, getpid());
    pg_schema_run(&schema,
                  "CREATE ROLE %s LOGIN PASSWORD 'x'; GRANT USAGE ON SCHEMA %s TO %s;"
                  "GRANT CONNECT ON DATABASE %s TO %s;"
                  "ALTER ROLE %s SET search_path = %s",
                  name, schema.name, name, PQdb(schema.admin), name, name, schema.name);
}

static void conninfo_of(const char *name, char conninfo[512]) {
    (void)snprintf(conninfo, 512, "host='%s' port=%s user=%s password=x dbname='%s'",
                   PQhost(schema.admin), PQport(schema.admin), name, PQdb(schema.admin));
}

static PGconn *connect_as(const char *name) {
    char conninfo[512];
    PGconn *on;

    conninfo_of(name, conninfo);
    on = PQconnectdb(conninfo);
    if (PQstatus(on) != CONNECTION_OK)
        fail_msg("%s", PQerrorMessage(on));
    return on;
}

/* ---- the witness */

static void open_with(const char *conninfo, const char *block) {
    char file[4096];

    shop_free(&shop);
    (void)snprintf(file, sizeof file,
                   "shop A\nbase http://a\nrun product echo\n== order ==\nPOST /o\nHTTP *\n"
                   "== outcome ==\nsold status == 200\n== ledger postgres %s ==\n[Orders]\n"
                   "SELECT 1\n[Stock]\nSELECT 1\n%s",
                   conninfo, block);
    if (shop_parse(&shop, "a.shop", file, strlen(file), &why) != 0)
        fail_msg("%s", why.text);
    if (witness_open(&witness, &loop, &shop, &values, &why) != 0)
        fail_msg("%s", why.text);
}

static void on_closed(void *data) {
    is_closed = true;
}

static void close_witness(void) {
    if (witness == NULL)
        return;
    is_closed = false;
    witness_close(witness, on_closed, NULL);
    WAIT_FOR(&loop, is_closed);
    witness = NULL;
}

static int64_t left, patience_ms;
static enum witness_answer answer;

static void on_begin(void *arg) {
    answer = witness_begin(witness, &values, left, patience_ms, &why);
}

static void on_read(void *arg) {
    answer = witness_read(witness, &ledger, patience_ms, &why);
}

static void on_drop(void *arg) {
    answer = witness_drop(witness, patience_ms, &why);
}

static enum witness_answer call(fiber_fn fn) {
    wait_for_fiber(&loop, fn, NULL);
    return answer;
}

static void expect_ok(fiber_fn fn) {
    if (call(fn) != WITNESS_OK)
        fail_msg("%s", why.text);
}

static void expect_wrong(fiber_fn fn, const char *reason) {
    assert_int_equal(call(fn), WITNESS_WRONG);
    if (strstr(why.text, reason) == NULL)
        fail_msg("%s", why.text);
}

#define BLOCK "[Witness]\ntable: level\nrows: variant = {{product}}\nleft: on_hand - allocated\n"

static void begin_on(const char *block, int64_t units) {
    close_witness();
    open_with(schema.conninfo, block);
    left = units;
    expect_ok(on_begin);
}

static void read_with(int64_t units) {
    ledger_free(&ledger);
    ledger = (struct ledger){.available = units};
    expect_ok(on_read);
}

static long schemas(void) {
    return pg_schema_number(
        &schema, "SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'loadgen\\_witness\\_%%'");
}

static int set_up(void **state) {
    assert_int_equal(uv_loop_init(&loop), 0);
    patience_ms = MS;
    pg_schema_open(&schema, "witness", "sql/orders.sql", "");
    make_role(role, "shop");
    make_role(witness_role, "own");
    pg_schema_run(&schema,
                  "CREATE TABLE level (id int PRIMARY KEY, variant int, on_hand int, allocated int,"
                  " note text);"
                  "INSERT INTO level VALUES (1, 7, 10, 0, ''), (2, 8, 10, 0, '');"
                  "GRANT ALL ON level TO %s",
                  role);
    shopper = connect_as(role);
    assert_int_equal(values_set(&values, "product", "7", 1, false), 0);
    return 0;
}

static int tear_down(void **state) {
    close_witness();
    shop_free(&shop);
    ledger_free(&ledger);
    values_free(&values);
    PQfinish(shopper);
    pg_schema_run(&schema, "DROP OWNED BY %s, %s; DROP ROLE %s, %s", role, witness_role, role,
                  witness_role);
    assert_int_equal(schemas(), 0);
    pg_schema_close(&schema);
    (void)uv_run(&loop, UV_RUN_DEFAULT);
    fiber_cleanup();
    return uv_loop_close(&loop);
}

/* ---- what it sees */

static void expect_write(size_t which, int64_t found, int64_t units) {
    assert_true(which < ledger.write_count);
    assert_int_equal(ledger.writes[which].found, found);
    assert_int_equal(ledger.writes[which].left, units);
}

static void test_each_write_of_the_rows_is_seen(void **state) {
    begin_on(BLOCK, 10);
    tell(shopper, "UPDATE level SET allocated = allocated + 1 WHERE variant = 7");
    tell(shopper, "UPDATE level SET allocated = allocated + 1 WHERE variant = 8");
    tell(shopper, "UPDATE level SET note = 'x' WHERE variant = 7");
    tell(shopper, "BEGIN; UPDATE level SET allocated = allocated + 5; ROLLBACK");
    tell(shopper, "UPDATE level SET allocated = allocated - 1 WHERE variant = 7");
    tell(shopper, "BEGIN; UPDATE level SET allocated = 3 WHERE variant = 7;"
                  " UPDATE level SET allocated = 2 WHERE variant = 7; COMMIT");
    read_with(8);
    assert_true(ledger.has_writes);
    assert_int_equal(ledger.write_count, 5);
    expect_write(0, 10, 9);
    expect_write(1, 9, 9);
    expect_write(2, 9, 10);
    expect_write(3, 10, 7);
    expect_write(4, 7, 8);
    assert_true(ledger.writes[0].tx < ledger.writes[1].tx);
    assert_int_equal(ledger.writes[3].tx, ledger.writes[4].tx);
    assert_true(ledger.writes[0].at_us > 0);
    assert_true(ledger.writes[0].at_us <= ledger.writes[4].at_us);
    assert_string_equal(ledger.writes[0].row, "1");
    expect_ok(on_drop);
    assert_int_equal(schemas(), 0);
    tell(shopper, "UPDATE level SET allocated = 0");
}

/* Two sessions read 10, and each writes 9. */
static void test_a_lost_update_is_seen(void **state) {
    PGconn *second = connect_as(role);

    begin_on(BLOCK, 10);
    tell(shopper, "BEGIN; SELECT allocated FROM level WHERE variant = 7");
    tell(second, "BEGIN; SELECT allocated FROM level WHERE variant = 7");
    tell(shopper, "UPDATE level SET allocated = 1 WHERE variant = 7; COMMIT");
    tell(second, "UPDATE level SET allocated = 1 WHERE variant = 7; COMMIT");
    read_with(9);
    assert_int_equal(ledger.write_count, 2);
    expect_write(0, 10, 9);
    expect_write(1, 9, 9);
    assert_int_not_equal(ledger.writes[0].tx, ledger.writes[1].tx);
    expect_ok(on_drop);
    PQfinish(second);
}

static void test_rows_may_come_and_go(void **state) {
    begin_on(BLOCK, 10);
    tell(shopper, "INSERT INTO level VALUES (3, 7, 5, 0, '')");
    tell(shopper, "UPDATE level SET allocated = allocated + 1 WHERE variant = 7");
    tell(shopper, "DELETE FROM level WHERE id = 1");
    tell(shopper, "UPDATE level SET variant = 8 WHERE id = 3");
    read_with(0);
    assert_int_equal(ledger.write_count, 5);
    assert_string_equal(ledger.writes[1].row, "1");
    expect_write(1, 9, 0);
    assert_string_equal(ledger.writes[2].row, "3");
    expect_write(2, WRITE_NOTHING, 5);
    expect_write(3, 5, 4);
    expect_write(4, 4, 0);
    expect_ok(on_drop);
}

static void test_a_shop_may_make_its_row_with_the_first_sale(void **state) {
    pg_schema_run(&schema, "DELETE FROM level");
    begin_on(BLOCK, 10);
    tell(shopper, "INSERT INTO level VALUES (3, 7, 10, 1, '')");
    read_with(9);
    assert_int_equal(ledger.write_count, 1);
    expect_write(0, WRITE_NOTHING, 9);
    expect_ok(on_drop);
}

static void test_a_value_never_becomes_sql(void **state) {
    static const char *const bad[] = {"7'); DROP TABLE level; --\\", "$$ || 'x'", "7 OR true",
                                      "7--"};

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        close_witness();
        assert_int_equal(values_set(&values, "product", bad[i], strlen(bad[i]), false), 0);
        open_with(schema.conninfo, BLOCK);
        left = 10;
        expect_wrong(on_begin, "the value of {{product}} has other characters than letters");
        expect_ok(on_drop);
    }
    close_witness();
    pg_schema_run(&schema, "ALTER TABLE level ALTER variant TYPE text;"
                           "INSERT INTO level VALUES (3, 'gid://shop/7+a=', 5, 0)");
    assert_int_equal(values_set(&values, "product", "gid://shop/7+a=", 15, false), 0);
    begin_on(BLOCK, 5);
    tell(shopper, "UPDATE level SET allocated = 1");
    read_with(4);
    assert_int_equal(ledger.write_count, 1);
    expect_ok(on_drop);
}

static void test_names_and_tables_of_all_kinds(void **state) {
    pg_schema_run(
        &schema,
        "CREATE TABLE \"My \"\"Level\" (loadgen_found int, \"left\" int, PRIMARY KEY"
        " (loadgen_found, \"left\")) PARTITION BY RANGE (loadgen_found);"
        "CREATE TABLE part_1 PARTITION OF \"My \"\"Level\" FOR VALUES FROM (0) TO (50);"
        "CREATE TABLE part_2 PARTITION OF \"My \"\"Level\" FOR VALUES FROM (50) TO (99);"
        "INSERT INTO \"My \"\"Level\" VALUES (7, 10); GRANT ALL ON \"My \"\"Level\" TO %s",
        role);
    begin_on("[Witness]\ntable: \"My \"\"Level\"\n"
             "rows: \"My \"\"Level\".loadgen_found IN ({{product}}, 70) -- a comment\n"
             "left: \"left\" * 1.0 -- another\n",
             10);
    tell(shopper, "UPDATE \"My \"\"Level\" SET \"left\" = \"left\" - 1");
    tell(shopper, "UPDATE \"My \"\"Level\" SET loadgen_found = 70, \"left\" = 8");
    read_with(8);
    assert_int_equal(ledger.write_count, 3); /* to move to another part is two writes */
    assert_string_equal(ledger.writes[0].row, "7,10");
    expect_ok(on_drop);
}

static void test_sessions_that_replicate_are_seen(void **state) {
    begin_on(BLOCK, 10);
    pg_schema_run(&schema, "SET session_replication_role = replica;"
                           "UPDATE level SET allocated = 1 WHERE variant = 7;"
                           "SET session_replication_role = origin");
    read_with(9);
    assert_int_equal(ledger.write_count, 1);
    expect_ok(on_drop);
}

/* ---- what it refuses */

static void test_a_mistake_in_the_block_is_named(void **state) {
    static const struct {
        const char *block, *reason;
    } mistakes[] = {
        {"[Witness]\ntable: nothing\nrows: true\nleft: 1\n",
         "a.shop:14: [Witness]: the database has no such table"},
        {"[Witness]\ntable: a b c\nrows: true\nleft: 1\n", "the database refuses it: "},
        {"[Witness]\ntable: seen\nrows: true\nleft: 1\n",
         "this is no table: a view or a foreign table has no count"},
        {"[Witness]\ntable: level\nrows: varian = 7\nleft: 1\n",
         "the database refuses it: column \"varian\" does not exist"},
        {"[Witness]\ntable: level\nrows: variant = '{{product}}'\nleft: 1\n",
         "{{product}} stands between quotes"},
        {"[Witness]\ntable: level\nrows: variant = {{product}}\nleft: on_hand - NULL\n",
         "`left` is NULL in a row of `rows`"},
        {"[Witness]\ntable: level\nrows: true\nleft: on_hand\n",
         "20 units are left by `left` in 2 rows, and 10 by [Stock]; both must count the same units"},
        {"[Witness]\ntable: bare\nrows: true\nleft: n\n",
         "several rows meet `rows`, and the table has no primary key that tells them apart"},
    };

    pg_schema_run(&schema, "CREATE VIEW seen AS SELECT 1; CREATE TABLE bare (n int);"
                           "INSERT INTO bare VALUES (5), (5)");
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        close_witness();
        open_with(schema.conninfo, mistakes[i].block);
        left = 10;
        expect_wrong(on_begin, mistakes[i].reason);
        assert_int_equal(schemas(), 0);
        expect_ok(on_drop);
    }
}

static void test_a_file_without_a_block_is_refused(void **state) {
    char text[1024];

    (void)snprintf(text, sizeof text,
                   "shop A\nbase http://a\n== order ==\nPOST /o\nHTTP *\n== outcome ==\n"
                   "sold status == 200\n== ledger %s x ==\n[Orders]\na\n[Stock]\nb\n",
                   "postgres");
    assert_int_equal(shop_parse(&shop, "a.shop", text, strlen(text), &why), 0);
    assert_int_equal(witness_open(&witness, &loop, &shop, &values, &why), -1);
    assert_string_equal(why.text, "a.shop:8: --witness needs a block [Witness] in the ledger, "
                                  "which names the table of the stock");
    shop_free(&shop);
    (void)snprintf(text, sizeof text,
                   "shop A\nbase http://a\n== order ==\nPOST /o\nHTTP *\n== outcome ==\n"
                   "sold status == 200\n== ledger %s x ==\n[Orders]\na\n[Stock]\nb\n",
                   "command");
    assert_int_equal(shop_parse(&shop, "a.shop", text, strlen(text), &why), 0);
    assert_int_equal(witness_open(&witness, &loop, &shop, &values, &why), -1);
    assert_string_equal(why.text,
                        "a.shop:8: --witness needs a `ledger postgres`: it is a trigger there");
}

static void test_a_role_without_rights_is_told_the_sql(void **state) {
    char conninfo[512], expected[256], block[256];

    (void)snprintf(block, sizeof block,
                   "[Witness]\ntable: %s.level\nrows: variant = {{product}}\n"
                   "left: on_hand - allocated\n",
                   schema.name);
    pg_schema_run(&schema, "GRANT SELECT ON level TO %s", witness_role);
    conninfo_of(witness_role, conninfo);
    open_with(conninfo, block);
    left = 10;
    (void)snprintf(expected, sizeof expected, "run: GRANT CREATE ON DATABASE %s TO %s",
                   PQdb(schema.admin), witness_role);
    expect_wrong(on_begin, expected);
    pg_schema_run(&schema, "GRANT CREATE ON DATABASE %s TO %s", PQdb(schema.admin), witness_role);
    (void)snprintf(expected, sizeof expected, "run: GRANT TRIGGER ON %s.level TO %s", schema.name,
                   witness_role);
    expect_wrong(on_begin, expected);
    pg_schema_run(&schema, "GRANT TRIGGER ON level TO %s", witness_role);
    expect_ok(on_begin);
    tell(shopper, "UPDATE level SET allocated = allocated + 1 WHERE variant = 7");
    read_with(9);
    assert_int_equal(ledger.write_count, 1);
    expect_ok(on_drop);
}

static void test_an_expression_that_fails_fails_no_write_of_the_shop(void **state) {
    begin_on("[Witness]\ntable: level\nrows: variant = {{product}}\n"
             "left: 10 / (10 - allocated) * 10 + on_hand * 0 - 0\n",
             10);
    tell(shopper, "UPDATE level SET allocated = 10 WHERE variant = 7");
    tell(shopper, "UPDATE level SET allocated = 0 WHERE variant = 7");
    ledger = (struct ledger){.available = 10};
    expect_wrong(on_read, "an expression failed at write 1: division by zero");
    assert_false(ledger.has_writes);
    expect_ok(on_drop);
}

static void test_a_write_that_passed_the_trigger_by_is_noticed(void **state) {
    begin_on(BLOCK, 10);
    pg_schema_run(&schema, "ALTER TABLE level DISABLE TRIGGER USER");
    tell(shopper, "UPDATE level SET allocated = 1 WHERE variant = 7");
    ledger = (struct ledger){.available = 9};
    expect_wrong(on_read, "the count went from 10 to 9, and the writes that the trigger saw lead "
                          "to 10: some writes passed it by");
    ledger.available = 8;
    expect_wrong(on_read, "9 units are left by `left`, and 8 by [Stock]");
    expect_ok(on_drop);
}

static void test_half_a_unit_is_no_count(void **state) {
    begin_on(
        "[Witness]\ntable: level\nrows: variant = {{product}}\nleft: on_hand - allocated / 2.0\n",
        10);
    tell(shopper, "UPDATE level SET allocated = 1 WHERE variant = 7");
    tell(shopper, "UPDATE level SET allocated = 0 WHERE variant = 7");
    ledger = (struct ledger){.available = 10};
    expect_wrong(on_read, "`left` was no whole number at write 1: 10.0");
    expect_ok(on_drop);
}

/* ---- dropping */

static void test_the_witness_of_a_killed_run_is_dropped_by_the_next(void **state) {
    begin_on(BLOCK, 10);
    close_witness(); /* without a drop, as a kill does */
    assert_int_equal(schemas(), 1);
    tell(shopper, "UPDATE level SET allocated = allocated + 1 WHERE variant = 7");
    begin_on(BLOCK, 9);
    assert_int_equal(schemas(), 1);
    tell(shopper, "UPDATE level SET allocated = allocated + 1 WHERE variant = 7");
    read_with(8);
    assert_int_equal(ledger.write_count, 1);
    expect_ok(on_drop);
}

static void test_two_runs_do_not_disturb_each_other(void **state) {
    struct witness *first;

    begin_on(BLOCK, 10);
    first = witness;
    witness = NULL;
    begin_on(BLOCK, 10);
    assert_int_equal(schemas(), 2);
    tell(shopper, "UPDATE level SET allocated = allocated + 1 WHERE variant = 7");
    read_with(9);
    assert_int_equal(ledger.write_count, 1);
    expect_ok(on_drop);
    close_witness();
    witness = first;
    read_with(9);
    assert_int_equal(ledger.write_count, 1);
    expect_ok(on_drop);
}

static void test_a_drop_does_not_wait_forever(void **state) {
    begin_on(BLOCK, 10);
    tell(shopper, "BEGIN; UPDATE level SET allocated = 1 WHERE variant = 7");
    patience_ms = 300;
    assert_int_equal(call(on_drop), WITNESS_AWAY);
    assert_non_null(strstr(why.text, "stays in the database. As its owner, run: DROP FUNCTION "
                                     "loadgen_witness_"));
    tell(shopper, "UPDATE level SET allocated = 2 WHERE variant = 7; COMMIT");
    patience_ms = MS;
    expect_ok(on_drop);
    assert_int_equal(schemas(), 0);
}

static void on_timer(uv_timer_t *timer) {
    tell(shopper, "UPDATE level SET allocated = 2 WHERE variant = 7; COMMIT");
    uv_close((uv_handle_t *)timer, NULL);
}

static void test_a_drop_waits_for_a_transaction_of_the_shop(void **state) {
    uv_timer_t timer;

    begin_on(BLOCK, 10);
    tell(shopper, "BEGIN; UPDATE level SET allocated = 1 WHERE variant = 7");
    assert_int_equal(uv_timer_init(&loop, &timer), 0);
    assert_int_equal(uv_timer_start(&timer, on_timer, 100, 0), 0);
    patience_ms = PATIENCE_MS;
    expect_ok(on_drop);
    assert_int_equal(schemas(), 0);
}

static void test_a_database_that_is_away_is_told(void **state) {
    open_with("host=127.0.0.1 port=1", BLOCK);
    patience_ms = 300;
    left = 10;
    assert_int_equal(call(on_begin), WITNESS_AWAY);
    assert_non_null(strstr(why.text, "the witness: "));
    expect_ok(on_drop);
}

static void test_a_session_that_was_ended_is_opened_again(void **state) {
    begin_on(BLOCK, 10);
    pg_schema_run(&schema, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                           " WHERE application_name = 'loadgen' AND query LIKE '%%witness%%'");
    tell(shopper, "UPDATE level SET allocated = 1 WHERE variant = 7");
    read_with(9);
    assert_int_equal(ledger.write_count, 1);
    expect_ok(on_drop);
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(test_each_write_of_the_rows_is_seen),
        TEST(test_a_lost_update_is_seen),
        TEST(test_rows_may_come_and_go),
        TEST(test_a_shop_may_make_its_row_with_the_first_sale),
        TEST(test_a_value_never_becomes_sql),
        TEST(test_names_and_tables_of_all_kinds),
        TEST(test_sessions_that_replicate_are_seen),
        TEST(test_a_mistake_in_the_block_is_named),
        TEST(test_a_file_without_a_block_is_refused),
        TEST(test_a_role_without_rights_is_told_the_sql),
        TEST(test_an_expression_that_fails_fails_no_write_of_the_shop),
        TEST(test_a_write_that_passed_the_trigger_by_is_noticed),
        TEST(test_half_a_unit_is_no_count),
        TEST(test_the_witness_of_a_killed_run_is_dropped_by_the_next),
        TEST(test_two_runs_do_not_disturb_each_other),
        TEST(test_a_drop_does_not_wait_forever),
        TEST(test_a_drop_waits_for_a_transaction_of_the_shop),
        TEST(test_a_database_that_is_away_is_told),
        TEST(test_a_session_that_was_ended_is_opened_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
