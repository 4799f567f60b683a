/* A name with several addresses: each one is tried, and none keeps the client from the others. */
#include "http_client_fixture.h"
#include "names.h"

static int tear_down(void **state) {
    names_lead_to(NULL);
    return http_client_tear_down(state);
}

static void open_by_name(const char *addresses, uint64_t timeout_ms) {
    names_lead_to(addresses);
    open_client((struct http_client_options){
        .host = "shop.example", .connections = 1, .connect_timeout_ms = timeout_ms});
}

static void test_an_address_that_refuses_is_passed_over(void **state) {
    open_by_name("::1 127.0.0.1", 0);
    call_to_end();
}

/* An IPv6 address on a machine without IPv6. */
static void test_an_address_without_a_way_to_it_is_passed_over(void **state) {
    open_by_name("255.255.255.255 ::1 127.0.0.1", 0);
    call_to_end();
}

/* Connecting may take a minute, and the test has less. */
static void test_a_silent_address_is_left_for_the_next_one(void **state) {
    struct silent silent;

    silent_start(&silent, "::1", caller.port);
    open_by_name("::1 127.0.0.1", 60000);
    call_to_end();
    silent_stop(&silent);
}

/* The next connection begins with the address that answered. At first nobody listens on the first
 * address, and then a server does. */
static void test_the_address_that_answered_is_tried_first(void **state) {
    struct silent first;

    open_by_name("127.0.0.2 127.0.0.1", 60000);
    for (int i = 0; i < 2; i++) {
        call_to_end();
        WAIT_FOR(&caller.loop, stats_of().connections == 0);
        if (i == 0)
            silent_start(&first, "127.0.0.2", caller.port);
    }
    assert_int_equal(stats_of().opened, 2);
    silent_stop(&first);
}

static void test_without_any_the_last_reason_and_its_address_are_told(void **state) {
    struct record record;
    char expected[64];

    open_by_name("::1 127.0.0.2", 60000);
    call_start(&record);
    (void)snprintf(expected, sizeof expected, "127.0.0.2:%d: connection refused", caller.port);
    expect_error(&record, HTTP_CALL_NOT_SENT, expected);
    assert_int_equal(stats_of().connect_failures, 1);
}

static void test_silent_addresses_end_with_the_time_to_connect(void **state) {
    static const char *const addresses[] = {"::1", "127.0.0.2"};
    struct silent silent[2];
    struct record record;

    for (int i = 0; i < 2; i++)
        silent_start(&silent[i], addresses[i], caller.port);
    open_by_name("::1 127.0.0.2", 50);
    call_start(&record);
    expect_error(&record, HTTP_CALL_NOT_SENT, "connection timed out");
    for (int i = 0; i < 2; i++)
        silent_stop(&silent[i]);
}

/* The server of the kept address has gone, and the name leads to another. */
static void open_kept(const char *addresses, uint64_t timeout_ms) {
    names_lead_to(addresses);
    open_client((struct http_client_options){.host = "127.0.0.2",
                                             .name = "shop.example",
                                             .connections = 1,
                                             .connect_timeout_ms = timeout_ms});
}

static void test_a_kept_address_that_refuses_is_looked_up_again(void **state) {
    open_kept("127.0.0.1", 0);
    call_to_end();
}

static void test_a_kept_address_that_is_silent_is_looked_up_again(void **state) {
    struct silent silent;

    silent_start(&silent, "127.0.0.2", caller.port);
    open_kept("127.0.0.2 127.0.0.1", 60000);
    call_to_end();
    silent_stop(&silent);
}

/* The second connection needs no name. */
static void test_the_address_that_answers_is_kept(void **state) {
    open_kept("127.0.0.1", 0);
    call_to_end();
    WAIT_FOR(&caller.loop, stats_of().connections == 0);
    names_lead_to("127.0.0.3");
    call_to_end();
    assert_int_equal(stats_of().opened, 2);
}

static void test_a_name_that_leads_nowhere_tells_why(void **state) {
    struct record record;

    open_kept("127.0.0.3", 0);
    call_start(&record);
    expect_error(&record, HTTP_CALL_NOT_SENT, "connection refused");
}

static void test_a_client_closes_between_two_addresses(void **state) {
    struct record record;

    for (int turns = 0; turns < 8; turns++) {
        open_by_name("::1 127.0.0.2 127.0.0.3", 60000);
        call_start(&record);
        for (int i = 0; i < turns; i++)
            (void)uv_run(&caller.loop, UV_RUN_NOWAIT);
        close_client();
        expect(&record, HTTP_CALL_NOT_SENT);
    }
}

#define NAMES_TEST(test) cmocka_unit_test_setup_teardown(test, http_client_set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        NAMES_TEST(test_an_address_that_refuses_is_passed_over),
        NAMES_TEST(test_an_address_without_a_way_to_it_is_passed_over),
        NAMES_TEST(test_a_silent_address_is_left_for_the_next_one),
        NAMES_TEST(test_the_address_that_answered_is_tried_first),
        NAMES_TEST(test_without_any_the_last_reason_and_its_address_are_told),
        NAMES_TEST(test_silent_addresses_end_with_the_time_to_connect),
        NAMES_TEST(test_a_kept_address_that_refuses_is_looked_up_again),
        NAMES_TEST(test_a_kept_address_that_is_silent_is_looked_up_again),
        NAMES_TEST(test_the_address_that_answers_is_kept),
        NAMES_TEST(test_a_name_that_leads_nowhere_tells_why),
        NAMES_TEST(test_a_client_closes_between_two_addresses),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
