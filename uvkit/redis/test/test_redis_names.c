/* A name with several addresses: each one is tried. A server's last words before it closes are
 * told. */
#include "names.h"
#include "redis_answer.h"

#include <arpa/inet.h>

static char by_name[64];

static int set_up(void **state) {
    int status = redis_set_up_own(state);

    (void)snprintf(by_name, sizeof by_name, "redis://shop.example%s", strrchr(own.url, ':'));
    return status;
}

static int tear_down(void **state) {
    int status = redis_tear_down_own(state);

    names_lead_to(NULL);
    return status;
}

static int port(void) {
    return atoi(strrchr(own.url, ':') + 1);
}

/* The time for each attempt to connect. */
static void open_within(const char *addresses, unsigned timeout_ms) {
    struct redis_options options = {.url = by_name, .connect_timeout_ms = timeout_ms};

    names_lead_to(addresses);
    assert_int_equal(redis_open(&redis, &loop, &options), 0);
}

static void open_patiently(const char *addresses) {
    open_within(addresses, 60000);
}

static void expect_echo(void) {
    ask_redis("ECHO me", REDIS_IS_OK, "me");
}

static void test_an_address_that_refuses_is_passed_over(void **state) {
    open_patiently("::1 127.0.0.2 127.0.0.1");
    expect_echo();
    assert_int_equal(said("redis is down"), 0);
}

static void test_a_silent_address_is_left_for_the_next_one(void **state) {
    struct silent silent;

    silent_start(&silent, "::1", port());
    open_patiently("::1 127.0.0.1");
    expect_echo();
    silent_stop(&silent);
}

static void test_an_address_that_connects_and_never_greets_is_left(void **state) {
    struct sockaddr_in6 address = {.sin6_family = AF_INET6,
                                   .sin6_addr = in6addr_loopback,
                                   .sin6_port = htons((uint16_t)port())};
    int listener = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;

    assert_int_equal(setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one), 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(listener, 128), 0);
    open_within("::1 127.0.0.1", 100);
    expect_echo();
    (void)close(listener);
}

static void test_without_any_the_last_reason_and_its_address_are_told(void **state) {
    char expected[80];

    open_patiently("::1 127.0.0.2");
    (void)snprintf(expected, sizeof expected, "127.0.0.2:%d: Connection refused", port());
    WAIT_FOR(&loop, said("redis is down") == 1);
    assert_int_equal(said(expected), 1);
}

/* The subscriptions go to the server of the commands, at any of the addresses. */
static void test_subscriptions_are_at_the_address_that_answered(void **state) {
    struct redis_subscription subscription = {.channel = "news"};
    struct silent silent;

    open_patiently("127.0.0.2 127.0.0.1");
    expect_echo();
    silent_start(&silent, "127.0.0.2", port());
    assert_int_equal(redis_subscribe(redis, &subscription), 0);
    WAIT_FOR(&loop, redis->subscriptions.connection.is_up);
    redis_unsubscribe(redis, &subscription);
    silent_stop(&silent);
}

static void test_a_name_that_is_none_is_told(void **state) {
    open_patiently("");
    WAIT_FOR(&loop, said("redis is down") == 1);
    assert_int_equal(said("unknown node or service"), 1);
}

static void expect_unresolved(void) {
    WAIT_FOR(&loop, said("redis is down") == 1);
    assert_int_equal(said("no address of the name in time"), 1);
}

static void test_a_resolver_that_hangs_is_told_and_its_late_answer_is_taken(void **state) {
    names_hold();
    open_within("127.0.0.1", 100);
    expect_unresolved();
    names_let_go();
    expect_echo();
}

static void on_busy(uv_getaddrinfo_t *request, int status, struct addrinfo *found) {
    uv_freeaddrinfo(found);
    request->data = NULL;
}

/* Other look-ups hang in all threads, so this request can be canceled. */
static void test_a_name_that_waits_for_a_resolver_is_told_and_resolved_again(void **state) {
    uv_getaddrinfo_t busy[8];

    names_lead_to("127.0.0.1"); /* before they look */
    names_hold();
    for (int i = 0; i < 8; i++) {
        busy[i].data = busy;
        assert_int_equal(uv_getaddrinfo(&loop, &busy[i], on_busy, "busy.example", NULL, NULL), 0);
    }
    open_within("127.0.0.1", 100);
    expect_unresolved();
    names_let_go();
    expect_echo();
    for (int i = 0; i < 8; i++)
        WAIT_FOR(&loop, busy[i].data == NULL);
}

static void test_a_client_closes_at_any_turn_of_an_attempt(void **state) {
    for (int turns = 0; turns < 12; turns++) {
        open_patiently("::1 127.0.0.2 127.0.0.1");
        for (int i = 0; i < turns; i++)
            (void)uv_run(&loop, UV_RUN_NOWAIT);
        close_redis();
    }
}

/* Also without a password or a number in the URL. */
static void test_a_server_with_its_most_clients_says_so(void **state) {
    struct redis_options options = {.url = own.url};

    own_redis_do(&own, "CONFIG SET maxclients 1"); /* the administrator's */
    assert_int_equal(redis_open(&redis, &loop, &options), 0);
    WAIT_FOR(&loop, said("redis is down") == 1);
    assert_int_equal(said("max number of clients reached"), 1);
    own_redis_do(&own, "CONFIG SET maxclients 100");
    expect_echo();
}

/* The server tells it and closes at once, with a reset if it had input to read. */
static void test_last_words_are_told_however_the_connection_ends(void **state) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    static const char words[] = "-DENIED Redis is running in protected mode\r\n";
    struct linger reset = {1, 0};
    socklen_t length = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), fd = -1;
    char url[64];
    struct redis_options options = {.url = url};

    assert_int_equal(bind(listener, (struct sockaddr *)&address, length), 0);
    assert_int_equal(listen(listener, 8), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &length), 0);
    (void)snprintf(url, sizeof url, "redis://127.0.0.1:%d", ntohs(address.sin_port));
    assert_int_equal(redis_open(&redis, &loop, &options), 0);
    WAIT_FOR(&loop, (fd = accept(listener, NULL, NULL)) >= 0);
    assert_int_equal(send(fd, words, strlen(words), 0), strlen(words));
    WAIT_FOR(&loop, redis->connection.said[0] != '\0');
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset), 0);
    (void)close(fd);
    WAIT_FOR(&loop, said("redis is down") == 1);
    assert_int_equal(said("DENIED Redis is running in protected mode"), 1);
    (void)close(listener);
}

#define NAMES_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        NAMES_TEST(test_an_address_that_refuses_is_passed_over),
        NAMES_TEST(test_a_silent_address_is_left_for_the_next_one),
        NAMES_TEST(test_an_address_that_connects_and_never_greets_is_left),
        NAMES_TEST(test_without_any_the_last_reason_and_its_address_are_told),
        NAMES_TEST(test_subscriptions_are_at_the_address_that_answered),
        NAMES_TEST(test_a_name_that_is_none_is_told),
        NAMES_TEST(test_a_resolver_that_hangs_is_told_and_its_late_answer_is_taken),
        NAMES_TEST(test_a_name_that_waits_for_a_resolver_is_told_and_resolved_again),
        NAMES_TEST(test_a_client_closes_at_any_turn_of_an_attempt),
        NAMES_TEST(test_a_server_with_its_most_clients_says_so),
        NAMES_TEST(test_last_words_are_told_however_the_connection_ends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
