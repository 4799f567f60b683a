/* The choice of an instance for a call: in turn, skipping instances that are down, and never twice.
 */
#include "order_fixture.h"

#include <arpa/inet.h>
#include <sys/socket.h>

#define MANY 20

/* One call in a fiber of its own. */
struct caller {
    struct inventory_answer answer;
    int64_t timeout_ms;
    bool is_done;
};

static void call(void *arg) {
    struct caller *caller = arg;

    inventory_call(fixture.inventory, "POST", "/products/x/reservations", NULL,
                   "{\"order_id\":\"x\"}", clock_now_ms() + caller->timeout_ms, &caller->answer);
    json_decref(caller->answer.body);
    caller->is_done = true;
}

static void begin(struct caller *caller, int64_t timeout_ms) {
    *caller = (struct caller){.timeout_ms = timeout_ms};
    assert_int_equal(fiber_start(call, caller), 0);
}

static enum http_call_outcome call_once(struct caller *caller) {
    begin(caller, PATIENCE_MS);
    WAIT_FOR(&fixture.loop, caller->is_done);
    return caller->answer.outcome;
}

static void expect_answered(int times) {
    struct caller caller;

    for (int i = 0; i < times; i++) {
        assert_int_equal(call_once(&caller), HTTP_CALL_ANSWERED);
        assert_int_equal(caller.answer.status, 201);
    }
}

/* A socket on the port. While it does not listen, connections are refused. When it listens, they
 * are made, and nobody answers. */
static int take_port(int port) {
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), one = 1;

    assert_true(fd >= 0);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one), 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    return fd;
}

static void test_calls_are_spread_over_all_instances(void **state) {
    open_inventory(3);
    expect_answered(12);
    for (int i = 0; i < 3; i++)
        assert_int_equal(fixture.peers[i].calls, 4);
}

static void test_an_answer_is_handed_over_as_it_came(void **state) {
    struct caller caller;

    open_inventory(1);
    fixture.peers[0].status = 409;
    fixture.peers[0].body = "{\"error\":\"sold_out\"}";
    assert_int_equal(call_once(&caller), HTTP_CALL_ANSWERED);
    assert_int_equal(caller.answer.status, 409);
    assert_string_equal(caller.answer.message, "");
}

static void test_an_instance_that_is_down_is_skipped_and_that_is_said_once(void **state) {
    open_inventory(2);
    peer_close(&fixture.peers[0]);
    catch_log();
    expect_answered(MANY);
    assert_int_equal(fixture.peers[1].calls, MANY);
    assert_int_equal(said("inventory instance is down"), 1);
    assert_true(inventory_is_up(fixture.inventory));
}

static void test_an_instance_that_is_back_is_used_again(void **state) {
    int port = fixture.peers[0].port;

    open_inventory(2);
    peer_close(&fixture.peers[0]);
    catch_log();
    expect_answered(2);
    peer_open(&fixture.peers[0], port);
    WAIT_FOR(&fixture.loop, (expect_answered(1), fixture.peers[0].calls > 0));
    assert_int_equal(said("inventory instance is back"), 1);
}

/* The port listens again, but nobody answers: at most one call a second goes there. */
static void test_an_instance_is_tried_again_by_one_call_at_a_time(void **state) {
    struct caller callers[MANY];
    int fd = -1, port = fixture.peers[0].port, tries = 0;
    int64_t begun_ms;

    open_inventory(2);
    peer_close(&fixture.peers[0]);
    expect_answered(2); /* now it is known to be down */
    fd = take_port(port);
    assert_int_equal(listen(fd, 128), 0);
    begun_ms = clock_now_ms();
    while (tries == 0 || clock_now_ms() < begun_ms + 200) { /* longer than the first pause */
        for (int i = 0; i < MANY; i++)
            begin(&callers[i], 20);
        for (int i = 0; i < MANY; i++)
            WAIT_FOR(&fixture.loop, callers[i].is_done);
        for (int peer; (peer = accept(fd, NULL, NULL)) >= 0; tries++)
            (void)close(peer);
    }
    assert_in_range(tries, 1, 1 + (clock_now_ms() - begun_ms) / 1000);
    (void)close(fd);
}

static void test_with_all_down_nothing_is_sent(void **state) {
    struct caller caller;

    open_inventory(2);
    peer_close(&fixture.peers[0]);
    peer_close(&fixture.peers[1]);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(call_once(&caller), HTTP_CALL_NOT_SENT);
        assert_string_equal(caller.answer.message, "connection refused");
    }
    assert_false(inventory_is_up(fixture.inventory));
}

static void update(int first, int count) {
    char urls[URLS_BYTES];

    peer_urls(first, count, urls);
    inventory_update(fixture.inventory, urls);
}

static void test_an_instance_that_is_new_gets_calls_and_one_that_is_gone_none(void **state) {
    open_inventory(1);
    expect_answered(2);
    update(1, 2);
    expect_answered(4);
    assert_int_equal(fixture.peers[0].calls, 2);
    assert_int_equal(fixture.peers[1].calls, 2);
    assert_int_equal(fixture.peers[2].calls, 2);
    update(0, 1);
    expect_answered(2);
    assert_int_equal(fixture.peers[0].calls, 4);
}

static void test_a_call_under_way_outlasts_its_instance(void **state) {
    struct caller caller;

    open_inventory(1);
    fixture.peers[0].is_holding = true;
    begin(&caller, PATIENCE_MS);
    WAIT_FOR(&fixture.loop, fixture.peers[0].holding == 1);
    update(1, 2);
    expect_answered(2);
    peer_let_go(&fixture.peers[0]);
    WAIT_FOR(&fixture.loop, caller.is_done);
    assert_int_equal(caller.answer.outcome, HTTP_CALL_ANSWERED);
}

/* More instances than there is room for. */
static void test_instances_may_come_and_go_for_ever(void **state) {
    char url[32];

    open_inventory(1);
    for (int port = 1; port <= 200; port++) {
        (void)snprintf(url, sizeof url, "http://127.0.0.1:%d", port);
        inventory_update(fixture.inventory, url);
    }
    update(1, 1);
    expect_answered(2);
    assert_int_equal(fixture.peers[1].calls, 2);
}

static void test_what_was_sent_and_not_answered_goes_to_no_other(void **state) {
    struct caller caller;

    open_inventory(2);
    fixture.peers[0].status = fixture.peers[1].status = 0; /* cut the connection */
    assert_int_equal(call_once(&caller), HTTP_CALL_UNKNOWN);
    assert_true(caller.answer.message[0] != '\0');
    assert_int_equal(fixture.peers[0].calls + fixture.peers[1].calls, 1);
}

static void test_a_call_that_is_late_goes_to_no_other(void **state) {
    struct caller caller;

    open_inventory(2);
    fixture.peers[0].is_holding = fixture.peers[1].is_holding = true;
    begin(&caller, 700);
    WAIT_FOR(&fixture.loop, caller.is_done);
    assert_int_equal(caller.answer.outcome, HTTP_CALL_UNKNOWN);
    assert_true(fixture.peers[0].calls + fixture.peers[1].calls <= 1);
}

static void test_an_answer_that_is_no_json_has_no_body(void **state) {
    struct caller caller;

    open_inventory(1);
    fixture.peers[0].body = "{\"unit\":";
    assert_int_equal(call_once(&caller), HTTP_CALL_ANSWERED);
    assert_null(caller.answer.body);
    assert_string_equal(inventory_text(&caller.answer, "price"), "");
}

/* Parsing it would overflow the fiber's stack. */
static void test_an_answer_that_is_nested_deeply_has_no_body(void **state) {
    struct caller caller;
    char deep[4001];

    memset(deep, '[', 2000);
    memset(deep + 2000, ']', 2000);
    deep[4000] = '\0';
    open_inventory(1);
    fixture.peers[0].body = deep;
    assert_int_equal(call_once(&caller), HTTP_CALL_ANSWERED);
    assert_null(caller.answer.body);
}

static void test_a_bad_url_is_refused_with_a_reason(void **state) {
    static const char *const bad[] = {"",
                                      ",",
                                      "http://127.0.0.1:1,,http://127.0.0.1:2",
                                      "127.0.0.1:8001",
                                      "https://127.0.0.1:8001",
                                      "http://127.0.0.1:0",
                                      "http://127.0.0.1:65536",
                                      "http://127.0.0.1:8001/path",
                                      "http://",
                                      "http://127.0.0.1:1,ftp://127.0.0.1"};
    char many[65 * 20] = "http://127.0.0.1:1";

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        fixture.why.text[0] = '\0';
        assert_int_equal(open_inventory_at(bad[i], ""), UV_EINVAL);
        assert_non_null(strstr(fixture.why.text, "URL"));
    }
    for (int i = 1; i < 65; i++)
        strcat(many, ",http://127.0.0.1:1");
    assert_int_equal(open_inventory_at(many, ""), UV_EINVAL);
    assert_non_null(strstr(fixture.why.text, "64"));
}

static char many_characters[202];

static void test_a_secret_that_fits_in_no_header_is_told(void **state) {
    static const char *const bad[] = {"a b", "a\r\nX: y", "\xc3\xa4", many_characters};

    memset(many_characters, 'x', sizeof many_characters - 1);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(open_inventory_at("http://127.0.0.1:1", bad[i]), UV_EINVAL);
        assert_non_null(strstr(fixture.why.text, "secret"));
    }
}

static void test_a_close_ends_the_calls_under_way(void **state) {
    struct caller callers[MANY];

    open_inventory(3);
    for (int i = 0; i < PEERS; i++)
        fixture.peers[i].is_holding = true;
    for (int i = 0; i < MANY; i++)
        begin(&callers[i], PATIENCE_MS);
    WAIT_FOR(&fixture.loop, fixture.peers[0].holding > 0); /* others are still connecting */
    close_inventory();
    for (int i = 0; i < MANY; i++) {
        assert_true(callers[i].is_done);
        assert_int_not_equal(callers[i].answer.outcome, HTTP_CALL_ANSWERED);
    }
}

static struct caller late;

/* In this phase of the loop the instances without a call are gone before the call ends. */
static void on_check(uv_check_t *check) {
    struct inventory *inventory = fixture.inventory;

    begin(&late, PATIENCE_MS);
    fixture.inventory = NULL;
    inventory_close(inventory, on_something_closed, NULL);
    uv_close((uv_handle_t *)check, NULL);
}

static void test_a_call_that_a_close_ends_turns_to_no_instance_that_is_gone(void **state) {
    uv_check_t check;
    unsigned open;

    open_inventory(3);
    open = fixture.open;
    assert_int_equal(uv_check_init(&fixture.loop, &check), 0);
    assert_int_equal(uv_check_start(&check, on_check), 0);
    WAIT_FOR(&fixture.loop, late.is_done && fixture.open < open);
    assert_int_equal(late.answer.outcome, HTTP_CALL_NOT_SENT);
    for (int i = 0; i < PEERS; i++)
        assert_int_equal(fixture.peers[i].calls, 0);
}

static void on_closed_once(void *data) {
    (*(int *)data)++;
}

static void test_closing_twice_is_closing_once(void **state) {
    struct inventory *inventory;
    int closed = 0;

    assert_int_equal(inventory_open(&inventory, &fixture.loop,
                                    "http://127.0.0.1:1,http://127.0.0.1:2", "", &fixture.why),
                     0);
    inventory_close(inventory, on_closed_once, &closed);
    inventory_close(inventory, on_closed_once, &closed);
    WAIT_FOR(&fixture.loop, closed == 1);
}

static void live_without_memory(void *arg) {
    struct caller caller = {.timeout_ms = PATIENCE_MS};
    char urls[URLS_BYTES];

    peer_urls(0, 2, urls);
    if (open_inventory_at(urls, "hush") != 0) {
        assert_string_equal(fixture.why.text, uv_strerror(UV_ENOMEM));
        for (int i = 0; i < 10; i++) /* let the open connections close */
            (void)uv_run(&fixture.loop, UV_RUN_ONCE);
        return;
    }
    if (fiber_start(call, &caller) == 0)
        WAIT_FOR(&fixture.loop, caller.is_done);
    close_inventory();
}

static void test_memory_may_fail_at_every_allocation(void **state) {
    fail_each_allocation(live_without_memory, NULL);
    open_inventory(2);
    expect_answered(2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        PEERS_TEST(test_calls_are_spread_over_all_instances),
        PEERS_TEST(test_an_answer_is_handed_over_as_it_came),
        PEERS_TEST(test_an_instance_that_is_down_is_skipped_and_that_is_said_once),
        PEERS_TEST(test_an_instance_that_is_back_is_used_again),
        PEERS_TEST(test_an_instance_is_tried_again_by_one_call_at_a_time),
        PEERS_TEST(test_with_all_down_nothing_is_sent),
        PEERS_TEST(test_an_instance_that_is_new_gets_calls_and_one_that_is_gone_none),
        PEERS_TEST(test_a_call_under_way_outlasts_its_instance),
        PEERS_TEST(test_instances_may_come_and_go_for_ever),
        PEERS_TEST(test_what_was_sent_and_not_answered_goes_to_no_other),
        PEERS_TEST(test_a_call_that_is_late_goes_to_no_other),
        PEERS_TEST(test_an_answer_that_is_no_json_has_no_body),
        PEERS_TEST(test_an_answer_that_is_nested_deeply_has_no_body),
        PEERS_TEST(test_a_bad_url_is_refused_with_a_reason),
        PEERS_TEST(test_a_secret_that_fits_in_no_header_is_told),
        PEERS_TEST(test_a_close_ends_the_calls_under_way),
        PEERS_TEST(test_a_call_that_a_close_ends_turns_to_no_instance_that_is_gone),
        PEERS_TEST(test_closing_twice_is_closing_once),
        PEERS_TEST(test_memory_may_fail_at_every_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
