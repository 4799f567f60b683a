/* Redis URLs: the parts of good ones, and which ones are refused. */
#include "redis_internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void assert_parts(const char *url, const char *host, int port, const char *password,
                         int db) {
    struct redis_address address;

    assert_int_equal(redis_address_parse(&address, url), 0);
    assert_string_equal(address.host, host);
    assert_int_equal(address.port, port);
    assert_int_equal(address.db, db);
    assert_int_equal(address.password != NULL, password != NULL);
    if (password)
        assert_string_equal(address.password, password);
    redis_address_free(&address);
}

static void test_every_part_is_read(void **state) {
    (void)state;
    assert_parts("redis://localhost", "localhost", 6379, NULL, 0);
    assert_parts("redis://localhost/", "localhost", 6379, NULL, 0);
    assert_parts("redis://10.0.0.1:6380/12", "10.0.0.1", 6380, NULL, 12);
    assert_parts("redis://:secret@h:1/0", "h", 1, "secret", 0);
    assert_parts("redis://:a%40b%2Fc%3ad@h", "h", 6379, "a@b/c:d", 0);
    assert_parts("redis://:a@b@h", "h", 6379, "a@b", 0);
    assert_parts("redis://[::1]", "::1", 6379, NULL, 0);
    assert_parts("redis://:p@[fe80::1]:6380/3", "fe80::1", 6380, "p", 3);
}

static void test_a_bad_url_is_refused(void **state) {
    static const char *const bad[] = {"",
                                      "localhost",
                                      "http://localhost",
                                      "redis://",
                                      "redis:///1",
                                      "redis://:6379",
                                      "redis://h:",
                                      "redis://h:0",
                                      "redis://h:65536",
                                      "redis://h:12x",
                                      "redis://h/one",
                                      "redis://h/-1",
                                      "redis://h/1/2",
                                      "redis://user:p@h",
                                      "redis://:p%4@h",
                                      "redis://:p%zz@h",
                                      "redis://:p%00@h",
                                      "redis://:p@",
                                      "redis://[::1",
                                      "redis://[]",
                                      "redis://[::1]x"};
    struct redis_address address;

    (void)state;
    assert_int_equal(redis_address_parse(&address, NULL), UV_EINVAL);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (redis_address_parse(&address, bad[i]) != UV_EINVAL)
            fail_msg("taken: %s", bad[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_part_is_read),
        cmocka_unit_test(test_a_bad_url_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
