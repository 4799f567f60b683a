/* A name with several addresses: each is tried. The tests of the pool have the rest. */
#include "names.h"
#include "postgres_env.h"

#define HOST      "127.0.0.1"
#define ADDRESSES "::1 127.0.0.2 " HOST

static int tear_down(void **state) {
    names_lead_to(NULL);
    return env_close(state);
}

/* The proxy's address is the last one of the name. */
static lk_client *open_by_name(struct env *env, const char *mode) {
    char url[400];
    const char *by_address = postgres_url_at(env->proxy->port, mode), *host;

    host = strstr(by_address, HOST);
    assert_non_null(host);
    (void)snprintf(url, sizeof url, "%.*sshop.example%s", (int)(host - by_address), by_address,
                   host + strlen(HOST));
    names_lead_to(ADDRESSES);
    return open_client(&env->fixture, url);
}

static void expect_lock(struct env *env, const char *mode) {
    lk_client *client = open_by_name(env, mode);

    (void)use_once(&env->fixture, open_lock(&env->fixture, client, 2000), PATIENCE_MS);
    close_client(&env->fixture, client);
}

static void test_an_address_that_refuses_is_passed_over(void **state) {
    expect_lock(*state, "mode=session");
    expect_lock(*state, "mode=table");
}

static void test_a_client_closes_at_any_turn_of_an_attempt(void **state) {
    struct env *env = *state;

    for (int turns = 0; turns < 12; turns++) {
        lk_client *client = open_by_name(env, "mode=table");
        struct caller caller;

        start(&caller, open_lock(&env->fixture, client, 2000), 1);
        for (int i = 0; i < turns; i++)
            (void)uv_run(&env->fixture.loop, UV_RUN_NOWAIT);
        WAIT_FOR(&env->fixture.loop, caller.calls == 1);
        if (caller.status == LK_OK)
            assert_int_equal(give(&env->fixture, &caller), LK_OK);
        close_client(&env->fixture, client);
    }
}

#define NAMES_TEST(test) cmocka_unit_test_setup_teardown(test, postgres_set_up, tear_down)

int main(void) {
    static const struct CMUnitTest tests[] = {
        NAMES_TEST(test_an_address_that_refuses_is_passed_over),
        NAMES_TEST(test_a_client_closes_at_any_turn_of_an_attempt),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
