/* Access to the class's page: by Host, by Origin and by token. */
#include "guard.h"
#include "test.h"

#include <string.h>

static struct guard guard;

static bool is_let_in(const char *host, const char *origin, const char *token, bool is_change) {
    const struct guard_headers headers = {host, origin, token};

    return guard_look(&guard, &headers, is_change) == NULL;
}

static bool is_host(const char *host) {
    return is_let_in(host, NULL, NULL, false);
}

static bool is_origin(const char *origin, const char *host) {
    return is_let_in(host, origin, guard.token, true);
}

static bool is_token(const char *token) {
    return is_let_in("localhost", "http://localhost", token, true);
}

static int set_up(void **state) {
    return guard_init(&guard, "192.0.2.7");
}

static void test_loopback_and_the_address_listened_on_are_hosts(void **state) {
    static const char *const hosts[] = {"localhost",   "LocalHost:8080", "127.0.0.1",
                                        "127.3.2.1:1", "[::1]",          "[::1]:65535",
                                        "192.0.2.7",   "192.0.2.7:80",   "127.0.0.1:80"};

    for (size_t i = 0; i < sizeof hosts / sizeof hosts[0]; i++)
        if (!is_host(hosts[i]))
            fail_msg("%s is refused", hosts[i]);
    guard.listen = "2001:db8::1";
    assert_true(is_host("[2001:db8:0::1]:80"));
}

static void test_other_hosts_are_refused(void **state) {
    static const char *const hosts[] = {"",
                                        "evil.example",
                                        "localhost.evil.example",
                                        "127.0.0.1.evil.example",
                                        "192.0.2.8",
                                        "0.0.0.0",
                                        "[::]",
                                        "[::1",
                                        "[::1]x",
                                        "[::1]:80x",
                                        "::1",
                                        "localhost:80:80",
                                        "localhost:evil",
                                        "localhost@evil",
                                        "127.1",
                                        "0x7f000001",
                                        "[localhost]x"};
    char long_one[300];

    for (size_t i = 0; i < sizeof hosts / sizeof hosts[0]; i++)
        if (is_host(hosts[i]))
            fail_msg("%s is welcome", hosts[i]);
    memset(long_one, '1', sizeof long_one - 1);
    long_one[sizeof long_one - 1] = '\0';
    assert_false(is_host(long_one));
    assert_false(is_host(NULL));
}

static void test_the_origin_is_this_page_alone(void **state) {
    assert_true(is_origin("http://localhost:8080", "localhost:8080"));
    assert_true(is_origin("http://[::1]:8080", "[::1]:8080"));
    assert_false(is_origin("http://localhost:8081", "localhost:8080"));
    assert_false(is_origin("http://localhost", "localhost:8080"));
    assert_false(is_origin("https://localhost:8080", "localhost:8080"));
    assert_false(is_origin("http://evil.example", "localhost:8080"));
    assert_false(is_origin("null", "localhost:8080"));
    assert_false(is_origin("", "localhost:8080"));
    assert_false(is_origin(NULL, "localhost:8080"));
    assert_false(is_origin("http://localhost:8080", NULL));
}

static void test_only_the_whole_token_will_do(void **state) {
    char token[GUARD_TOKEN], other[GUARD_TOKEN + 1] = "";

    strcpy(token, guard.token);
    assert_int_equal(strlen(token), GUARD_TOKEN - 1);
    assert_true(is_token(token));
    assert_int_equal(guard_init(&guard, "192.0.2.7"), 0);
    assert_string_not_equal(token, guard.token);
    assert_false(is_token(token));
    assert_false(is_token(NULL));
    assert_false(is_token(""));
    strcpy(token, guard.token);
    for (size_t length = 0; length < GUARD_TOKEN - 1; length++) {
        memcpy(other, token, length);
        other[length] = '\0';
        assert_false(is_token(other));
        strcpy(other, token);
        other[length] ^= 1;
        assert_false(is_token(other));
    }
    strcpy(other, token);
    strcat(other, "0");
    assert_false(is_token(other));
}

#define TEST(name) cmocka_unit_test_setup(name, set_up)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_loopback_and_the_address_listened_on_are_hosts),
        TEST(test_other_hosts_are_refused),
        TEST(test_the_origin_is_this_page_alone),
        TEST(test_only_the_whole_token_will_do),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
