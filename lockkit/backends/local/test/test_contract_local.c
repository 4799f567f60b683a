/* The contract on the local backend, and more names at a time than its table begins with. */
#include "contract.h"
#include "fixture.h"

#define NAMES 1000

static int open_env(void **state) {
    return fixture_open(state, sizeof(struct fixture), "local:") == NULL;
}

static void test_each_of_many_names_is_one_lock(void **state) {
    static struct caller holders[NAMES], others[NAMES];
    struct fixture *fixture = *state;
    lk_lock *locks[NAMES];

    for (size_t i = 0; i < NAMES; i++) {
        (void)snprintf(fixture->name, sizeof fixture->name, "name %zu", i);
        locks[i] = open_lock(fixture, fixture->client, 0);
        obtain(fixture, &holders[i], locks[i], LK_TRY);
    }
    for (size_t i = 0; i < NAMES; i++)
        assert_int_equal(take(fixture, &others[i], locks[i], LK_TRY), LK_BUSY);
    for (size_t i = 0; i < NAMES; i++) {
        lk_release(holders[i].lease, on_caller_released, &holders[i]);
        (void)use_once(fixture, locks[i], LK_FOREVER);
        lk_lock_close(locks[i]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_each_of_many_names_is_one_lock, open_env,
                                        fixture_close),
    };

    return run_contract(&(struct contract){.name = "local", .url = "local:"}) +
           run_contract(
               &(struct contract){.name = "local with hand-over", .url = "local:?handover=16"}) +
           cmocka_run_group_tests(tests, NULL, NULL);
}
