/* What the contract's tests share: they run once over each backend. */
#ifndef LOCKKIT_TEST_CONTRACT_H
#define LOCKKIT_TEST_CONTRACT_H

#include "fixture.h"

static const char *url; /* of the backend under test */

static inline int set_up(void **state) {
    struct fixture *fixture = malloc(sizeof *fixture);

    assert_non_null(fixture);
    fixture_init(fixture);
    fixture->client = open_client(fixture, url);
    fixture->lock = open_lock(fixture, fixture->client, 2000);
    *state = fixture;
    return 0;
}

static inline int tear_down(void **state) {
    fixture_end(*state);
    free(*state);
    return 0;
}

static inline bool has(const struct fixture *fixture, enum lk_caps cap) {
    return (lk_client_caps(fixture->client) & cap) != 0;
}

static inline void assert_free(struct fixture *fixture, lk_lock *lock) {
    struct caller caller;

    assert_int_equal(take(fixture, &caller, lock, 10000), LK_OK);
    assert_int_equal(give(fixture, &caller), LK_OK);
}

static inline void turn(struct fixture *fixture, int times) {
    while (times-- > 0)
        (void)uv_run(&fixture->loop, UV_RUN_ONCE);
}

#define CONTRACT(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

/* Run `count` tests over every backend, named in the output. Returns how many failed. */
static inline int run_contract(const struct CMUnitTest *tests, size_t count) {
    static const char *const names[] = {"local", "redis"};
    int failed = 0;

    for (size_t i = 0; i < 2; i++) {
        url = i == 0 ? "local:" : redis_url();
        failed += _cmocka_run_group_tests(names[i], tests, count, NULL, NULL);
    }
    return failed;
}

#endif
