/* Headers that a request may have only once, and bodies without a byte. Requests for this server,
 * by their Host, and requests from a page of another site. */
#include "http_fixture.h"

#define KEY "0190b2a8-7f00-7000-8000-000000000001"

/* The status of a request on a connection of its own. */
static void ask_anew(const char *line, const char *rest, int status, const char *part) {
    char request[512];

    (void)snprintf(request, sizeof request, "%s HTTP/1.1\r\n" HOST "%s", line, rest);
    http_fixture_reconnect();
    http_ask(request, status, part);
}

static void test_a_field_that_decides_something_and_comes_twice_is_400(void **state) {
    static const struct {
        const char *lines, *name;
    } cases[] = {
        {"Idempotency-Key: " KEY "\r\nIdempotency-Key: " KEY "\r\n\r\n", "idempotency-key"},
        {"Idempotency-Key: " KEY "\r\nX: y\r\nIDEMPOTENCY-KEY: other\r\n\r\n", "idempotency-key"},
        {"Idempotency-Key: " KEY ", " KEY "\r\n\r\n", "idempotency-key"},
        {"Authorization: Bearer a\r\nAuthorization: Bearer b\r\n\r\n", "authorization"},
        {"Content-Type: application/json\r\nContent-Type: text/plain\r\n\r\n", "content-type"},
        {"Content-Type: application/json , text/plain\r\n\r\n", "content-type"},
        {"Content-Type: application/json; charset=utf-8, text/plain\r\n\r\n", "content-type"},
        {"Origin: http://localhost\r\nOrigin: http://localhost\r\n\r\n", "origin"},
        {"Origin: http://localhost, http://localhost\r\n\r\n", "origin"},
        {"Host: localhost\r\n\r\n", "host"},
        {"Expect: 100-continue\r\nExpect: x\r\n\r\n", "expect"},
        {"X-Class-Token: a\r\nX-Class-Token: b\r\n\r\n", "x-class-token"},
        {"Content-Length: 0\r\nContent-Length: 0\r\n\r\n", ""},
        {"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", ""},
        {"Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n", ""},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ask_anew("GET /", cases[i].lines, 400, cases[i].name);
}

static void test_other_fields_may_come_twice(void **state) {
    ask_anew("GET /",
             "Accept: a/b\r\nAccept: c/d\r\nVia: a\r\nVia: b\r\n"
             "Cookie: a=b\r\nCookie: c=d\r\nX: a, b\r\nAuthorization: Bearer a,b\r\n\r\n",
             200, "");
}

/* The 400 tells where the JSON ends, even if something else ends the connection. */
static void test_an_empty_body_is_no_json_and_no_null(void **state) {
    static const char *const lines[] = {
        "Content-Length: 0\r\n\r\n",
        "Connection: close\r\nContent-Length: 0\r\n\r\n",
        "\r\n",
        "Connection: close\r\n\r\n",
        "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "Transfer-Encoding: chunked\r\n\r\n0\r\nConnection: close\r\n\r\n",
    };

    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        ask_anew("POST /json", lines[i], 400, "not valid JSON: line 1, column 0: ");
}

/* On every connection a NUL follows it. */
static void test_a_body_ends_with_a_nul_on_a_connection_that_ends(void **state) {
    http_ask("POST /echo HTTP/1.0\r\nContent-Length: 0\r\n\r\n", 200, "");
    http_peer_expect_end(&http.peer);
}

static struct http_server_options named = {.hosts = "shop,order-svc.internal"};

/* The connection goes on after each answer. */
static void ask_for(const char *target, const char *host, const char *more, int status,
                    const char *part) {
    char request[1024];

    (void)snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: %s\r\n%s\r\n", target, host,
                   more);
    http_ask(request, status, part);
}

static void takes(const char *host) {
    ask_for("/", host, "", 200, "hello");
}

static void refuses(const char *host) {
    ask_for("/", host, "", 421, "foreign_host");
    ask_for("/none", host, "", 421, "foreign_host");
}

static void test_localhost_addresses_and_given_names_are_taken(void **state) {
    static const char *const hosts[] = {
        "localhost",          "LocalHost:8000", "127.0.0.1", "192.0.2.7:80",           "[::1]",
        "[2001:db8::1]:8000", "shop",           "SHOP:8000", "order-svc.internal:8000"};

    for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++)
        takes(hosts[i]);
}

static void test_other_hosts_are_421(void **state) {
    char longest[700];

    refuses("evil.example");
    refuses("evil.example:80");
    refuses("localhost.evil.example");
    refuses("localhost:evil.example");
    refuses("127.0.0.1.evil.example");
    refuses("[::1].evil.example");
    refuses("[::1]:evil.example");
    refuses("[::1");
    refuses("[localhost]");
    refuses("[127.0.0.1]");
    refuses("::1");
    refuses("localhost:80:80");
    refuses("localhost@evil.example");
    refuses("evil.example:80@localhost");
    refuses("localhost,shop");
    refuses("shop,order-svc.internal");
    refuses("sho");
    refuses("shops");
    refuses("");
    refuses(":80");
    memset(longest, '1', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    refuses(longest);
    memcpy(longest, "localhost:", 10);
    refuses(longest);
}

static void test_without_names_none_is_taken(void **state) {
    takes("localhost");
    refuses("shop");
}

static void test_host_of_the_target_counts_too(void **state) {
    ask_for("http://shop:80/", "localhost", "", 200, "hello");
    ask_for("http://evil.example/", "localhost", "", 421, "foreign_host");
    ask_for("HTTP://evil.example/", "localhost", "", 421, "foreign_host");
    ask_for("http://localhost/", "evil.example", "", 421, "foreign_host");
}

static void test_origin_of_another_site_is_403(void **state) {
    ask_for("/", "localhost:8000", "Origin: http://localhost:8000\r\n", 200, "hello");
    ask_for("/", "shop", "Origin: https://SHOP\r\n", 200, "hello");
    ask_for("/", "localhost:8000", "Origin: http://localhost:9000\r\n", 403, "foreign_origin");
    ask_for("/", "localhost", "Origin: http://127.0.0.1\r\n", 403, "foreign_origin");
    ask_for("/", "localhost", "Origin: http://evil.example\r\n", 403, "foreign_origin");
    ask_for("/", "localhost", "Origin: http://localhost.evil.example\r\n", 403, "foreign_origin");
    ask_for("/", "localhost", "Origin: null\r\n", 403, "foreign_origin");
    ask_for("/", "localhost", "Origin:\r\n", 403, "foreign_origin");
}

static void test_http_1_0_needs_no_host(void **state) {
    http_ask("GET / HTTP/1.0\r\n\r\n", 200, "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        HTTP_TEST(test_a_field_that_decides_something_and_comes_twice_is_400, NULL),
        HTTP_TEST(test_other_fields_may_come_twice, NULL),
        HTTP_TEST(test_an_empty_body_is_no_json_and_no_null, NULL),
        HTTP_TEST(test_a_body_ends_with_a_nul_on_a_connection_that_ends, NULL),
        HTTP_TEST(test_localhost_addresses_and_given_names_are_taken, &named),
        HTTP_TEST(test_other_hosts_are_421, &named),
        HTTP_TEST(test_without_names_none_is_taken, NULL),
        HTTP_TEST(test_host_of_the_target_counts_too, &named),
        HTTP_TEST(test_origin_of_another_site_is_403, &named),
        HTTP_TEST(test_http_1_0_needs_no_host, &named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
