/* The nodes that have a vote: they are old enough to have forgotten nothing that still counts. */
#include "redlock_env.h"

static int told_young, told_twin, told_silent;

static void on_log(enum lk_log_level level, const char *message, const char *pairs, void *data) {
    (void)level;
    (void)pairs;
    (void)data;
    told_young += strstr(message, "has no vote yet") != NULL;
    told_silent += strstr(message, "does not tell its age") != NULL;
    told_twin += strstr(message, "is the same server as another") != NULL;
}

/* Held on nodes 0 to 2. Then node 2 restarts without its memory, and the other two come up. */
static void forget_a_vote(struct redlock_env *env, struct caller *holder) {
    int64_t given_up_ms;

    for (int i = 3; i < ENSEMBLE_NODES; i++)
        own_redis_kill(&env->ensemble->nodes[i]);
    obtain(&env->fixture, holder, env->fixture.lock, 10000);
    WAIT_FOR(&env->fixture.loop, votes_held(env) == 3);
    /* Else the client would still ask the new nodes for the vote. */
    given_up_ms = clock_now_ms() + FIXTURE_REPLY_MS;
    WAIT_FOR(&env->fixture.loop, clock_now_ms() > given_up_ms);
    own_redis_kill(&env->ensemble->nodes[2]);
    for (int i = 2; i < ENSEMBLE_NODES; i++)
        own_redis_start_again(&env->ensemble->nodes[i]);
}

static void test_node_that_forgot_a_vote_has_none(void **state) {
    struct redlock_env *env = *state;
    lk_client *client;
    struct caller holder, second;

    forget_a_vote(env, &holder);
    client = redlock_env_open(env, "?longest=60000");
    assert_int_equal(
        take(&env->fixture, &second, open_lock(&env->fixture, client, REDLOCK_LONG_MS), 1500),
        LK_UNAVAILABLE);
    WAIT_FOR(&env->fixture.loop, votes_held(env) == 2); /* the holder's */
    close_client(&env->fixture, client);
    assert_int_equal(give(&env->fixture, &holder), LK_LOST); /* it learns that it has no majority */
}

/* The reason for the quarantine. */
static void test_without_quarantine_two_hold(void **state) {
    struct redlock_env *env = *state;
    lk_client *client;
    struct caller holder, second;

    forget_a_vote(env, &holder);
    client = env->fixture.other = redlock_env_open(env, "?quarantine=0");
    obtain(&env->fixture, &second, open_lock(&env->fixture, client, REDLOCK_LONG_MS), 1500);
    assert_int_equal(lk_lease_check(holder.lease, 0), LK_OK);
    assert_int_equal(give(&env->fixture, &second), LK_OK);
    lk_release(holder.lease, NULL, NULL);
}

/* A client from before: it does not count the votes of its new connections either. */
static void test_client_that_stays_notices_the_restart(void **state) {
    struct redlock_env *env = *state;
    lk_client *client = env->fixture.other = redlock_env_open(env, "?longest=2000");
    lk_lock *lock = open_lock(&env->fixture, client, 2000);
    struct caller caller;

    use_once(&env->fixture, lock, 15000); /* all are young at first */
    for (int i = 0; i < 3; i++) {
        own_redis_kill(&env->ensemble->nodes[i]);
        own_redis_start_again(&env->ensemble->nodes[i]);
    }
    told_young = 0;
    start(&caller, lock, 15000);
    WAIT_FOR(&env->fixture.loop, told_young == 3);
    assert_int_equal(caller.calls, 0);
    await_and_give(&env->fixture, &caller);
}

static void test_lock_that_outlasts_the_quarantine_is_refused(void **state) {
    struct redlock_env *env = *state;
    lk_client *client = env->fixture.other = redlock_env_open(env, "?longest=2000");
    struct caller caller;

    assert_int_equal(take(&env->fixture, &caller, open_lock(&env->fixture, client, 2001), LK_TRY),
                     LK_REFUSED);
}

/* A user that may not see the age of the nodes. */
static void test_node_that_does_not_tell_its_age_has_no_vote(void **state) {
    struct redlock_env *env = *state;
    struct caller caller;
    lk_client *client;

    for (int i = 0; i < ENSEMBLE_NODES; i++)
        (void)own_redis_do(&env->ensemble->nodes[i], "ACL SETUSER default -info");
    client = redlock_env_open(env, "?longest=1000");
    told_silent = 0;
    assert_int_equal(take(&env->fixture, &caller, open_lock(&env->fixture, client, 1000), LK_TRY),
                     LK_UNAVAILABLE);
    WAIT_FOR(&env->fixture.loop, told_silent >= ENSEMBLE_NODES);
    close_client(&env->fixture, client);
    client = redlock_env_open(env, "?quarantine=0");
    use_once(&env->fixture, open_lock(&env->fixture, client, 2000), LK_TRY);
    close_client(&env->fixture, client);
    for (int i = 0; i < ENSEMBLE_NODES; i++)
        (void)own_redis_do(&env->ensemble->nodes[i], "ACL SETUSER default +@all");
}

/* Two databases of one server. */
static void test_server_has_one_vote(void **state) {
    struct redlock_env *env = *state;
    struct caller caller;
    lk_client *client;
    char url[256];
    int port = env->ensemble->nodes[0].port;

    (void)snprintf(url, sizeof url,
                   "redlock:redis://127.0.0.1:%d,redis://127.0.0.1:%d/1,redis://127.0.0.1:1"
                   "?quarantine=0&cutoff=%d",
                   port, port, FIXTURE_REPLY_MS);
    client = env->fixture.other = open_client(&env->fixture, url);
    assert_int_equal(
        take(&env->fixture, &caller, open_lock(&env->fixture, client, REDLOCK_LONG_MS), LK_TRY),
        LK_UNAVAILABLE);
    assert_int_equal(told_twin, 1);
}

static void test_bad_urls_are_invalid(void **state) {
    static const char *const urls[] = {
        "redlock:",
        "redlock:local:",
        "redlock:redis://a:1,",
        "redlock:redis://a:1,redis://a:1",
        "redlock:redis://a:1,redis://b:x",
        "redlock:redis://a:1?longest=0",
        "redlock:redis://a:1?longest=",
        "redlock:redis://a:1?longest=99999999999",
        "redlock:redis://a:1?quarantine=-1",
        "redlock:redis://a:1?quarantine=000000000030000x",
        "redlock:redis://a:1?cutoff=0",
        "redlock:redis://a:1?unheard=1",
        "redlock:redis://a:1?",
        "redlock:redis://a:1,redis://a:2,redis://a:3,redis://a:4,redis://a:5,redis://a:6,"
        "redis://a:7,redis://a:8,redis://a:9,redis://a:10,redis://a:11,redis://a:12,"
        "redis://a:13,redis://a:14,redis://a:15,redis://a:16",
    };
    struct redlock_env *env = *state;
    lk_client *client;

    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++)
        assert_int_equal(lk_client_open(&client, &env->fixture.loop, urls[i], NULL), LK_INVALID);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        REDLOCK_TEST(test_node_that_forgot_a_vote_has_none),
        REDLOCK_TEST(test_without_quarantine_two_hold),
        REDLOCK_TEST(test_client_that_stays_notices_the_restart),
        REDLOCK_TEST(test_lock_that_outlasts_the_quarantine_is_refused),
        REDLOCK_TEST(test_node_that_does_not_tell_its_age_has_no_vote),
        REDLOCK_TEST(test_server_has_one_vote),
        REDLOCK_TEST(test_bad_urls_are_invalid),
    };

    lk_set_log(on_log, NULL);
    return REDLOCK_MAIN(tests);
}
