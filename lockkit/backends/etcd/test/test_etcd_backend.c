/* The etcd backend with URLs, names, passwords and keys of other programs; its costs; and its
 * behaviour when keys are deleted, a reply and its lease are lost, and members restart or die. */
#include "etcd_env.h"
#include "etcd_line.h"

static void test_url_is_taken_apart(void **state) {
    struct etcd_url url;

    assert_true(etcd_url_parse(&url, "etcd://a"));
    assert_int_equal(url.count, 1);
    assert_string_equal(url.endpoints[0].host, "a");
    assert_int_equal(url.endpoints[0].port, 2379);
    assert_string_equal(url.prefix, "lk/");
    assert_true(etcd_url_parse(&url, "etcd://u%40:p%2F:w@a:1,[::1]:2,c/x/y%20"));
    assert_int_equal(url.count, 3);
    assert_string_equal(url.user, "u@");
    assert_string_equal(url.password, "p/:w");
    assert_string_equal(url.endpoints[1].host, "::1");
    assert_int_equal(url.endpoints[1].port, 2);
    assert_string_equal(url.endpoints[2].host, "c");
    assert_string_equal(url.prefix, "x/y /");
}

static void test_bad_url_is_refused(void **state) {
    static const char *const bad[] = {"etcd://",
                                      "etcd://,",
                                      "etcd://a,",
                                      "etcd://a:",
                                      "etcd://a:0",
                                      "etcd://a:65536",
                                      "etcd://[::1",
                                      "etcd://u@a",
                                      "etcd://:p@a",
                                      "etcd://a/%",
                                      "etcd://a/%00",
                                      "etcd://a?ttl=5",
                                      "etcd://a:1:2",
                                      "etcd://[a]b",
                                      "etcd://u:%zz@a",
                                      "etcd://a/x#y",
                                      "etcd://a,b,c,d,e,f,g,h,i,j"};
    struct etcd_url url;

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (etcd_url_parse(&url, bad[i]))
            fail_msg("%s", bad[i]);
}

static void test_base64_comes_back(void **state) {
    static const char *const bad[] = {"A", "AB", "ABC", "AB=C", "A===", "AB==AB==", "AB!=", "=="};
    char bytes[64], text[BASE64_SIZE(64)], back[64];
    json_t *object;

    for (size_t length = 0; length < sizeof bytes; length++) {
        memset(bytes, 0, sizeof bytes);
        for (size_t i = 0; i < length; i++)
            bytes[i] = (char)(255 - 7 * i % 251);
        base64_encode(text, bytes, length);
        object = json_pack("{s:s}", "x", text);
        assert_true(json_bytes_of(object, "x", back, sizeof back));
        assert_string_equal(back, bytes);
        assert_false(json_bytes_of(object, "x", back, length));
        json_decref(object);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        object = json_pack("{s:s}", "x", bad[i]);
        if (json_bytes_of(object, "x", back, sizeof back))
            fail_msg("%s", bad[i]);
        json_decref(object);
    }
}

static void test_second_acquisition_of_a_client_costs_one_question(void **state) {
    struct env *env = *state;
    lk_lock *lock = open_lock(&env->fixture, env->fixture.client, 60000);
    struct caller caller;

    for (unsigned i = 0; i < 3; i++) {
        obtain(&env->fixture, &caller, lock, LK_TRY);
        assert_int_equal(caller.round_trips, i == 0 ? 2 : 1);
        assert_int_equal(give(&env->fixture, &caller), LK_OK);
    }
}

static void test_closed_client_leaves_no_lease(void **state) {
    struct env *env = *state;
    lk_client *clients[2];
    int leases = etcd_leases();
    struct caller holder, waiter;

    for (int i = 0; i < 2; i++)
        clients[i] = open_client(&env->fixture, etcd.url);
    obtain(&env->fixture, &holder, open_lock(&env->fixture, clients[0], 60000), LK_TRY);
    time_out(&env->fixture, &waiter, open_lock(&env->fixture, clients[1], 60000));
    assert_int_equal(give(&env->fixture, &holder), LK_OK);
    for (int i = 0; i < 2; i++)
        close_client(&env->fixture, clients[i]);
    assert_int_equal(etcd_leases(), leases);
    assert_int_equal(own_etcd_keys(&etcd), 0);
}

static lk_lock *open_named(struct env *env, const char *name) {
    lk_lock *lock;

    assert_int_equal(lk_lock_open(&lock, env->fixture.client, name, NULL), LK_OK);
    return lock;
}

static void test_names_that_begin_alike_are_different_locks(void **state) {
    static const char *const names[] = {"a", "a/", "a/b", "a%2Fb", "a%", "\xff\x01", "a/b/c"};
    enum { COUNT = sizeof names / sizeof *names };
    struct env *env = *state;
    struct caller callers[COUNT];

    for (int i = 0; i < COUNT; i++)
        obtain(&env->fixture, &callers[i], open_named(env, names[i]), LK_TRY);
    assert_int_equal(own_etcd_keys(&etcd), COUNT);
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(give(&env->fixture, &callers[i]), LK_OK);
}

/* A key of another program, without a lease: bGsveC9tZQ== is lk/x/me, c29tZW9uZQ== someone. */
static void test_key_of_another_program_holds_the_lock_until_it_is_broken(void **state) {
    struct env *env = *state;
    lk_lock *lock = open_named(env, "x");
    struct inspected seen;
    struct caller caller;
    char reply[1024];

    assert_true(own_etcd_ask(&etcd, 0, "/v3/kv/put",
                             "{\"key\":\"bGsveC9tZQ==\",\"value\":\"c29tZW9uZQ==\"}", reply,
                             sizeof reply));
    assert_int_equal(take(&env->fixture, &caller, lock, LK_TRY), LK_BUSY);
    seen = inspect_lock(&env->fixture, lock);
    assert_int_equal(seen.status, LK_OK);
    assert_int_equal(seen.holders, 1);
    assert_int_equal(seen.mode, LK_EXCLUSIVE);
    assert_string_equal(seen.owner, "me");
    assert_string_equal(seen.label, "someone");
    assert_int_equal(seen.remaining_ms, -1);
    assert_int_equal(break_lock(&env->fixture, lock, "me"), LK_OK);
    use_once(&env->fixture, lock, LK_TRY);
}

/* ---- Faults */

/* From the first renewal on an event tells it, before the next renewal. */
static void test_holder_hears_at_once_that_its_key_was_deleted(void **state) {
    struct env *env = *state;
    struct caller caller;

    env_hold(env, &caller, env->far, 6000);
    WAIT_FOR(&env->fixture.loop, counters(env->far).renewed == 1);
    own_etcd_clear(&etcd);
    WAIT_FOR(&env->fixture.loop, strstr(env->trace, "lost"));
    assert_string_equal(env->why, "its key was deleted, or its lease has ended");
    assert_int_equal(give(&env->fixture, &caller), LK_LOST);
}

static void test_waiter_whose_key_was_deleted_stands_in_line_again(void **state) {
    struct env *env = *state;
    struct caller holder, waiter;

    env_hold(env, &holder, env->fixture.client, 5000);
    start(&waiter, open_lock(&env->fixture, env->far, 5000), LK_FOREVER);
    WAIT_FOR(&env->fixture.loop, own_etcd_keys(&etcd) == 2);
    own_etcd_clear(&etcd);
    WAIT_FOR(&env->fixture.loop, waiter.calls == 1);
    assert_int_equal(waiter.status, LK_OK);
    assert_true(lk_lease_fence(waiter.lease) > lk_lease_fence(holder.lease));
    assert_int_equal(give(&env->fixture, &holder), LK_LOST);
    assert_int_equal(give(&env->fixture, &waiter), LK_OK);
}

static void test_key_of_a_lost_reply_is_given_back_with_its_lease(void **state) {
    struct env *env = *state;
    struct caller caller;
    lk_lock *lock = open_lock(&env->fixture, env->far, 60000);
    int leases = etcd_leases();

    env_lose_grant(env, &caller, lock, LK_TRY);
    WAIT_FOR(&env->fixture.loop, caller.calls == 1);
    assert_int_equal(caller.status, LK_UNKNOWN);
    fault_proxy_set(env->proxy, PROXY_PASSES);
    WAIT_FOR(&env->fixture.loop, own_etcd_keys(&etcd) == 0 && etcd_leases() == leases);
}

static void test_lock_outlives_a_restart_of_the_server(void **state) {
    struct env *env = *state;
    struct fixture *fixture = &env->fixture;
    lk_client *client = fixture->other = open_client(fixture, etcd.url);
    struct caller caller, other;
    uint64_t renewed, fence;

    env_hold(env, &caller, fixture->client, 15000);
    fence = lk_lease_fence(caller.lease);
    own_etcd_kill(&etcd, 0);
    assert_int_equal(take(fixture, &other, open_lock(fixture, client, 9000), LK_TRY),
                     LK_UNAVAILABLE);
    own_etcd_restart(&etcd, 0);
    (void)own_etcd_leader(&etcd);
    renewed = counters(fixture->client).renewed;
    WAIT_FOR(&fixture->loop, counters(fixture->client).renewed > renewed);
    assert_int_equal(lk_lease_state(caller.lease), LK_HELD);
    assert_int_equal(take(fixture, &other, open_lock(fixture, client, 9000), LK_TRY), LK_BUSY);
    assert_int_equal(give(fixture, &caller), LK_OK);
    env_hold(env, &other, client, 9000);
    assert_true(lk_lease_fence(other.lease) > fence);
    assert_int_equal(give(fixture, &other), LK_OK);
}

/* ---- Three members, some of them dead, stopped or without a leader */

static int other_than(int member) {
    return (member + 1) % OWN_ETCD_MOST;
}

static void revive(int member) {
    own_etcd_restart(&etcd, member);
    (void)own_etcd_leader(&etcd);
}

static void test_others_are_asked_when_one_is_dead(void **state) {
    struct env *env = *state;
    int follower = other_than(own_etcd_leader(&etcd));
    uint64_t fence = 0;

    own_etcd_kill(&etcd, follower);
    for (int i = 0; i < 3; i++) {
        uint64_t next = use_once(&env->fixture, env->fixture.lock, 15000);

        assert_true(next > fence);
        fence = next;
    }
    revive(follower);
}

/* This member accepts connections and never answers: each question goes to another member. */
static void test_others_are_asked_when_one_is_stopped(void **state) {
    struct env *env = *state;
    int follower = other_than(own_etcd_leader(&etcd));
    char url[160];
    struct lk_client_options options = {.size = sizeof options, .reply_ms = 4000};
    struct caller caller;
    lk_client *client;

    (void)snprintf(url, sizeof url, "etcd://127.0.0.1:%d,127.0.0.1:%d", etcd.members[follower].port,
                   etcd.members[other_than(follower)].port);
    assert_int_equal(lk_client_open(&client, &env->fixture.loop, url, &options), LK_OK);
    own_etcd_pause(&etcd, follower);
    assert_int_equal(take(&env->fixture, &caller, open_lock(&env->fixture, client, 5000), LK_TRY),
                     LK_OK);
    assert_int_equal(give(&env->fixture, &caller), LK_OK);
    own_etcd_resume(&etcd, follower);
    close_client(&env->fixture, client);
}

static void test_lease_outlives_the_leader(void **state) {
    struct env *env = *state;
    int leader = own_etcd_leader(&etcd);
    lk_lock *lock = open_lock(&env->fixture, env->fixture.client, 9000);
    struct caller caller;
    uint64_t renewed, fence;

    assert_int_equal(take(&env->fixture, &caller, lock, LK_FOREVER), LK_OK);
    fence = lk_lease_fence(caller.lease);
    lk_lease_on_state(caller.lease, env_trace_state, env);
    own_etcd_kill(&etcd, leader);
    renewed = counters(env->fixture.client).renewed;
    WAIT_FOR(&env->fixture.loop, counters(env->fixture.client).renewed >= renewed + 2);
    assert_int_equal(lk_lease_state(caller.lease), LK_HELD);
    assert_string_equal(env->trace, "");
    assert_int_equal(give(&env->fixture, &caller), LK_OK);
    assert_true(use_once(&env->fixture, env->fixture.lock, 15000) > fence);
    revive(leader);
}

/* Only its own answer says so: no other member is asked. */
static void test_member_without_a_leader_grants_nothing(void **state) {
    struct env *env = *state;
    int leader = own_etcd_leader(&etcd), last = other_than(leader);
    lk_client *client;
    char url[64];

    (void)snprintf(url, sizeof url, "etcd://127.0.0.1:%d", etcd.members[last].port);
    client = open_client(&env->fixture, url);
    own_etcd_kill(&etcd, leader);
    own_etcd_kill(&etcd, other_than(last));
    await_unavailable(&env->fixture, open_lock(&env->fixture, client, 5000));
    own_etcd_restart(&etcd, other_than(last));
    revive(leader);
    close_client(&env->fixture, client);
}

/* ---- A cluster that wants a password */

static struct own_etcd guarded;

static int guarded_start(void **state) {
    static const char *const steps[][2] = {
        {"/v3/auth/user/add", "{\"name\":\"root\",\"password\":\"s3/cret\"}"},
        {"/v3/auth/role/add", "{\"name\":\"root\"}"},
        {"/v3/auth/user/grant", "{\"user\":\"root\",\"role\":\"root\"}"},
        {"/v3/auth/enable", "{}"}};
    char reply[1024];

    own_etcd_start(&guarded, 1);
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        assert_true(own_etcd_ask(&guarded, 0, steps[i][0], steps[i][1], reply, sizeof reply));
    return 0;
}

static int guarded_stop(void **state) {
    own_etcd_stop(&guarded);
    return 0;
}

static int guarded_set_up(void **state) {
    struct fixture *fixture = malloc(sizeof *fixture);

    assert_non_null(fixture);
    fixture_init(fixture);
    *state = fixture;
    return 0;
}

static int guarded_tear_down(void **state) {
    fixture_end(*state);
    free(*state);
    return 0;
}

static lk_client *open_as(struct fixture *fixture, const char *who) {
    char url[128];

    (void)snprintf(url, sizeof url, "etcd://%s127.0.0.1:%d", who, guarded.members[0].port);
    return open_client(fixture, url);
}

static enum lk_status attempt_as(struct fixture *fixture, const char *who) {
    lk_client *client = open_as(fixture, who);
    struct caller caller;

    (void)take(fixture, &caller, open_lock(fixture, client, 5000), LK_TRY);
    if (caller.status == LK_OK)
        assert_int_equal(give(fixture, &caller), LK_OK);
    close_client(fixture, client);
    return caller.status;
}

static void test_password_lets_in(void **state) {
    assert_int_equal(attempt_as(*state, "root:s3%2Fcret@"), LK_OK);
    assert_int_equal(attempt_as(*state, "root:wrong@"), LK_REFUSED);
    assert_int_equal(attempt_as(*state, ""), LK_REFUSED);
}

static void test_token_that_is_not_known_any_more_is_got_anew(void **state) {
    struct fixture *fixture = *state;
    lk_client *client = fixture->other = open_as(fixture, "root:s3%2Fcret@");
    lk_lock *lock = open_lock(fixture, client, 5000);

    for (int i = 0; i < 2; i++) {
        use_once(fixture, lock, 15000);
        own_etcd_kill(&guarded, 0); /* it keeps tokens in memory */
        own_etcd_restart(&guarded, 0);
    }
    use_once(fixture, lock, 15000);
}

#define GUARDED_TEST(test) cmocka_unit_test_setup_teardown(test, guarded_set_up, guarded_tear_down)

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_url_is_taken_apart),
        cmocka_unit_test(test_bad_url_is_refused),
        cmocka_unit_test(test_base64_comes_back),
        ETCD_TEST(test_second_acquisition_of_a_client_costs_one_question),
        ETCD_TEST(test_closed_client_leaves_no_lease),
        ETCD_TEST(test_names_that_begin_alike_are_different_locks),
        ETCD_TEST(test_key_of_another_program_holds_the_lock_until_it_is_broken),
        ETCD_TEST(test_holder_hears_at_once_that_its_key_was_deleted),
        ETCD_TEST(test_waiter_whose_key_was_deleted_stands_in_line_again),
        ETCD_TEST(test_key_of_a_lost_reply_is_given_back_with_its_lease),
        ETCD_TEST(test_lock_outlives_a_restart_of_the_server),
    };
    static const struct CMUnitTest of_three[] = {
        ETCD_TEST(test_others_are_asked_when_one_is_dead),
        ETCD_TEST(test_others_are_asked_when_one_is_stopped),
        ETCD_TEST(test_lease_outlives_the_leader),
        ETCD_TEST(test_member_without_a_leader_grants_nothing),
    };
    static const struct CMUnitTest guarded_tests[] = {
        GUARDED_TEST(test_password_lets_in),
        GUARDED_TEST(test_token_that_is_not_known_any_more_is_got_anew),
    };

    return cmocka_run_group_tests(tests, etcd_one_start, etcd_stop) +
           cmocka_run_group_tests(of_three, etcd_three_start, etcd_stop) +
           cmocka_run_group_tests(guarded_tests, guarded_start, guarded_stop);
}
