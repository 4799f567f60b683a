/* What only a backend with a server and a TTL can show: silence, expiry, lost replies, death. */
#include "proxy.h"
#include "redis_scripts.h"

#include <hiredis/hiredis.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

struct env {
    struct fixture fixture; /* its client talks to the server directly */
    struct proxy proxy;
    lk_client *far; /* the same server through the proxy, with quick deadlines */
    redisContext *redis;
    char key[96];
    char trace[64]; /* of events, in the order they came */
};

static uint64_t fake_now_ns;

static uint64_t fake_clock(void *data) {
    (void)data;
    return fake_now_ns;
}

static lk_client *open_with(struct env *env, const char *url, uint64_t (*clock)(void *)) {
    struct lk_client_options options = {
        .size = sizeof options, .reply_ms = 150, .cleanup_ms = 15000, .clock_ns = clock};
    lk_client *client;

    assert_int_equal(lk_client_open(&client, &env->fixture.loop, url, &options), LK_OK);
    return client;
}

/* A lock that is never polled for and that no TTL frees in time: only an event helps. */
static lk_lock *open_unpolled(struct env *env, lk_client *client) {
    struct lk_lock_options options = {.size = sizeof options, .ttl_ms = 120000, .poll_ms = 120000};
    lk_lock *lock;

    assert_int_equal(lk_lock_open(&lock, client, env->fixture.name, &options), LK_OK);
    return lock;
}

static redisContext *connect_to(const struct proxy *proxy, const char *url) {
    const char *at = strchr(url, '@');
    const char *password = url + strlen("redis://:");
    char host[32];
    redisContext *redis;

    assert_int_equal(uv_ip4_name(&proxy->server, host, sizeof host), 0);
    redis = redisConnect(host, ntohs(proxy->server.sin_port));
    assert_non_null(redis);
    assert_int_equal(redis->err, 0);
    if (at)
        freeReplyObject(redisCommand(redis, "AUTH %b", password, (size_t)(at - password)));
    at = strchr(at ? at : url + strlen("redis://"), '/');
    if (at)
        freeReplyObject(redisCommand(redis, "SELECT %s", at + 1));
    return redis;
}

static int set_up(void **state) {
    struct env *env = calloc(1, sizeof *env);

    assert_non_null(env);
    fixture_init(&env->fixture);
    env->fixture.client = open_client(&env->fixture, redis_url());
    proxy_init(&env->proxy, &env->fixture.loop, redis_url());
    env->redis = connect_to(&env->proxy, redis_url());
    env->far = open_with(env, env->proxy.url, NULL);
    (void)snprintf(env->key, sizeof env->key, "lk:{%s}", env->fixture.name);
    *state = env;
    return 0;
}

static int tear_down(void **state) {
    struct env *env = *state;

    proxy_hold(&env->proxy, false, false);
    close_client(&env->fixture, env->far);
    proxy_close(&env->proxy);
    redisFree(env->redis);
    fixture_end(&env->fixture);
    free(env);
    return 0;
}

/* The integer that the server answers to `command key`, or -1. */
static int64_t ask(struct env *env, const char *command) {
    redisReply *reply = redisCommand(env->redis, command, env->key);
    int64_t value = -1;

    assert_non_null(reply);
    if (reply->type == REDIS_REPLY_INTEGER)
        value = reply->integer;
    if (reply->type == REDIS_REPLY_STRING)
        value = strtoll(reply->str, NULL, 10);
    freeReplyObject(reply);
    return value;
}

static bool exists(struct env *env) {
    return ask(env, "EXISTS %s") == 1;
}

static void assert_owner(struct env *env, const lk_lease *lease) {
    redisReply *reply = redisCommand(env->redis, "GET %s", env->key);

    assert_int_equal(reply->type, REDIS_REPLY_STRING);
    assert_memory_equal(reply->str, lk_lease_owner(lease), 40);
    freeReplyObject(reply);
}

static struct lk_counters counters(const lk_client *client) {
    struct lk_counters counted;

    lk_client_counters(client, &counted);
    return counted;
}

static void note(struct env *env, const char *what) {
    strncat(env->trace, what, sizeof env->trace - strlen(env->trace) - 1);
}

static void on_state(lk_lease *lease, enum lk_state state, const char *why, void *data) {
    (void)lease;
    assert_non_null(why);
    note(data, state == LK_HELD ? "held " : state == LK_SUSPECT ? "suspect " : "lost ");
}

static void on_successor(lk_request *request, enum lk_status status, lk_lease *lease, void *data) {
    struct env *env = data;

    (void)request;
    assert_int_equal(status, LK_OK);
    note(env, "successor ");
    lk_release(lease, NULL, NULL);
}

static void test_holder_is_told_before_a_successor_is_granted(void **state) {
    struct env *env = *state;
    struct caller caller;

    assert_int_equal(
        take(&env->fixture, &caller, open_lock(&env->fixture, env->far, 1200), LK_FOREVER), LK_OK);
    lk_lease_on_state(caller.lease, on_state, env);
    assert_int_equal(lk_acquire(open_lock(&env->fixture, env->fixture.client, 400), LK_FOREVER,
                                on_successor, env, NULL),
                     LK_OK);
    proxy_hold(&env->proxy, true, true);
    WAIT(&env->fixture, strstr(env->trace, "successor"));
    assert_string_equal(env->trace, "suspect lost successor ");
    assert_int_equal(lk_lease_check(caller.lease, 0), LK_LOST);
    assert_int_equal(counters(env->far).lost, 1);
    proxy_hold(&env->proxy, false, false);
    assert_int_not_equal(give(&env->fixture, &caller), LK_OK);
}

static void test_suspect_lease_is_held_again_after_a_renewal(void **state) {
    struct env *env = *state;
    struct caller caller;

    assert_int_equal(
        take(&env->fixture, &caller, open_lock(&env->fixture, env->far, 3000), LK_FOREVER), LK_OK);
    lk_lease_on_state(caller.lease, on_state, env);
    proxy_hold(&env->proxy, false, true);
    WAIT(&env->fixture, strstr(env->trace, "suspect"));
    proxy_hold(&env->proxy, false, false);
    WAIT(&env->fixture, strstr(env->trace, "held"));
    assert_string_equal(env->trace, "suspect held ");
    assert_int_equal(give(&env->fixture, &caller), LK_OK);
}

static void test_renewal_keeps_the_lock_past_its_ttl(void **state) {
    struct env *env = *state;
    struct caller caller, other;

    assert_int_equal(
        take(&env->fixture, &caller, open_lock(&env->fixture, env->far, 300), LK_FOREVER), LK_OK);
    WAIT(&env->fixture, counters(env->far).renewed >= 10);
    assert_int_equal(lk_lease_state(caller.lease), LK_HELD);
    assert_int_equal(
        take(&env->fixture, &other, open_lock(&env->fixture, env->fixture.client, 300), LK_TRY),
        LK_BUSY);
    assert_int_equal(give(&env->fixture, &caller), LK_OK);
}

static void test_renewal_never_creates_the_lock_again(void **state) {
    struct env *env = *state;
    struct caller caller;

    assert_int_equal(
        take(&env->fixture, &caller, open_lock(&env->fixture, env->far, 600), LK_FOREVER), LK_OK);
    lk_lease_on_state(caller.lease, on_state, env);
    (void)ask(env, "DEL %s");
    WAIT(&env->fixture, strstr(env->trace, "lost"));
    assert_false(exists(env));
    assert_int_equal(give(&env->fixture, &caller), LK_LOST);
    assert_int_equal(counters(env->far).release_lost, 1);
}

static void test_release_after_expiry_spares_the_successor(void **state) {
    struct env *env = *state;
    struct lk_lock_options options = {.size = sizeof options, .ttl_ms = 50, .no_renew = 1};
    struct caller late, next;
    lk_lock *lock;

    assert_int_equal(lk_lock_open(&lock, env->far, env->fixture.name, &options), LK_OK);
    assert_int_equal(take(&env->fixture, &late, lock, LK_FOREVER), LK_OK);
    assert_int_equal(
        take(&env->fixture, &next, open_lock(&env->fixture, env->fixture.client, 5000), LK_FOREVER),
        LK_OK);
    assert_true(lk_lease_fence(next.lease) > lk_lease_fence(late.lease));
    assert_int_equal(lk_lease_state(late.lease), LK_LOST_STATE);
    assert_int_equal(give(&env->fixture, &late), LK_LOST);
    assert_owner(env, next.lease);
    assert_int_equal(give(&env->fixture, &next), LK_OK);
}

static void test_token_of_a_lost_reply_is_given_back(void **state) {
    struct env *env = *state;
    struct caller caller;
    lk_lock *lock = open_lock(&env->fixture, env->far, 60000);

    assert_int_equal(take(&env->fixture, &caller, lock, LK_FOREVER), LK_OK);
    assert_int_equal(give(&env->fixture, &caller), LK_OK);
    proxy_hold(&env->proxy, false, true);
    start(&caller, lock, LK_TRY);
    WAIT(&env->fixture, exists(env));
    proxy_cut_all(&env->proxy);
    WAIT(&env->fixture, caller.calls == 1);
    assert_int_equal(caller.status, LK_UNKNOWN);
    proxy_hold(&env->proxy, false, false);
    WAIT(&env->fixture, !exists(env));
}

static void test_attempt_that_arrives_after_its_release_is_given_back(void **state) {
    struct env *env = *state;
    struct caller caller;
    lk_lock *lock = open_lock(&env->fixture, env->far, 60000);

    assert_int_equal(take(&env->fixture, &caller, lock, LK_FOREVER), LK_OK);
    assert_int_equal(give(&env->fixture, &caller), LK_OK);
    proxy_hold(&env->proxy, true, false);
    assert_int_equal(take(&env->fixture, &caller, lock, LK_TRY), LK_UNKNOWN);
    proxy_hold(&env->proxy, false, false);
    WAIT(&env->fixture, ask(env, "GET %s:fence") == 2);
    WAIT(&env->fixture, !exists(env));
}

static void test_waiter_finds_the_grant_whose_reply_was_lost(void **state) {
    struct env *env = *state;
    struct caller caller;
    lk_lock *lock = open_lock(&env->fixture, env->far, 60000);

    assert_int_equal(take(&env->fixture, &caller, lock, LK_FOREVER), LK_OK);
    assert_int_equal(give(&env->fixture, &caller), LK_OK);
    proxy_hold(&env->proxy, false, true);
    start(&caller, lock, LK_FOREVER);
    WAIT(&env->fixture, exists(env));
    proxy_cut_all(&env->proxy);
    proxy_hold(&env->proxy, false, false);
    WAIT(&env->fixture, caller.calls == 1);
    assert_int_equal(caller.status, LK_OK);
    assert_int_equal(lk_lease_fence(caller.lease), 2);
    assert_int_equal(ask(env, "GET %s:fence"), 2);
    assert_owner(env, caller.lease);
    assert_int_equal(give(&env->fixture, &caller), LK_OK);
}

static void test_late_grant_is_given_back(void **state) {
    struct env *env = *state;
    struct caller caller;
    lk_lock *lock = open_lock(&env->fixture, env->far, 60000);

    assert_int_equal(take(&env->fixture, &caller, lock, LK_FOREVER), LK_OK);
    assert_int_equal(give(&env->fixture, &caller), LK_OK);
    proxy_hold(&env->proxy, false, true);
    assert_int_equal(take(&env->fixture, &caller, lock, 20), LK_TIMEOUT);
    WAIT(&env->fixture, exists(env));
    proxy_hold(&env->proxy, false, false);
    WAIT(&env->fixture, !exists(env));
    assert_int_equal(caller.calls, 1);
    assert_int_equal(counters(env->far).late_grants + counters(env->far).unknown, 1);
}

static void test_grant_whose_validity_is_over_on_arrival_is_given_back(void **state) {
    struct env *env = *state;
    lk_client *client;
    struct caller caller;
    lk_lock *lock;

    fake_now_ns = 1;
    client = open_with(env, redis_url(), fake_clock);
    lock = open_lock(&env->fixture, client, 60000);
    start(&caller, lock, LK_TRY);
    /* The attempt is sent in the first turn; its reply is read in a later one. */
    while (caller.calls == 0) {
        (void)uv_run(&env->fixture.loop, UV_RUN_ONCE);
        fake_now_ns += 60000000000U;
    }
    assert_int_equal(caller.status, LK_UNKNOWN);
    fake_now_ns = 1;
    WAIT(&env->fixture, !exists(env));
    close_client(&env->fixture, client);
}

static void test_check_sees_at_once_that_the_machine_was_suspended(void **state) {
    struct env *env = *state;
    lk_client *client;
    struct caller caller;

    fake_now_ns = 1;
    client = open_with(env, redis_url(), fake_clock);
    assert_int_equal(
        take(&env->fixture, &caller, open_lock(&env->fixture, client, 60000), LK_FOREVER), LK_OK);
    assert_int_equal(lk_lease_check(caller.lease, 59000), LK_OK);
    assert_int_equal(lk_lease_check(caller.lease, 59500), LK_LOST);
    fake_now_ns += 50000000000U;
    assert_int_equal(lk_lease_state(caller.lease), LK_SUSPECT);
    fake_now_ns += 3600000000000U;
    assert_int_equal(lk_lease_state(caller.lease), LK_LOST_STATE);
    assert_int_equal(lk_lease_check(caller.lease, 0), LK_LOST);
    assert_int_equal(lk_lease_remaining_ms(caller.lease), 0);
    close_client(&env->fixture, client);
}

static void test_renewal_under_way_does_not_outlive_the_release(void **state) {
    struct env *env = *state;
    struct caller caller;
    int64_t before, now;

    assert_int_equal(
        take(&env->fixture, &caller, open_lock(&env->fixture, env->far, 3000), LK_FOREVER), LK_OK);
    proxy_hold(&env->proxy, false, true);
    now = ask(env, "PTTL %s");
    do {
        before = now;
        (void)uv_run(&env->fixture.loop, UV_RUN_ONCE);
        now = ask(env, "PTTL %s");
    } while (now > 0 && now <= before);
    assert_true(now > before);
    lk_release(caller.lease, on_caller_released, &caller);
    proxy_hold(&env->proxy, false, false);
    WAIT(&env->fixture, caller.releases == 1 && !exists(env));
}

static void test_scripts_survive_a_flush(void **state) {
    struct env *env = *state;
    struct caller caller;
    lk_lock *lock = open_lock(&env->fixture, env->far, 5000);

    for (int i = 0; i < 2; i++) {
        freeReplyObject(redisCommand(env->redis, "SCRIPT FLUSH"));
        assert_int_equal(take(&env->fixture, &caller, lock, LK_TRY), LK_OK);
        freeReplyObject(redisCommand(env->redis, "SCRIPT FLUSH"));
        assert_int_equal(give(&env->fixture, &caller), LK_OK);
    }
}

static void test_digests_are_those_of_the_scripts(void **state) {
    static const enum lk_verb verbs[] = {LK_ACQUIRE, LK_RENEW, LK_RELEASE, LK_INSPECT};
    struct env *env = *state;

    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
        const struct redis_script *script = redis_script(verbs[i]);
        redisReply *reply = redisCommand(env->redis, "SCRIPT LOAD %s", script->text);

        assert_int_equal(reply->type, REDIS_REPLY_STRING);
        assert_string_equal(reply->str, script->sha1);
        freeReplyObject(reply);
    }
}

static void test_waiter_is_woken_by_an_event(void **state) {
    struct env *env = *state;
    struct caller holder, waiter;

    assert_int_equal(take(&env->fixture, &holder, open_unpolled(env, env->fixture.client), LK_TRY),
                     LK_OK);
    start(&waiter, open_unpolled(env, env->far), LK_FOREVER);
    /* One attempt when the subscription has become effective, one for the release. */
    WAIT(&env->fixture, counters(env->far).wakeups == 1);
    assert_int_equal(waiter.calls, 0);
    assert_int_equal(give(&env->fixture, &holder), LK_OK);
    WAIT(&env->fixture, waiter.calls == 1);
    assert_true(counters(env->far).wakeups >= 2);
    assert_int_equal(counters(env->far).polls, 0);
    assert_int_equal(give(&env->fixture, &waiter), LK_OK);
}

static void test_event_missed_while_disconnected_is_made_up_for(void **state) {
    struct env *env = *state;
    struct caller holder, waiter;

    assert_int_equal(take(&env->fixture, &holder, open_unpolled(env, env->fixture.client), LK_TRY),
                     LK_OK);
    start(&waiter, open_unpolled(env, env->far), LK_FOREVER);
    WAIT(&env->fixture, counters(env->far).wakeups == 1);
    proxy_hold(&env->proxy, true, true);
    proxy_cut_all(&env->proxy);
    assert_int_equal(give(&env->fixture, &holder), LK_OK);
    assert_int_equal(waiter.calls, 0);
    proxy_hold(&env->proxy, false, false);
    WAIT(&env->fixture, waiter.calls == 1);
    assert_int_equal(counters(env->far).polls, 0);
    assert_int_equal(give(&env->fixture, &waiter), LK_OK);
}

static void test_many_waiters_share_one_subscription(void **state) {
    struct env *env = *state;
    struct caller holder, *waiters = calloc(800, sizeof *waiters);
    lk_lock *lock = open_lock(&env->fixture, env->far, 5000);
    redisReply *reply;

    assert_non_null(waiters);
    assert_int_equal(take(&env->fixture, &holder, lock, LK_FOREVER), LK_OK);
    for (int i = 0; i < 800; i++)
        start(&waiters[i], lock, LK_FOREVER);
    WAIT(&env->fixture, counters(env->far).wakeups >= 1);
    reply = redisCommand(env->redis, "PUBSUB NUMSUB %s:free", env->key);
    assert_int_equal(reply->element[1]->integer, 1);
    freeReplyObject(reply);
    assert_true(counters(env->far).wakeups < 10);
    assert_int_equal(give(&env->fixture, &holder), LK_OK);
    for (int i = 0; i < 800; i++) {
        WAIT(&env->fixture, waiters[i].calls == 1);
        assert_int_equal(waiters[i].status, LK_OK);
        lk_release(waiters[i].lease, NULL, NULL);
    }
    free(waiters);
}

/* In a child: hold the lock, tell the parent, and never let go. */
static void hold_for_ever(struct env *env, int told) {
    struct lk_lock_options options = {.size = sizeof options, .ttl_ms = 400};
    struct caller caller = {0};
    lk_client *client;
    lk_lock *lock;
    uv_loop_t loop;
    uint64_t fence;

    if (uv_loop_init(&loop) != 0 || lk_client_open(&client, &loop, redis_url(), NULL) != LK_OK ||
        lk_lock_open(&lock, client, env->fixture.name, &options) != LK_OK ||
        lk_acquire(lock, LK_FOREVER, on_caller_acquired, &caller, NULL) != LK_OK)
        _exit(1);
    while (caller.calls == 0)
        (void)uv_run(&loop, UV_RUN_ONCE);
    fence = lk_lease_fence(caller.lease);
    if (write(told, &fence, sizeof fence) < 0)
        _exit(1);
    (void)uv_run(&loop, UV_RUN_DEFAULT);
    _exit(1);
}

static void test_lock_of_a_killed_process_is_freed_by_its_ttl(void **state) {
    struct env *env = *state;
    struct caller caller;
    uint64_t fence = 0;
    int told[2], status;
    pid_t child;

    assert_int_equal(pipe(told), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0)
        hold_for_ever(env, told[1]);
    assert_int_equal(read(told[0], &fence, sizeof fence), sizeof fence);
    (void)close(told[0]);
    (void)close(told[1]);
    assert_int_equal(take(&env->fixture, &caller, open_lock(&env->fixture, env->far, 400), LK_TRY),
                     LK_BUSY);
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(take(&env->fixture, &caller, open_lock(&env->fixture, env->far, 400), 15000),
                     LK_OK);
    assert_true(lk_lease_fence(caller.lease) > fence);
    assert_int_equal(give(&env->fixture, &caller), LK_OK);
}

/* Two waiters of one client, so that it always wants the lock. */
struct greedy {
    lk_lock *lock;
    int served, under_way;
    bool is_done;
};

static void on_greedy(lk_request *request, enum lk_status status, lk_lease *lease, void *data) {
    struct greedy *greedy = data;

    (void)request;
    assert_int_equal(status, LK_OK);
    greedy->served++;
    lk_release(lease, NULL, NULL);
    if (greedy->is_done)
        greedy->under_way--;
    else
        assert_int_equal(lk_acquire(greedy->lock, LK_FOREVER, on_greedy, greedy, NULL), LK_OK);
}

static void test_two_greedy_clients_both_get_on(void **state) {
    struct env *env = *state;
    struct greedy greedy[2] = {
        {.lock = open_lock(&env->fixture, env->far, 5000), .under_way = 2},
        {.lock = open_lock(&env->fixture, env->fixture.client, 5000), .under_way = 2}};

    for (int i = 0; i < 4; i++)
        assert_int_equal(
            lk_acquire(greedy[i % 2].lock, LK_FOREVER, on_greedy, &greedy[i % 2], NULL), LK_OK);
    WAIT(&env->fixture, greedy[0].served >= 20 && greedy[1].served >= 20);
    greedy[0].is_done = greedy[1].is_done = true;
    WAIT(&env->fixture, greedy[0].under_way == 0 && greedy[1].under_way == 0);
}

static void test_silent_server_is_told_from_an_absent_one(void **state) {
    struct env *env = *state;
    lk_client *client = open_with(env, "redis://127.0.0.1:1", NULL);
    lk_lock *lock = open_lock(&env->fixture, client, 5000);
    struct caller caller;

    assert_int_equal(take(&env->fixture, &caller, lock, LK_TRY), LK_UNAVAILABLE);
    assert_int_equal(take(&env->fixture, &caller, lock, 300), LK_UNAVAILABLE);
    assert_int_equal(counters(client).unavailable, 2);
    close_client(&env->fixture, client);
}

static void test_key_of_another_type_grants_nothing(void **state) {
    struct env *env = *state;
    struct caller caller;

    (void)ask(env, "SADD %s member");
    assert_int_equal(
        take(&env->fixture, &caller, open_lock(&env->fixture, env->fixture.client, 0), LK_TRY),
        LK_UNAVAILABLE);
    (void)ask(env, "DEL %s");
}

int main(void) {
#define REDIS_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    static const struct CMUnitTest tests[] = {
        REDIS_TEST(test_holder_is_told_before_a_successor_is_granted),
        REDIS_TEST(test_suspect_lease_is_held_again_after_a_renewal),
        REDIS_TEST(test_renewal_keeps_the_lock_past_its_ttl),
        REDIS_TEST(test_renewal_never_creates_the_lock_again),
        REDIS_TEST(test_release_after_expiry_spares_the_successor),
        REDIS_TEST(test_token_of_a_lost_reply_is_given_back),
        REDIS_TEST(test_attempt_that_arrives_after_its_release_is_given_back),
        REDIS_TEST(test_waiter_finds_the_grant_whose_reply_was_lost),
        REDIS_TEST(test_late_grant_is_given_back),
        REDIS_TEST(test_grant_whose_validity_is_over_on_arrival_is_given_back),
        REDIS_TEST(test_check_sees_at_once_that_the_machine_was_suspended),
        REDIS_TEST(test_renewal_under_way_does_not_outlive_the_release),
        REDIS_TEST(test_scripts_survive_a_flush),
        REDIS_TEST(test_digests_are_those_of_the_scripts),
        REDIS_TEST(test_waiter_is_woken_by_an_event),
        REDIS_TEST(test_event_missed_while_disconnected_is_made_up_for),
        REDIS_TEST(test_many_waiters_share_one_subscription),
        REDIS_TEST(test_lock_of_a_killed_process_is_freed_by_its_ttl),
        REDIS_TEST(test_two_greedy_clients_both_get_on),
        REDIS_TEST(test_silent_server_is_told_from_an_absent_one),
        REDIS_TEST(test_key_of_another_type_grants_nothing),
    };

    (void)redis_url();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
