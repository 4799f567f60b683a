/* Slots by the Redis Cluster specification, and the nodes' words about them. */
#include "cluster_slot.h"
#include "test.h"

#include <string.h>

static void test_slot_is_that_of_the_tag(void **state) {
    assert_int_equal(cluster_slot("123456789"), 12739); /* 0x31C3 */
    assert_int_equal(cluster_slot("foo"), 12182);
    assert_int_equal(cluster_slot("a}b"), cluster_slot("a"));
    assert_int_equal(cluster_slot("{a}"), cluster_slot("{a"));
    assert_int_equal(cluster_slot("}a"), -1);
}

static void test_redirections_are_read(void **state) {
    struct cluster_redirection to;

    assert_true(cluster_redirection_parse(&to, "MOVED 3999 127.0.0.1:6381"));
    assert_false(to.is_ask);
    assert_int_equal(to.slot, 3999);
    assert_int_equal(to.port, 6381);
    assert_string_equal(to.host, "127.0.0.1");
    assert_true(cluster_redirection_parse(&to, "ASK 0 ::1:6381"));
    assert_true(to.is_ask);
    assert_string_equal(to.host, "::1");
    assert_true(cluster_redirection_parse(&to, "MOVED 16383 :6381"));
    assert_string_equal(to.host, "");
}

static void test_what_is_none_is_refused(void **state) {
    static const char *const texts[] = {
        "",
        "MOVED",
        "MOVED ",
        "MOVED 1",
        "MOVED 1 ",
        "MOVED 1 a",
        "MOVED 1 a:",
        "MOVED 1 a:0",
        "MOVED 1 a:65536",
        "MOVED 1 a:1x",
        "MOVED -1 a:1",
        "MOVED 16384 a:1",
        "ASKING",
        "TRYAGAIN Multiple keys request during rehashing of slot",
    };
    struct cluster_redirection to;

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_false(cluster_redirection_parse(&to, texts[i]));
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slot_is_that_of_the_tag),
        cmocka_unit_test(test_redirections_are_read),
        cmocka_unit_test(test_what_is_none_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
