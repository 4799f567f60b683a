/* A name with several addresses: each one is tried, and the reason for being down is told. */
#include "names.h"
#include "pg_fixture.h"
#include "said.h"

#include "log.h"

/* To the proxy, under a name. */
static void open_by_name(const char *addresses) {
    static char conninfo[512];
    struct pg_pool_options options = {.conninfo = conninfo,
                                      .name = fixture.name,
                                      .connections = 2,
                                      .connect_timeout_ms = PATIENCE_MS};

    (void)snprintf(conninfo, sizeof conninfo, "host=shop.example%s",
                   strchr(fixture.proxy_conninfo, ' '));
    names_lead_to(addresses);
    fixture.is_closed = false;
    assert_int_equal(pg_pool_open(&fixture.pool, &fixture.loop, &options), 0);
}

static void expect_connections(void) {
    WAIT_FOR(&fixture.loop, pool_stats().connections == 2);
    assert_int_equal(said("postgres is down"), 0);
}

static int set_up(void **state) {
    log_init("test", LOG_INFO);
    said_start();
    return pg_set_up(state);
}

static int tear_down(void **state) {
    int status = pg_tear_down(state);

    names_lead_to(NULL);
    said_stop();
    return status;
}

static void test_an_address_that_refuses_is_passed_over(void **state) {
    fault_proxy_listen(fixture.proxy);
    open_by_name("::1 127.0.0.2 127.0.0.1");
    expect_connections();
}

static void test_a_silent_address_is_left_for_the_next_one(void **state) {
    struct silent silent;

    fault_proxy_listen(fixture.proxy);
    silent_start(&silent, "::1", fixture.proxy->port);
    open_by_name("::1 127.0.0.1");
    expect_connections();
    silent_stop(&silent);
}

static void test_without_any_the_last_reason_and_its_address_are_told(void **state) {
    open_by_name("::1 127.0.0.2");
    WAIT_FOR(&fixture.loop, said("postgres is down") == 1);
    assert_int_equal(said("127.0.0.2"), 1);
    assert_int_equal(said("Connection refused"), 1);
}

static void test_a_name_that_is_none_is_told(void **state) {
    open_by_name("");
    WAIT_FOR(&fixture.loop, said("postgres is down") == 1);
    assert_int_equal(said("shop.example: unknown node or service"), 1);
}

/* The server has answered: no other address is tried. */
static void test_a_server_that_refuses_the_login_has_the_last_word(void **state) {
    fault_proxy_listen(fixture.proxy);
    (void)strcat(fixture.proxy_conninfo, " user=test_pg_nobody password=wrong");
    open_by_name("127.0.0.1 127.0.0.2");
    WAIT_FOR(&fixture.loop, said("postgres is down") == 1);
    assert_int_equal(said("test_pg_nobody"), 1);
    assert_int_equal(said("127.0.0.2"), 0);
}

static void test_a_server_with_its_most_clients_says_so(void **state) {
    char conninfo[512], limit[80];

    make_role(conninfo);
    (void)snprintf(limit, sizeof limit, "ALTER ROLE %s CONNECTION LIMIT 0", fixture.name);
    (void)ask(limit);
    open_pool(conninfo, 1, 0);
    WAIT_FOR(&fixture.loop, said("postgres is down") == 1);
    assert_int_equal(said("too many connections for role"), 1);
    (void)snprintf(limit, sizeof limit, "ALTER ROLE %s CONNECTION LIMIT 2", fixture.name);
    (void)ask(limit);
    WAIT_FOR(&fixture.loop, pool_stats().connections == 1);
    drop_role();
}

static void test_a_pool_closes_at_any_turn_of_an_attempt(void **state) {
    fault_proxy_listen(fixture.proxy);
    for (int turns = 0; turns < 12; turns++) {
        open_by_name("::1 127.0.0.2 127.0.0.1");
        for (int i = 0; i < turns; i++)
            (void)uv_run(&fixture.loop, UV_RUN_NOWAIT);
        close_pool();
    }
}

#define NAMES_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        NAMES_TEST(test_an_address_that_refuses_is_passed_over),
        NAMES_TEST(test_a_silent_address_is_left_for_the_next_one),
        NAMES_TEST(test_without_any_the_last_reason_and_its_address_are_told),
        NAMES_TEST(test_a_name_that_is_none_is_told),
        NAMES_TEST(test_a_server_that_refuses_the_login_has_the_last_word),
        NAMES_TEST(test_a_server_with_its_most_clients_says_so),
        NAMES_TEST(test_a_pool_closes_at_any_turn_of_an_attempt),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
