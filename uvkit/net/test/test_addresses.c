/* Which addresses are private. */
#include "addresses.h"
#include "test.h"

#include <uv.h>

static bool is_private(const char *text) {
    struct sockaddr_storage address = {0};

    if (strchr(text, ':') != NULL)
        assert_int_equal(uv_ip6_addr(text, 80, (struct sockaddr_in6 *)&address), 0);
    else
        assert_int_equal(uv_ip4_addr(text, 80, (struct sockaddr_in *)&address), 0);
    return address_is_private((struct sockaddr *)&address);
}

static void test_loopback_and_private_networks_are_private(void **state) {
    static const char *const inside[] = {
        "127.0.0.1",      "127.255.255.255", "10.0.0.0", "172.16.0.0",
        "172.31.255.255", "192.168.255.1",   "::1",      "fc00::",
        "fdff::1",        "::ffff:10.1.2.3"};

    for (size_t i = 0; i < sizeof inside / sizeof *inside; i++)
        if (!is_private(inside[i]))
            fail_msg("%s is private", inside[i]);
}

static void test_all_others_are_not(void **state) {
    static const char *const outside[] = {"0.0.0.0",     "9.255.255.255",
                                          "11.0.0.0",    "126.255.0.1",
                                          "128.0.0.1",   "172.15.255.255",
                                          "172.32.0.0",  "192.167.255.255",
                                          "192.169.0.0", "169.254.169.254",
                                          "100.64.0.1",  "255.255.255.255",
                                          "::",          "::2",
                                          "fbff::1",     "fe80::1",
                                          "2001:db8::1", "::ffff:8.8.8.8",
                                          "::127.0.0.1", "64:ff9b::a00:1"};
    const struct sockaddr local = {.sa_family = AF_UNIX};

    for (size_t i = 0; i < sizeof outside / sizeof *outside; i++)
        if (is_private(outside[i]))
            fail_msg("%s is not private", outside[i]);
    assert_false(address_is_private(&local));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_loopback_and_private_networks_are_private),
        cmocka_unit_test(test_all_others_are_not),
    };

    return cmocka_run_group_tests_name("addresses", tests, NULL, NULL);
}
