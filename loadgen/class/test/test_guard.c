/* Who may ask: by which Host, from which page, with which token. */
#include "guard.h"
#include "test.h"

#include <string.h>

static void test_loopback_and_the_address_listened_on_are_hosts(void **state) {
    static const char *const hosts[] = {"localhost",   "LocalHost:8080", "127.0.0.1",
                                        "127.3.2.1:1", "[::1]",          "[::1]:65535",
                                        "192.0.2.7",   "192.0.2.7:80",   "127.0.0.1:80"};

    for (size_t i = 0; i < sizeof hosts / sizeof hosts[0]; i++)
        if (!guard_host(hosts[i], "192.0.2.7"))
            fail_msg("%s is refused", hosts[i]);
    assert_true(guard_host("[2001:db8:0::1]:80", "2001:db8::1"));
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
        if (guard_host(hosts[i], "192.0.2.7"))
            fail_msg("%s is welcome", hosts[i]);
    memset(long_one, '1', sizeof long_one - 1);
    long_one[sizeof long_one - 1] = '\0';
    assert_false(guard_host(long_one, "127.0.0.1"));
    assert_false(guard_host(NULL, "127.0.0.1"));
}

static void test_the_origin_is_this_page_alone(void **state) {
    assert_true(guard_origin("http://localhost:8080", "localhost:8080"));
    assert_true(guard_origin("http://[::1]:8080", "[::1]:8080"));
    assert_false(guard_origin("http://localhost:8081", "localhost:8080"));
    assert_false(guard_origin("http://localhost", "localhost:8080"));
    assert_false(guard_origin("https://localhost:8080", "localhost:8080"));
    assert_false(guard_origin("http://evil.example", "localhost:8080"));
    assert_false(guard_origin("null", "localhost:8080"));
    assert_false(guard_origin("", "localhost:8080"));
    assert_false(guard_origin(NULL, "localhost:8080"));
    assert_false(guard_origin("http://localhost:8080", NULL));
}

static void test_only_the_whole_token_will_do(void **state) {
    char token[GUARD_TOKEN], other[GUARD_TOKEN + 1] = "", again[GUARD_TOKEN];

    assert_int_equal(guard_make_token(token), 0);
    assert_int_equal(guard_make_token(again), 0);
    assert_int_equal(strlen(token), GUARD_TOKEN - 1);
    assert_string_not_equal(token, again);
    assert_true(guard_token(token, token));
    assert_false(guard_token(again, token));
    assert_false(guard_token(NULL, token));
    assert_false(guard_token("", token));
    for (size_t length = 0; length < GUARD_TOKEN - 1; length++) {
        memcpy(other, token, length);
        other[length] = '\0';
        assert_false(guard_token(other, token));
        strcpy(other, token);
        other[length] ^= 1;
        assert_false(guard_token(other, token));
    }
    strcpy(other, token);
    strcat(other, "0");
    assert_false(guard_token(other, token));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_loopback_and_the_address_listened_on_are_hosts),
        cmocka_unit_test(test_other_hosts_are_refused),
        cmocka_unit_test(test_the_origin_is_this_page_alone),
        cmocka_unit_test(test_only_the_whole_token_will_do),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
