/* Crowds of customers: their records, their ids, `prepare`, stops and memory. */
#include "crowd_fixture.h"
#include "test.h"
#include "wait.h"

#include <malloc.h>

#define LONG_ID    "0123456789012345678901234567890123456789012345678901234567890123456789"
#define MOST_BYTES 20000 /* of a prepared customer */

static void test_each_customer_orders_once_and_is_recorded(void **state) {
    const struct crowd_step *steps;
    char base[32];
    size_t count;

    sale_run(100, 2000,
             "== prepare ==\n" SALE_GET("/few") "== order ==\n" SALE_GET("/said") SALE_MARK
             "POST /order\n{\"key\": \"{{key}}\"}\nHTTP 200\n" SALE_CAPTURE SALE_OUTCOME);
    sale_expect_all(RECORD_SOLD);
    assert_int_equal(sale.asked, 100);
    assert_int_equal(crowd_counts(sale.crowd)->prepared, 100);
    assert_int_equal(sale.most_at_once, 8);
    (void)snprintf(base, sizeof base, "127.0.0.1:%d", sale.port);
    for (size_t i = 0; i < 100; i++) {
        const struct record *record = &sale.recorder->records[i];

        assert_int_equal(record->number, i);
        assert_int_equal(record->planned_ns, sale.plan.arrivals[i].due_ns);
        assert_true(record->sent_ns >= record->planned_ns);
        assert_true(record->received_ns > record->sent_ns);
        assert_int_equal(record->status, 200);
        assert_int_equal(record_order_id(record)[0], 'o');
        assert_string_equal(sale.recorder->instances[record->instance], base);
        assert_true(i == 0 || strcmp(record_key(record), record_key(&record[-1])) != 0);
    }
    steps = crowd_steps(sale.crowd, &count);
    assert_int_equal(count, 2);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(steps[i].sent, 100);
        assert_int_equal(steps[i].no_reply, 0);
        assert_int_equal(steps[i].time->count, 100);
        assert_ptr_equal(steps[i].step, &sale.shop.sections[SHOP_ORDER].items[i]);
    }
    assert_int_equal(crowd_counts(sale.crowd)->unmatched, 0);
    assert_int_equal(crowd_counts(sale.crowd)->sold_without_id, 0);
    sale_close();
}

/* ---- replies that no rule matches, and ids */

static void test_the_first_unmatched_reply_is_kept_and_shows_no_secret(void **state) {
    const struct crowd_reply *first;

    assert_int_equal(setenv("TEST_CROWD_TOKEN", "token-12\"3", 1), 0);
    sale_run(10, 1000,
             "env TEST_CROWD_TOKEN\n== order ==\nPOST /bad\nAuthorization: {{TEST_CROWD_TOKEN}}\n"
             "HTTP 200\n" SALE_OUTCOME);
    sale_expect_all(RECORD_UNKNOWN);
    first = &crowd_counts(sale.crowd)->first_unmatched;
    assert_int_equal(crowd_counts(sale.crowd)->unmatched, 10);
    assert_ptr_equal(first->step, &sale.shop.sections[SHOP_ORDER].items[0]);
    assert_int_equal(first->status, 500);
    assert_string_equal(first->why.text, "line 5: the reply has status 500, and not 200");
    assert_string_equal(first->text, "<html>?[31m?  <h1>***</h1>????");
    sale_close();
}

static void test_a_long_reply_is_kept_cut(void **state) {
    const struct crowd_reply *first;

    sale_run(1, 1000,
             "== order ==\n" SALE_GET("/large?size=8192") "== outcome ==\nsold status == 1\n");
    first = &crowd_counts(sale.crowd)->first_unmatched;
    assert_int_equal(strlen(first->text), CROWD_REPLY_BYTES - 1);
    assert_string_equal(first->why.text, "no rule of the outcome holds for the last reply");
    sale_close();
}

static void expect_id(const char *steps, const char *id, size_t without) {
    char sections[2048];

    (void)snprintf(sections, sizeof sections, "== order ==\n%s" SALE_OUTCOME, steps);
    sale_run(1, 1000, sections);
    assert_string_equal(record_order_id(&sale.recorder->records[0]), id);
    assert_int_equal(crowd_counts(sale.crowd)->sold_without_id, without);
    sale_close();
}

static void test_an_order_has_the_id_that_was_captured(void **state) {
    expect_id(
        "GET /said?reply={\"id\":\"a-1\"}\nHTTP *\n" SALE_CAPTURE SALE_GET("/said?status=400"),
        "a-1", 0);
    expect_id("GET /said?reply={\"id\":\"a-1\"}\nHTTP *\n" SALE_CAPTURE SALE_GET("/drop"), "a-1",
              0);
    expect_id(SALE_POST("/order"), "", 1);
    expect_id(SALE_GET("/said?status=429"), "", 0);
    expect_id("GET /said?reply={\"state\":\"paid\",\"id\":\"a\\\\n\"}\nHTTP *\n" SALE_CAPTURE, "",
              1);
    expect_id("GET /said?reply={\"state\":\"paid\",\"id\":\"" LONG_ID "\"}\nHTTP *\n" SALE_CAPTURE,
              LONG_ID, 0);
    expect_id("GET /said?reply={\"state\":\"paid\",\"id\":\"" LONG_ID LONG_ID
              "\"}\nHTTP *\n" SALE_CAPTURE,
              "", 1);
}

static void test_customers_go_to_the_bases_in_turn(void **state) {
    char sections[1024], name[32];

    (void)snprintf(sections, sizeof sections,
                   "base http://user:word@127.0.0.1:%d\n== order ==\n" SALE_POST("/order")
                       SALE_OUTCOME,
                   http_server_port(sale.other));
    sale_run(4, 1000, sections);
    sale_expect_all(RECORD_SOLD);
    for (size_t i = 0; i < 4; i++) {
        (void)snprintf(name, sizeof name, "127.0.0.1:%d",
                       i % 2 == 0 ? sale.port : http_server_port(sale.other));
        assert_string_equal(sale.recorder->instances[sale.recorder->records[i].instance], name);
    }
    sale_close();
}

/* ---- prepare */

static void test_a_customer_whose_prepare_failed_is_unsent(void **state) {
    sale_run(9, 1000,
             "== prepare ==\nGET /third\nHTTP 200\n== order ==\n" SALE_POST("/order")
                 SALE_CAPTURE SALE_OUTCOME);
    assert_int_equal(sale.prepared, 0);
    assert_int_equal(crowd_counts(sale.crowd)->prepared, 6);
    assert_int_equal(crowd_counts(sale.crowd)->failed, 3);
    assert_string_equal(crowd_counts(sale.crowd)->why_failed.text,
                        "line 4: the reply has status 500, and not 200");
    assert_int_equal(sale.recorder->by_outcome[RECORD_SOLD], 6);
    assert_int_equal(sale.recorder->by_outcome[RECORD_UNSENT], 3);
    assert_int_equal(sale.asked, 6);
    sale_close();
}

static void test_a_prepare_that_always_fails_ends_soon(void **state) {
    sale_run(1000, 1000,
             "== prepare ==\nGET /few\nHTTP 201\n== order ==\n" SALE_POST("/order") SALE_OUTCOME);
    assert_int_equal(sale.prepared, -1);
    assert_string_equal(sale.why.text,
                        "no customer could be prepared: line 4: the reply has status 200, "
                        "and not 201");
    assert_in_range(crowd_counts(sale.crowd)->failed, 24, 32);
    assert_int_equal(sale.recorder->count, 0);
    sale_close();
}

static void test_a_stop_in_prepare_breaks_it_off(void **state) {
    const struct crowd_options options = {.lanes = 3};

    sale_open(100, 1000,
              "== prepare ==\n" SALE_GET("/silent") "== order ==\n" SALE_POST("/order")
                  SALE_OUTCOME,
              &options);
    sale_start();
    WAIT_FOR(&sale.loop, sale.waiting == 3);
    crowd_stop(sale.crowd, PATIENCE_MS);
    WAIT_FOR(&sale.loop, sale.is_over);
    assert_int_equal(sale.prepared, -1);
    assert_string_equal(sale.why.text, "interrupted");
    assert_int_equal(sale.waiting, 3);
    assert_int_equal(crowd_counts(sale.crowd)->failed, 0);
    assert_int_equal(crowd_send(sale.crowd), 0); /* sends nothing */
    assert_int_equal(sale.recorder->count, 0);
    sale_close();
    fiber_event_set(&sale.gate);
}

/* ---- stops and limits in `order` */

static void test_a_stop_lets_replies_come_within_its_grace(void **state) {
    const struct crowd_options options = {0};

    sale_open(10000, 1000,
              "== order ==\n" SALE_GET("/silent") SALE_POST("/order") SALE_CAPTURE SALE_OUTCOME,
              &options);
    sale_start();
    WAIT_FOR(&sale.loop, sale.waiting >= 5);
    crowd_stop(sale.crowd, PATIENCE_MS);
    crowd_stop(sale.crowd, 0);
    fiber_event_set(&sale.gate);
    WAIT_FOR(&sale.loop, sale.is_over);
    assert_int_equal(sale.recorder->ended, sale.recorder->count);
    assert_true(sale.recorder->count < 10000);
    assert_int_equal(sale.recorder->by_outcome[RECORD_SOLD] +
                         sale.recorder->by_outcome[RECORD_UNSENT],
                     sale.recorder->count);
    assert_int_equal(sale.recorder->by_outcome[RECORD_SOLD], sale.asked);
    sale_close();
}

static void test_a_stop_gives_up_the_last_replies(void **state) {
    const struct crowd_options options = {0};

    sale_open(10000, 1000,
              "== order ==\n" SALE_GET("/said") SALE_MARK SALE_GET("/silent") SALE_POST("/order")
                  SALE_OUTCOME,
              &options);
    sale_start();
    WAIT_FOR(&sale.loop, sale.waiting >= 5);
    crowd_stop(sale.crowd, 0);
    WAIT_FOR(&sale.loop, sale.is_over);
    assert_int_equal(sale.recorder->ended, sale.recorder->count);
    assert_true(sale.recorder->by_outcome[RECORD_UNKNOWN] >= 5);
    assert_int_equal(sale.recorder->by_outcome[RECORD_SOLD], 0);
    assert_int_equal(crowd_counts(sale.crowd)->on_way, 0);
    sale_close();
    fiber_event_set(&sale.gate);
}

static void stop_at_start(void *data) {
    crowd_stop(sale.crowd, 0);
}

static void test_a_stop_before_the_first_moment_sends_nothing(void **state) {
    const struct crowd_options options = {.on_start = stop_at_start};

    sale_open(10, 1000, "== order ==\n" SALE_POST("/order") SALE_OUTCOME, &options);
    sale_start();
    WAIT_FOR(&sale.loop, sale.is_over);
    assert_int_equal(sale.sent, 0);
    assert_int_equal(sale.recorder->count, 0);
    sale_close();
}

/* ---- memory */

/* A customer keeps its cookies and values, but no stack and no buffer of a connection. 10,000
 * customers fit in 500 MB. The sanitizers' malloc tells nothing. */
static void go_prepare(void *arg) {
    sale.is_over = false;
    sale.prepared = crowd_prepare(sale.crowd, &sale.why);
    sale.is_over = true;
}

static void test_a_prepared_customer_needs_little_memory(void **state) {
    const struct crowd_options options = {0};
    size_t before;

    sale_open(1000, 1000,
              "== prepare ==\nPOST /cookie\n{}\nHTTP 200\n[Captures]\ncart: jsonpath \"$.cart\"\n"
              "== order ==\n" SALE_POST("/order") SALE_CAPTURE SALE_OUTCOME,
              &options);
    before = mallinfo2().uordblks;
    assert_int_equal(fiber_start(go_prepare, NULL), 0);
    WAIT_FOR(&sale.loop, sale.is_over);
    assert_int_equal(crowd_counts(sale.crowd)->prepared, 1000);
    assert_true((mallinfo2().uordblks - before) / 1000 < MOST_BYTES);
    sale_close();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        SALE(test_each_customer_orders_once_and_is_recorded),
        SALE(test_the_first_unmatched_reply_is_kept_and_shows_no_secret),
        SALE(test_a_long_reply_is_kept_cut),
        SALE(test_an_order_has_the_id_that_was_captured),
        SALE(test_customers_go_to_the_bases_in_turn),
        SALE(test_a_customer_whose_prepare_failed_is_unsent),
        SALE(test_a_prepare_that_always_fails_ends_soon),
        SALE(test_a_stop_in_prepare_breaks_it_off),
        SALE(test_a_stop_lets_replies_come_within_its_grace),
        SALE(test_a_stop_gives_up_the_last_replies),
        SALE(test_a_stop_before_the_first_moment_sends_nothing),
        SALE(test_a_prepared_customer_needs_little_memory),
    };

    return cmocka_run_group_tests_name("crowd", tests, NULL, NULL);
}
