/* Which requests are for this server by their Host, and which come from a page of another site. */
#include "http_fixture.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

static int set_up(void **state) {
    const struct http_server_options options = {.hosts = "shop,order-svc.internal"};

    *state = http_fixture_open(&options);
    return 0;
}

static int set_up_nameless(void **state) {
    const struct http_server_options options = {0};

    *state = http_fixture_open(&options);
    return 0;
}

static int tear_down(void **state) {
    http_fixture_close(*state);
    return 0;
}

/* The connection goes on, whatever the answer. */
static void ask(void **state, const char *target, const char *host, const char *more, int status,
                const char *part) {
    struct http_fixture *fixture = *state;
    char request[1024], reply[1024];
    int got;

    (void)snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: %s\r\n%s\r\n", target, host,
                   more);
    http_peer_say(&fixture->peer, request);
    got = http_peer_reply(&fixture->peer, reply, sizeof reply);
    if (got != status || strstr(reply, part) == NULL)
        fail_msg("%d, not %d with %s, to %s%s", got, status, part, request, reply);
}

static void takes(void **state, const char *host) {
    ask(state, "/", host, "", 200, "hello");
}

static void refuses(void **state, const char *host) {
    ask(state, "/", host, "", 421, "foreign_host");
    ask(state, "/none", host, "", 421, "foreign_host");
}

static void test_addresses_and_localhost_are_taken(void **state) {
    takes(state, "localhost");
    takes(state, "LocalHost:8000");
    takes(state, "127.0.0.1");
    takes(state, "192.0.2.7:80");
    takes(state, "[::1]");
    takes(state, "[2001:db8::1]:8000");
}

static void test_given_names_are_taken(void **state) {
    takes(state, "shop");
    takes(state, "SHOP:8000");
    takes(state, "order-svc.internal:8000");
}

static void test_other_hosts_are_421(void **state) {
    char longest[700];

    refuses(state, "evil.example");
    refuses(state, "evil.example:80");
    refuses(state, "localhost.evil.example");
    refuses(state, "localhost:evil.example");
    refuses(state, "127.0.0.1.evil.example");
    refuses(state, "[::1].evil.example");
    refuses(state, "[::1]:evil.example");
    refuses(state, "[::1");
    refuses(state, "[localhost]");
    refuses(state, "[127.0.0.1]");
    refuses(state, "::1");
    refuses(state, "localhost:80:80");
    refuses(state, "localhost@evil.example");
    refuses(state, "evil.example:80@localhost");
    refuses(state, "localhost,shop");
    refuses(state, "shop,order-svc.internal");
    refuses(state, "sho");
    refuses(state, "shops");
    refuses(state, "");
    refuses(state, ":80");
    memset(longest, '1', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    refuses(state, longest);
    memcpy(longest, "localhost:", 10);
    refuses(state, longest);
}

static void test_without_names_none_is_taken(void **state) {
    takes(state, "localhost");
    refuses(state, "shop");
}

static void test_host_of_the_target_counts_too(void **state) {
    ask(state, "http://shop:80/", "localhost", "", 200, "hello");
    ask(state, "http://evil.example/", "localhost", "", 421, "foreign_host");
    ask(state, "HTTP://evil.example/", "localhost", "", 421, "foreign_host");
    ask(state, "http://localhost/", "evil.example", "", 421, "foreign_host");
}

static void test_origin_of_another_site_is_403(void **state) {
    ask(state, "/", "localhost:8000", "Origin: http://localhost:8000\r\n", 200, "hello");
    ask(state, "/", "shop", "Origin: https://SHOP\r\n", 200, "hello");
    ask(state, "/", "localhost:8000", "Origin: http://localhost:9000\r\n", 403, "foreign_origin");
    ask(state, "/", "localhost", "Origin: http://127.0.0.1\r\n", 403, "foreign_origin");
    ask(state, "/", "localhost", "Origin: http://evil.example\r\n", 403, "foreign_origin");
    ask(state, "/", "localhost", "Origin: http://localhost.evil.example\r\n", 403,
        "foreign_origin");
    ask(state, "/", "localhost", "Origin: null\r\n", 403, "foreign_origin");
    ask(state, "/", "localhost", "Origin:\r\n", 403, "foreign_origin");
}

static void test_http_1_0_needs_no_host(void **state) {
    struct http_fixture *fixture = *state;

    http_peer_say(&fixture->peer, "GET / HTTP/1.0\r\n\r\n");
    assert_int_equal(http_peer_reply(&fixture->peer, NULL, 0), 200);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_addresses_and_localhost_are_taken),
        TEST(test_given_names_are_taken),
        TEST(test_other_hosts_are_421),
        cmocka_unit_test_setup_teardown(test_without_names_none_is_taken, set_up_nameless,
                                        tear_down),
        TEST(test_host_of_the_target_counts_too),
        TEST(test_origin_of_another_site_is_403),
        TEST(test_http_1_0_needs_no_host),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
