/* Locks in a cluster: slots move while locks are held and waited for, and nodes die. */
#include "cluster_slot.h"
#include "fixture.h"
#include "own_cluster.h"

#define TTL_MS 3000

static struct own_cluster cluster;

struct env {
    struct fixture fixture;
    lk_lock *lock;
    int slot, home, away; /* for the lock's name: its node, and another one */
};

static int start_all(void **state) {
    own_cluster_start(&cluster);
    return 0;
}

static int stop_all(void **state) {
    own_cluster_stop(&cluster);
    return 0;
}

static lk_client *open_here(struct env *env) {
    char url[128];

    (void)snprintf(url, sizeof url, "redis+cluster://127.0.0.1:%d,127.0.0.1:%d",
                   cluster.nodes[0].port, cluster.nodes[1].port);
    return open_client(&env->fixture, url);
}

static int node_of(int slot) {
    int node = 0;

    while (slot >= (node + 1) * CLUSTER_SLOTS / CLUSTER_NODES)
        node++;
    return node;
}

static int set_up(void **state) {
    struct env *env = calloc(1, sizeof *env);
    static int count;

    assert_non_null(env);
    fixture_init(&env->fixture);
    /* Each in a slot that no other test has moved. */
    (void)snprintf(env->fixture.name, sizeof env->fixture.name, "slot-%d", count++);
    env->fixture.client = open_here(env);
    env->lock = open_lock(&env->fixture, env->fixture.client, TTL_MS);
    env->slot = cluster_slot(env->fixture.name);
    env->home = node_of(env->slot);
    env->away = (env->home + 1) % CLUSTER_NODES;
    *state = env;
    return 0;
}

static int tear_down(void **state) {
    struct env *env = *state;

    fixture_end(&env->fixture);
    free(env);
    return 0;
}

static uint64_t renewed(const struct env *env) {
    return counters(env->fixture.client).renewed;
}

static void await_renewals(struct env *env, uint64_t count) {
    const uint64_t before = renewed(env);

    WAIT_FOR(&env->fixture.loop, renewed(env) >= before + count);
}

static void move_slot(const struct env *env) {
    own_cluster_begin_moving(&cluster, env->slot, env->home, env->away);
    own_cluster_move_keys(&cluster, env->slot, env->home, env->away);
    own_cluster_end_moving(&cluster, env->slot, env->away);
}

static void test_names_are_on_all_nodes(void **state) {
    struct env *env = *state;
    int used[CLUSTER_NODES] = {0};

    for (int i = 0; i < 30; i++) {
        char name[32];
        lk_lock *lock;

        (void)snprintf(name, sizeof name, "%d}{%d", i, i);
        used[node_of(cluster_slot(name))]++;
        assert_int_equal(lk_lock_open(&lock, env->fixture.client, name, NULL), LK_OK);
        use_once(&env->fixture, lock, LK_TRY);
        lk_lock_close(lock);
    }
    assert_true(used[0] > 0 && used[1] > 0 && used[2] > 0);
}

static void test_name_without_a_slot_is_refused(void **state) {
    struct env *env = *state;
    struct caller caller;
    lk_lock *lock;

    assert_int_equal(lk_lock_open(&lock, env->fixture.client, "}", NULL), LK_OK);
    assert_int_equal(take(&env->fixture, &caller, lock, LK_TRY), LK_UNSUPPORTED);
}

static void limit_memory(int bytes) {
    for (int i = 0; i < CLUSTER_NODES; i++)
        own_redis_do(&cluster.nodes[i], "CONFIG SET maxmemory %d", bytes);
}

static void test_leases_are_renewed_and_given_back_by_full_nodes(void **state) {
    struct env *env = *state;
    const struct lk_lock_options shared = {
        .size = sizeof shared, .mode = LK_SHARED, .ttl_ms = TTL_MS, .limit = 2};
    struct caller alone, holder, late;
    lk_lock *lock;

    assert_int_equal(lk_lock_open(&lock, env->fixture.client, "full", &shared), LK_OK);
    obtain(&env->fixture, &alone, env->lock, LK_TRY);
    obtain(&env->fixture, &holder, lock, LK_TRY);
    limit_memory(1);
    await_renewals(env, 8); /* both leases, past their TTL */
    assert_int_equal(counters(env->fixture.client).renew_failed, 0);
    assert_int_equal(take(&env->fixture, &late, lock, LK_TRY), LK_REFUSED);
    assert_int_equal(give(&env->fixture, &alone), LK_OK);
    assert_int_equal(give(&env->fixture, &holder), LK_OK);
    limit_memory(0);
}

static void test_lease_is_renewed_while_its_slot_moves(void **state) {
    struct env *env = *state;
    struct caller caller;
    uint64_t fence;

    obtain(&env->fixture, &caller, env->lock, LK_TRY);
    fence = lk_lease_fence(caller.lease);
    own_cluster_begin_moving(&cluster, env->slot, env->home, env->away);
    await_renewals(env, 2); /* by the old node, which still has the key */
    own_cluster_move_keys(&cluster, env->slot, env->home, env->away);
    await_renewals(env, 2); /* ASK */
    own_cluster_end_moving(&cluster, env->slot, env->away);
    await_renewals(env, 2); /* MOVED */
    assert_int_equal(lk_lease_state(caller.lease), LK_HELD);
    assert_int_equal(give(&env->fixture, &caller), LK_OK);
    obtain(&env->fixture, &caller, env->lock, LK_TRY);
    assert_true(lk_lease_fence(caller.lease) > fence);
    assert_int_equal(give(&env->fixture, &caller), LK_OK);
}

/* The scripts need all keys of a lock. While the slot moves, no node has all of them. */
static void test_lock_cannot_be_taken_before_its_slot_has_moved(void **state) {
    struct env *env = *state;
    struct caller caller;

    own_cluster_begin_moving(&cluster, env->slot, env->home, env->away);
    assert_int_equal(take(&env->fixture, &caller, env->lock, LK_TRY), LK_UNAVAILABLE);
    start(&caller, env->lock, LK_FOREVER);
    own_cluster_end_moving(&cluster, env->slot, env->away);
    await_and_give(&env->fixture, &caller);
}

static void test_waiter_gets_the_lock_on_the_new_node(void **state) {
    struct env *env = *state;
    lk_client *client = env->fixture.other = open_here(env);
    struct caller holder, waiter;

    obtain(&env->fixture, &holder, env->lock, LK_TRY);
    start(&waiter, open_lock(&env->fixture, client, TTL_MS), LK_FOREVER);
    await_renewals(env, 1);
    move_slot(env);
    assert_int_equal(waiter.calls, 0);
    assert_int_equal(give(&env->fixture, &holder), LK_OK);
    await_and_give(&env->fixture, &waiter);
}

/* The message comes from the node of its subscription, through the new one. The new node knows no
 * listener, so it grants the lock only for a bounded time. */
static void test_waiter_does_not_believe_in_more_than_the_new_node_keeps(void **state) {
    struct env *env = *state;
    lk_client *client = env->fixture.other = open_here(env);
    const struct lk_lock_options options = {.poll_ms = 1000};
    struct caller holder, waiter;

    obtain(&env->fixture, &holder, open_lock_as(&env->fixture, env->fixture.client, options),
           LK_TRY);
    start(&waiter, open_lock_as(&env->fixture, client, options), LK_FOREVER);
    await_channel(&env->fixture, client, &waiter);
    move_slot(env);
    assert_int_equal(give(&env->fixture, &holder), LK_OK);
    WAIT_FOR(&env->fixture.loop, waiter.calls == 1);
    assert_int_equal(waiter.status, LK_OK);
    assert_true(lk_lease_remaining_ms(waiter.lease) <=
                own_redis_do(&cluster.nodes[env->away], "PTTL lk:{%s}", env->fixture.name));
    assert_int_equal(give(&env->fixture, &waiter), LK_OK);
}

static void test_cluster_without_a_node_is_unavailable_until_it_is_back(void **state) {
    struct env *env = *state;
    struct caller caller;

    use_once(&env->fixture, env->lock, LK_TRY);
    own_redis_kill(&cluster.nodes[env->home]);
    await_unavailable(&env->fixture, env->lock);
    start(&caller, env->lock, LK_FOREVER);
    own_cluster_restart(&cluster, env->home);
    await_and_give(&env->fixture, &caller);
}

static void test_bad_urls_are_invalid(void **state) {
    static const char *const urls[] = {
        "redis+cluster://",         "redis+cluster://a:1,",    "redis+cluster://a:x",
        "redis+cluster://a:0",      "redis+cluster://a:65536", "redis+cluster://:1",
        "redis+cluster://a:1/2",    "redis+cluster://[::1",    "redis+cluster://a:1?wait=x",
        "redis+cluster://p%zz@a:1",
    };
    struct env *env = *state;
    lk_client *client;

    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++)
        assert_int_equal(lk_client_open(&client, &env->fixture.loop, urls[i], NULL), LK_INVALID);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    static const struct CMUnitTest tests[] = {
        TEST(test_names_are_on_all_nodes),
        TEST(test_name_without_a_slot_is_refused),
        TEST(test_leases_are_renewed_and_given_back_by_full_nodes),
        TEST(test_lease_is_renewed_while_its_slot_moves),
        TEST(test_lock_cannot_be_taken_before_its_slot_has_moved),
        TEST(test_waiter_gets_the_lock_on_the_new_node),
        TEST(test_waiter_does_not_believe_in_more_than_the_new_node_keeps),
        TEST(test_cluster_without_a_node_is_unavailable_until_it_is_back),
        TEST(test_bad_urls_are_invalid),
    };

    return cmocka_run_group_tests(tests, start_all, stop_all);
}
