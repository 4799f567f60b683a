/* The folders of locks: the first client that wants a name makes its folder. */
#include "zookeeper_env.h"

#define MOST 200 /* locks, until a client knows what to expect */
#define MANY 20

static lk_lock *open_numbered(struct env *env, lk_client *client, const char *kind, int number) {
    char name[100];
    lk_lock *lock;

    (void)snprintf(name, sizeof name, "%s-%s-%d", env->fixture.name, kind, number);
    assert_int_equal(lk_lock_open(&lock, client, name, NULL), LK_OK);
    return lock;
}

/* Use a lock once. Returns the requests until the grant. */
static unsigned requests_of(struct env *env, lk_lock *lock) {
    struct caller caller;

    obtain(&env->fixture, &caller, lock, LK_FOREVER);
    assert_int_equal(give(&env->fixture, &caller), LK_OK);
    return caller.round_trips;
}

/* Use new names, until a grant costs no more than so many requests. */
static void await_new(struct env *env, lk_client *client, const char *kind, unsigned requests) {
    int number = 0;

    while (requests_of(env, open_numbered(env, client, kind, number)) > requests)
        assert_true(++number < MOST);
}

/* The same, with one name. */
static void await_known(struct env *env, lk_client *client, const char *kind, unsigned requests) {
    lk_lock *lock = open_numbered(env, client, kind, 0);
    int times = 0;

    while (requests_of(env, lock) > requests)
        assert_true(++times < MOST);
}

static void test_crowd_of_new_names_makes_folder_and_node_at_once(void **state) {
    struct env *env = *state;

    await_new(env, env->fixture.client, "new", 2);
    await_known(env, env->fixture.client, "new", 2);
}

static void test_crowd_of_new_names_of_the_unfair_kind_does_so_too(void **state) {
    struct env *env = *state;
    lk_client *client = open_zookeeper(env, zookeeper.url, "?fair=0");

    await_new(env, client, "new", 3);
    await_known(env, client, "new", 2);
    close_client(&env->fixture, client);
}

/* Both send a folder and a node at once. Only one of the nodes is the folder's first. */
static void two_want(struct env *env, lk_client *one, lk_client *other, int number) {
    struct caller callers[2];
    int first;

    start(&callers[0], open_numbered(env, one, "both", number), LK_FOREVER);
    start(&callers[1], open_numbered(env, other, "both", number), LK_FOREVER);
    WAIT_FOR(&env->fixture.loop, callers[0].calls + callers[1].calls > 0);
    first = callers[0].calls > 0 ? 0 : 1;
    assert_int_equal(callers[first].status, LK_OK);
    WAIT_FOR(&env->fixture.loop, lk_request_round_trips(callers[1 - first].request) >= 2);
    assert_int_equal(callers[1 - first].calls, 0);
    assert_int_equal(give(&env->fixture, &callers[first]), LK_OK);
    await_and_give(&env->fixture, &callers[1 - first]);
}

static void test_two_that_make_the_same_folder_do_not_both_hold_its_lock(void **state) {
    struct env *env = *state;

    await_new(env, env->fixture.client, "one", 2);
    await_new(env, env->far, "other", 2);
    for (int i = 0; i < MANY; i++)
        two_want(env, env->fixture.client, env->far, i);
}

/* A new client expects folders, and finds not even their parents. */
static void test_missing_parents_are_made(void **state) {
    struct env *env = *state;
    static const char *const queries[] = {"/a/b/c", "/d/e/f?fair=0"};

    for (int i = 0; i < 2; i++) {
        lk_client *client = open_zookeeper(env, zookeeper.url, queries[i]);

        assert_true(requests_of(env, open_numbered(env, client, "deep", 0)) > 3);
        await_known(env, client, "deep", 2);
        close_client(&env->fixture, client);
    }
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        ZOOKEEPER_TEST(test_crowd_of_new_names_makes_folder_and_node_at_once),
        ZOOKEEPER_TEST(test_crowd_of_new_names_of_the_unfair_kind_does_so_too),
        ZOOKEEPER_TEST(test_two_that_make_the_same_folder_do_not_both_hold_its_lock),
        ZOOKEEPER_TEST(test_missing_parents_are_made),
    };

    return cmocka_run_group_tests(tests, zookeeper_up, zookeeper_down);
}
