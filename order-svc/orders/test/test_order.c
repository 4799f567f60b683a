/* Placing an order, with a scripted inventory and a real Postgres. */
#include "order.h"

#include "orders_database.h"

static struct order_svc svc;

/* A placement in a fiber of its own. */
struct buyer {
    struct placement placement;
    bool is_done;
};

static void buy(void *arg) {
    struct buyer *buyer = arg;

    svc.inventory = fixture.inventory;
    svc.pool = svc.groups.pool = fixture.pool;
    order_place(&svc, &buyer->placement);
    buyer->is_done = true;
}

/* `key` is the customer's. NULL: the service makes the order id. */
static void begin(struct buyer *buyer, const char *key) {
    *buyer = (struct buyer){.placement = {.is_key_given = key != NULL}};
    strcpy(buyer->placement.order.product_id, A_UUID);
    if (key != NULL)
        strcpy(buyer->placement.order.order_id, key);
    else
        uuid_v7(buyer->placement.order.order_id);
    assert_int_equal(fiber_start(buy, buyer), 0);
}

static void expect(const struct buyer *buyer, enum order_outcome outcome, int status,
                   const char *error) {
    WAIT_FOR(&fixture.loop, buyer->is_done);
    assert_string_equal(buyer->placement.error, error);
    assert_int_equal(buyer->placement.outcome, outcome);
    assert_int_equal(buyer->placement.status, status);
}

/* Place an order from beginning to end. The result lasts until the next. */
static const struct placement *place(const char *key, enum order_outcome outcome, int status,
                                     const char *error) {
    static struct buyer buyer;

    begin(&buyer, key);
    expect(&buyer, outcome, status, error);
    return &buyer.placement;
}

static const char *new_key(void) {
    static char key[UUID_TEXT];

    uuid_v7(key);
    return key;
}

static int set_up(void **state) {
    svc = (struct order_svc){.inventory_timeout_ms = 5000};
    order_register_metrics();
    order_groups_init(&svc.groups, &fixture.loop, NULL);
    return set_up_database(state);
}

static int tear_down(void **state) {
    order_groups_free(&svc.groups);
    return tear_down_database(state);
}

static void forbid_inserts(void) {
    run_sql("ALTER TABLE orders ADD CONSTRAINT none CHECK (false) NOT VALID");
}

static void test_an_order_is_reserved_and_recorded(void **state) {
    const struct placement *placed = place(NULL, ORDER_PLACED, 201, "placed");

    assert_int_equal(placed->order.unit, 7);
    assert_string_equal(ask("SELECT order_id FROM orders"), placed->order.order_id);
    assert_string_equal(
        ask("SELECT concat_ws(' ', unit, remaining, price, inventory_instance) FROM orders"),
        "7 6 9.90 inventory-9");
    assert_string_equal(fixture.peers[0].headers, ""); /* a fresh order is not a repeat */
    assert_int_equal(fixture.peers[0].cancelled, 0);
}

struct mapping {
    int status; /* of the inventory */
    const char *body;
    enum order_outcome outcome;
    int own_status;
    const char *error, *message;
};

static void expect_mapping(const struct mapping *mapping) {
    const struct placement *placed;

    fixture.peers[0].status = mapping->status;
    fixture.peers[0].body = mapping->body;
    placed = place(NULL, mapping->outcome, mapping->own_status, mapping->error);
    if (strstr(placed->message, mapping->message) == NULL)
        fail_msg("\"%s\" instead of \"%s\"", placed->message, mapping->message);
}

static void test_each_answer_of_the_inventory_has_its_outcome(void **state) {
    static const struct mapping mappings[] = {
#define LONG       "12345678901234567890123456789012345678901234567890123456789012345" /* a name */
#define SAYS(code) "{\"error\":\"" code "\",\"message\":\"its reason\"}"
        {409, SAYS("sold_out"), ORDER_SOLD_OUT, 409, "sold_out", "its reason"},
        {503, SAYS("busy"), ORDER_BUSY, 503, "busy", "its reason"},
        {503, SAYS("too_many_connections"), ORDER_BUSY, 503, "too_many_connections", "its reason"},
        {400, SAYS("bad_request"), ORDER_REFUSED, 400, "bad_request", "its reason"},
        {404, SAYS("unknown_product"), ORDER_REFUSED, 404, "unknown_product", "its reason"},
        {422, SAYS("bad_strategy"), ORDER_REFUSED, 422, "bad_strategy", "its reason"},
        {500, SAYS("failed"), ORDER_FAILED, 500, "failed", "its reason"},
        {504, SAYS("unknown"), ORDER_UNKNOWN, 504, "unknown", "ask again with Idempotency-Key: "},
        /* An answer that says neither yes nor no may hide a sale. */
        {500, SAYS("out_of_memory"), ORDER_UNKNOWN, 504, "unknown", "may have been sold"},
        {502, "<html>", ORDER_UNKNOWN, 504, "unknown", "may have been sold"},
        {302, "{}", ORDER_UNKNOWN, 504, "unknown", "may have been sold"},
        {201, "{}", ORDER_UNKNOWN, 504, "unknown", "may have been sold"},
        {201, "{\"unit\":\"7\",\"remaining\":6,\"price\":\"1\"}", ORDER_UNKNOWN, 504, "unknown",
         ""},
        {0, NULL, ORDER_UNKNOWN, 504, "unknown", "may have been sold"},
#define TELLS(status, fields) {status, "{" fields "}", ORDER_UNKNOWN, 504, "unknown", "may have"}
    /* So may one without a valid unit, or with another order's. */
#define FROM ",\"instance\":\"inventory-9\""
        TELLS(201, "\"unit\":0,\"remaining\":6,\"price\":\"1\"" FROM),
        TELLS(200, "\"unit\":0,\"remaining\":6,\"price\":\"1\"" FROM),
        TELLS(201, "\"unit\":1000000001,\"remaining\":6,\"price\":\"1\"" FROM),
        TELLS(201, "\"unit\":7,\"remaining\":-1,\"price\":\"1\"" FROM),
        TELLS(201, "\"unit\":7,\"remaining\":6,\"price\":\"1.234\"" FROM),
        TELLS(201, "\"unit\":7,\"remaining\":6,\"price\":\"NaN\"" FROM),
        TELLS(201, "\"unit\":7,\"remaining\":6,\"price\":\"12345678901\"" FROM),
        TELLS(201, "\"unit\":7,\"remaining\":6,\"price\":\"1\""),
        TELLS(201, "\"unit\":7,\"remaining\":6,\"price\":\"1\",\"instance\":\"" LONG "\""),
        TELLS(201, "\"order_id\":\"" A_UUID "\",\"unit\":7,\"remaining\":6,\"price\":\"1\"" FROM),
        TELLS(201, "\"product_id\":\"-\",\"unit\":7,\"remaining\":6,\"price\":\"1\"" FROM),
        /* So may a refusal in other words than inventory-svc's. */
        {503, "<html>", ORDER_UNKNOWN, 504, "unknown", "may have been sold"},
        {503, SAYS("sold_out"), ORDER_UNKNOWN, 504, "unknown", "may have been sold"},
#undef SAYS
    };

    for (size_t i = 0; i < sizeof mappings / sizeof mappings[0]; i++)
        expect_mapping(&mappings[i]);
    assert_int_equal(count_orders(), 0);
    assert_int_equal(fixture.peers[0].cancelled, 0);
}

static void test_without_any_inventory_it_is_busy(void **state) {
    peer_close(&fixture.peers[0]);
    place(NULL, ORDER_BUSY, 503, "busy");
}

static void test_a_late_inventory_is_unknown(void **state) {
    svc.inventory_timeout_ms = 700;
    fixture.peers[0].is_holding = true;
    place(NULL, ORDER_UNKNOWN, 504, "unknown");
    assert_int_equal(fixture.peers[0].cancelled, 0);
}

static void test_a_repeat_gets_the_first_answer_and_asks_for_no_unit(void **state) {
    const struct placement *placed;
    const char *key = new_key();

    place(key, ORDER_PLACED, 201, "placed");
    assert_string_equal(fixture.peers[0].headers, key);
    placed = place(key, ORDER_REPEATED, 201, "repeated");
    assert_int_equal(placed->order.unit, 7);
    assert_int_equal(placed->order.remaining, 6);
    assert_string_equal(placed->order.price, "9.90");
    assert_string_equal(placed->order.instance, "inventory-9");
    assert_int_equal(fixture.peers[0].calls, 1);
}

static void test_a_repeat_without_its_order_gets_it_recorded(void **state) {
    const char *key = new_key();

    fixture.peers[0].status = 200; /* this order has its unit */
    place(key, ORDER_PLACED, 201, "placed");
    assert_int_equal(count_orders(), 1);
}

static void test_a_key_of_another_product_is_refused(void **state) {
    const struct placement *placed;
    const char *key = new_key();

    run_sql("INSERT INTO orders VALUES ('%s', '%s', 1, 0, 1, 'i')", key, key);
    placed = place(key, ORDER_REFUSED, 422, "key_reused");
    assert_non_null(strstr(placed->message, key)); /* the product of its first use */
    assert_int_equal(fixture.peers[0].calls, 0);
}

/* Settling is faster than the answer of the inventory. */
static void record_meanwhile(struct buyer *buyer) {
    fixture.peers[0].is_holding = true;
    begin(buyer, NULL);
    WAIT_FOR(&fixture.loop, fixture.peers[0].holding > 0);
    run_sql("INSERT INTO orders VALUES ('%s', '" A_UUID "', 7, 6, 9.90, 'inventory-9')",
            buyer->placement.order.order_id);
}

static void test_an_order_that_was_settled_meanwhile_is_answered(void **state) {
    struct buyer buyer;

    record_meanwhile(&buyer);
    peer_let_go(&fixture.peers[0]);
    expect(&buyer, ORDER_REPEATED, 201, "repeated");
    assert_int_equal(buyer.placement.order.unit, 7);
    assert_int_equal(count_orders(), 1);
}

/* Its insert finds the order there. After that nothing can be read any more. */
static void test_an_order_that_is_there_is_never_denied(void **state) {
    struct buyer buyer;

    run_sql("CREATE TABLE bait ();"
            "CREATE FUNCTION hide() RETURNS trigger LANGUAGE plpgsql AS "
            "$$ BEGIN ALTER TABLE orders RENAME TO hidden; RETURN NULL; END $$;"
            "CREATE CONSTRAINT TRIGGER hide AFTER INSERT ON bait DEFERRABLE INITIALLY DEFERRED "
            "FOR EACH ROW EXECUTE FUNCTION hide();"
            "CREATE FUNCTION blind() RETURNS trigger LANGUAGE plpgsql AS "
            "$$ BEGIN INSERT INTO bait DEFAULT VALUES; RETURN NULL; END $$");
    record_meanwhile(&buyer);
    run_sql("CREATE TRIGGER blind BEFORE INSERT ON orders FOR EACH ROW EXECUTE FUNCTION blind()");
    peer_let_go(&fixture.peers[0]);
    expect(&buyer, ORDER_UNKNOWN, 504, "unknown");
    assert_int_equal(fixture.peers[0].cancelled, 0);
}

static void test_a_unit_without_its_order_is_given_back(void **state) {
    const struct placement *placed;

    forbid_inserts();
    placed = place(NULL, ORDER_BUSY, 503, "busy");
    assert_non_null(strstr(placed->message, "given back"));
    assert_int_equal(fixture.peers[0].cancelled, 1);
    assert_int_equal(fixture.peers[0].strangers, 0);
}

static void test_records_fail_on_purpose_as_often_as_is_wanted(void **state) {
    struct buyer buyer;

    svc.fail_record = 1;
    begin(&buyer, NULL);
    expect(&buyer, ORDER_BUSY, 503, "busy");
    assert_int_equal(fixture.peers[0].cancelled, 1);
    svc.fail_record = 0.5;
    for (int i = 0; i < 100; i++) {
        begin(&buyer, NULL);
        WAIT_FOR(&fixture.loop, buyer.is_done);
    }
    assert_int_equal(count_orders(), 50);
    assert_int_equal(count_orders() + (int)fixture.peers[0].cancelled, 101);
}

/* A repeat may be recording the order at this moment. */
static void test_a_unit_under_the_customers_key_is_not_given_back(void **state) {
    struct buyer slow, repeat;
    const char *key = new_key();

    forbid_inserts();
    begin(&slow, key);
    WAIT_FOR(&fixture.loop, slow.is_done);
    run_sql("ALTER TABLE orders DROP CONSTRAINT none");
    begin(&repeat, key);
    fixture.peers[0].status = 200;
    expect(&repeat, ORDER_PLACED, 201, "placed");
    expect(&slow, ORDER_UNKNOWN, 504, "unknown");
    assert_int_equal(fixture.peers[0].cancelled, 0);
}

static void test_a_unit_that_an_earlier_call_took_is_not_given_back(void **state) {
    forbid_inserts();
    fixture.peers[0].status = 200;
    place(NULL, ORDER_UNKNOWN, 504, "unknown");
    assert_int_equal(fixture.peers[0].cancelled, 0);
}

static void test_a_unit_that_may_not_have_come_back_is_unknown(void **state) {
    static const int answers[] = {404, 500, 504};

    forbid_inserts();
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
        fixture.peers[0].cancel_status = answers[i];
        place(NULL, ORDER_UNKNOWN, 504, "unknown");
        assert_int_equal(fixture.peers[0].cancelled, i + 1);
    }
}

/* The insert waits for a lock beyond its deadline: it may still take effect. */
static void test_an_insert_without_an_answer_is_unknown_and_not_undone(void **state) {
    close_pool();
    open_pool(1, 10);
    place(NULL, ORDER_PLACED, 201, "placed"); /* the statement is prepared */
    run_sql("BEGIN; LOCK TABLE orders");
    place(NULL, ORDER_UNKNOWN, 504, "unknown");
    run_sql("ROLLBACK");
    assert_int_equal(fixture.peers[0].cancelled, 0);
}

static void look_at_orders(void *is_done) {
    struct pg_query query = {.sql = "SELECT count(*) FROM orders",
                             .deadline_ms = clock_now_ms() + PATIENCE_MS};

    assert_int_equal(pg_query_await(fixture.pool, &query), PG_OK);
    pg_query_clear(&query);
    *(bool *)is_done = true;
}

/* There is a query on the only connection, and one in the queue: the insert is not sent. */
static void test_an_insert_that_was_not_sent_is_undone(void **state) {
    struct pg_pool_stats stats;
    bool are_done[2] = {false};

    close_pool();
    open_pool(1, 1);
    run_sql("BEGIN; LOCK TABLE orders");
    assert_int_equal(fiber_start(look_at_orders, &are_done[0]), 0);
    WAIT_FOR(&fixture.loop, (pg_pool_stats(fixture.pool, &stats), stats.idle == 0));
    assert_int_equal(fiber_start(look_at_orders, &are_done[1]), 0);
    place(NULL, ORDER_BUSY, 503, "busy");
    run_sql("ROLLBACK");
    WAIT_FOR(&fixture.loop, are_done[0] && are_done[1]);
    assert_int_equal(count_orders(), 0);
    assert_int_equal(fixture.peers[0].cancelled, 1);
}

static void test_a_keyed_order_waits_for_the_database_before_it_takes_a_unit(void **state) {
    const char *key = new_key();

    run_sql("BEGIN; LOCK TABLE orders");
    place(key, ORDER_BUSY, 503, "busy");
    run_sql("ROLLBACK");
    assert_int_equal(fixture.peers[0].calls, 0);
}

static void test_no_unit_is_taken_while_the_database_is_down(void **state) {
    struct pg_pool_options options = {.conninfo = "host=127.0.0.1 port=1"};

    close_pool();
    assert_int_equal(pg_pool_open(&fixture.pool, &fixture.loop, &options), 0);
    fixture.open++;
    place(NULL, ORDER_BUSY, 503, "busy");
    assert_int_equal(fixture.peers[0].calls, 0);
}

/* An order that was recorded, or a unit that was kept, never gets a no. */
static void place_without_memory(void *arg) {
    const char *key = arg;
    struct buyer buyer = {.placement = {.is_key_given = key != NULL}};
    unsigned kept = fixture.peers[0].reserved - fixture.peers[0].cancelled;
    int orders = count_orders();

    strcpy(buyer.placement.order.product_id, A_UUID);
    uuid_v7(buyer.placement.order.order_id);
    if (fiber_start(buy, &buyer) != 0)
        return;
    WAIT_FOR(&fixture.loop, buyer.is_done);
    kept = fixture.peers[0].reserved - fixture.peers[0].cancelled - kept;
    orders = count_orders() - orders;
    if (buyer.placement.outcome == ORDER_PLACED)
        assert_true(kept == 1 && orders == 1);
    else if (buyer.placement.outcome != ORDER_UNKNOWN)
        assert_true(kept == 0 && orders == 0);
}

static void test_memory_may_fail_at_every_allocation(void **state) {
    static char is_keyed[] = "yes";

    fail_each_allocation(place_without_memory, NULL);
    fail_each_allocation(place_without_memory, is_keyed);
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(test_an_order_is_reserved_and_recorded),
        TEST(test_each_answer_of_the_inventory_has_its_outcome),
        TEST(test_without_any_inventory_it_is_busy),
        TEST(test_a_late_inventory_is_unknown),
        TEST(test_a_repeat_gets_the_first_answer_and_asks_for_no_unit),
        TEST(test_a_repeat_without_its_order_gets_it_recorded),
        TEST(test_a_key_of_another_product_is_refused),
        TEST(test_an_order_that_was_settled_meanwhile_is_answered),
        TEST(test_an_order_that_is_there_is_never_denied),
        TEST(test_a_unit_without_its_order_is_given_back),
        TEST(test_records_fail_on_purpose_as_often_as_is_wanted),
        TEST(test_a_unit_under_the_customers_key_is_not_given_back),
        TEST(test_a_unit_that_an_earlier_call_took_is_not_given_back),
        TEST(test_a_unit_that_may_not_have_come_back_is_unknown),
        TEST(test_an_insert_without_an_answer_is_unknown_and_not_undone),
        TEST(test_an_insert_that_was_not_sent_is_undone),
        TEST(test_no_unit_is_taken_while_the_database_is_down),
        TEST(test_a_keyed_order_waits_for_the_database_before_it_takes_a_unit),
        TEST(test_memory_may_fail_at_every_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
