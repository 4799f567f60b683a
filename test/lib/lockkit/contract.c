/* The list of backends, and a fixture on each. */
#include "contract.h"
#include "redis_admin.h"

const char *url;

int contract_set_up(void **state) {
    struct fixture *fixture = malloc(sizeof *fixture);

    assert_non_null(fixture);
    fixture_init(fixture);
    fixture->client = open_client(fixture, url);
    fixture->lock = open_lock(fixture, fixture->client, 2000);
    *state = fixture;
    return 0;
}

int contract_tear_down(void **state) {
    fixture_end(*state);
    free(*state);
    return 0;
}

bool has(const struct fixture *fixture, enum lk_caps cap) {
    return (lk_client_caps(fixture->client) & cap) != 0;
}

void assert_free(struct fixture *fixture, lk_lock *lock) {
    struct caller caller;

    assert_int_equal(take(fixture, &caller, lock, 10000), LK_OK);
    assert_int_equal(give(fixture, &caller), LK_OK);
}

void turn(struct fixture *fixture, int times) {
    while (times-- > 0)
        (void)uv_run(&fixture->loop, UV_RUN_ONCE);
}

int run_contract(const struct CMUnitTest *tests, size_t count) {
    const struct {
        const char *name, *url;
    } backends[] = {{"local", "local:"}, {"redis", redis_url()}};
    int failed = 0;

    for (size_t i = 0; i < sizeof backends / sizeof *backends; i++) {
        url = backends[i].url;
        failed += _cmocka_run_group_tests(backends[i].name, tests, count, NULL, NULL);
    }
    return failed;
}
