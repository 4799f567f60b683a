/* Redis URLs: the parts of good ones, and the refusal of bad ones. */
#include "redis_internal.h"
#include "test.h"

static void assert_parts(const char *url, const char *host, int port, const char *password,
                         int db) {
    struct redis_address address;

    assert_int_equal(redis_address_parse(&address, url), 0);
    assert_string_equal(address.host, host);
    assert_int_equal(address.port, port);
    assert_int_equal(address.db, db);
    assert_int_equal(address.password != NULL, password != NULL);
    if (password != NULL)
        assert_string_equal(address.password, password);
    redis_address_free(&address);
}

static void test_every_part_is_read(void **state) {
    assert_parts("redis://localhost", "localhost", 6379, NULL, 0);
    assert_parts("redis://localhost/", "localhost", 6379, NULL, 0);
    assert_parts("redis://10.0.0.1:6380/12", "10.0.0.1", 6380, NULL, 12);
    assert_parts("redis://:secret@h:1/0", "h", 1, "secret", 0);
    assert_parts("redis://:a%40b%2Fc%3ad@h", "h", 6379, "a@b/c:d", 0);
    assert_parts("redis://:a@b@h", "h", 6379, "a@b", 0);
    assert_parts("redis://[::1]", "::1", 6379, NULL, 0);
    assert_parts("redis://:p@[fe80::1]:6380/3", "fe80::1", 6380, "p", 3);
}

static void assert_user(const char *url, const char *user, const char *password) {
    struct redis_address address;

    assert_int_equal(redis_address_parse(&address, url), 0);
    assert_string_equal(address.user, user);
    assert_string_equal(address.password, password);
    redis_address_free(&address);
}

static void test_a_user_has_a_password_or_an_empty_one(void **state) {
    assert_user("redis://anna:secret@h", "anna", "secret");
    assert_user("redis://an%3ana:a:b@h/2?wait=1", "an:na", "a:b");
    assert_user("redis://anna@h", "anna", "");
    assert_user("rediss://anna:@h", "anna", "");
    assert_user("unix://anna:s%2f@/run/redis", "anna", "s/");
}

static void assert_socket(const char *url, const char *path, int db) {
    struct redis_address address;

    assert_int_equal(redis_address_parse(&address, url), 0);
    assert_null(address.host);
    assert_string_equal(address.path, path);
    assert_int_equal(address.db, db);
    redis_address_free(&address);
}

static void test_a_socket_is_a_path(void **state) {
    assert_socket("unix:///run/redis.sock", "/run/redis.sock", 0);
    assert_socket("unix:///run/a%20b?db=3", "/run/a b", 3);
    assert_socket("redis+unix://:secret@/run/redis?wait=1&db=12", "/run/redis", 12);
}

static void test_other_parameters_are_left_to_the_caller(void **state) {
    assert_parts("redis://h?wait=1", "h", 6379, NULL, 0);
    assert_parts("redis://h:1/2?wait=1&wait_ms=20", "h", 1, NULL, 2);
    assert_parts("redis://:p@h/2?db=3", "h", 6379, "p", 3);
    assert_parts("redis://h/?xdb=4&db=5&", "h", 6379, NULL, 5);
    assert_parts("redis://h?", "h", 6379, NULL, 0);
}

static void test_tls_is_a_scheme(void **state) {
    struct redis_address address;

    for (int i = 0; i < 2; i++) {
        assert_int_equal(redis_address_parse(&address, i ? "rediss://h" : "redis://h"), 0);
        assert_int_equal(address.is_tls, i);
        redis_address_free(&address);
    }
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
                                      "redis://@h",
                                      "redis://h?db=",
                                      "redis://h?db=x",
                                      "redis://h/x?db=1",
                                      "redis://us%er:p@h",
                                      "unix://",
                                      "unix:///",
                                      "unix://h/run/redis",
                                      "unix:///run/%00",
                                      "unix:/run/redis",
                                      "redis+tls://h",
                                      "redis://:p%4@h",
                                      "redis://:p%zz@h",
                                      "redis://:p%00@h",
                                      "redis://:p@",
                                      "redis://[::1",
                                      "redis://[]",
                                      "redis://[::1]x"};
    struct redis_address address;

    assert_int_equal(redis_address_parse(&address, NULL), UV_EINVAL);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (redis_address_parse(&address, bad[i]) != UV_EINVAL)
            fail_msg("taken: %s", bad[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_part_is_read),
        cmocka_unit_test(test_a_user_has_a_password_or_an_empty_one),
        cmocka_unit_test(test_a_socket_is_a_path),
        cmocka_unit_test(test_other_parameters_are_left_to_the_caller),
        cmocka_unit_test(test_tls_is_a_scheme),
        cmocka_unit_test(test_a_bad_url_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
