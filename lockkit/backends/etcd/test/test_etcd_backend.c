/* What the etcd backend makes of URLs, names, passwords and what others wrote, and what it costs.
 */
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
        assert_int_equal(take(&env->fixture, &caller, lock, LK_TRY), LK_OK);
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
    assert_int_equal(
        take(&env->fixture, &holder, open_lock(&env->fixture, clients[0], 60000), LK_TRY), LK_OK);
    assert_int_equal(take(&env->fixture, &waiter, open_lock(&env->fixture, clients[1], 60000), 100),
                     LK_TIMEOUT);
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
        assert_int_equal(take(&env->fixture, &callers[i], open_named(env, names[i]), LK_TRY),
                         LK_OK);
    assert_int_equal(own_etcd_keys(&etcd), COUNT);
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(give(&env->fixture, &callers[i]), LK_OK);
}

struct seen {
    bool is_answered;
    char owner[64], label[64];
    int64_t remaining_ms;
};

static void on_inspected(enum lk_status status, const struct lk_inspection *inspection,
                         void *data) {
    struct seen *seen = data;

    assert_int_equal(status, LK_OK);
    assert_int_equal(inspection->holder_count, 1);
    assert_int_equal(inspection->holders[0].mode, LK_EXCLUSIVE);
    (void)snprintf(seen->owner, sizeof seen->owner, "%s", inspection->holders[0].owner);
    (void)snprintf(seen->label, sizeof seen->label, "%s", inspection->holders[0].label);
    seen->remaining_ms = inspection->holders[0].remaining_ms;
    seen->is_answered = true;
}

/* A key of another program, without a lease: bGsveC9tZQ== is lk/x/me, c29tZW9uZQ== someone. */
static void test_key_of_another_program_holds_the_lock_until_it_is_broken(void **state) {
    struct env *env = *state;
    lk_lock *lock = open_named(env, "x");
    struct seen seen = {0};
    struct caller caller;
    char reply[1024];

    assert_true(own_etcd_ask(&etcd, 0, "/v3/kv/put",
                             "{\"key\":\"bGsveC9tZQ==\",\"value\":\"c29tZW9uZQ==\"}", reply,
                             sizeof reply));
    assert_int_equal(take(&env->fixture, &caller, lock, LK_TRY), LK_BUSY);
    assert_int_equal(lk_inspect(lock, on_inspected, &seen), LK_OK);
    WAIT_FOR(&env->fixture.loop, seen.is_answered);
    assert_string_equal(seen.owner, "me");
    assert_string_equal(seen.label, "someone");
    assert_int_equal(seen.remaining_ms, -1);
    memset(&caller, 0, sizeof caller);
    assert_int_equal(lk_break(lock, "me", on_caller_released, &caller), LK_OK);
    WAIT_FOR(&env->fixture.loop, caller.releases == 1);
    assert_int_equal(caller.release_status, LK_OK);
    assert_int_equal(take(&env->fixture, &caller, lock, LK_TRY), LK_OK);
    assert_int_equal(give(&env->fixture, &caller), LK_OK);
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
    lk_client *client = open_as(fixture, "root:s3%2Fcret@");
    lk_lock *lock = open_lock(fixture, client, 5000);
    struct caller caller;

    for (int i = 0; i < 2; i++) {
        assert_int_equal(take(fixture, &caller, lock, 15000), LK_OK);
        assert_int_equal(give(fixture, &caller), LK_OK);
        own_etcd_kill(&guarded, 0); /* it keeps tokens in memory */
        own_etcd_restart(&guarded, 0);
    }
    assert_int_equal(take(fixture, &caller, lock, 15000), LK_OK);
    assert_int_equal(give(fixture, &caller), LK_OK);
    close_client(fixture, client);
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
    };
    static const struct CMUnitTest guarded_tests[] = {
        GUARDED_TEST(test_password_lets_in),
        GUARDED_TEST(test_token_that_is_not_known_any_more_is_got_anew),
    };

    return cmocka_run_group_tests(tests, etcd_one_start, etcd_stop) +
           cmocka_run_group_tests(guarded_tests, guarded_start, guarded_stop);
}
