/* The Redis backend at work: scripts, events, subscriptions, and servers that refuse. */
#include "redis.h"
#include "redis_env.h"

#include <unistd.h>

static void test_scripts_survive_a_flush(void **state) {
    struct env *env = *state;
    struct caller caller;
    lk_lock *lock = open_lock(&env->fixture, env->far, 5000);

    for (int i = 0; i < 2; i++) {
        own_redis_do(&own_server, "SCRIPT FLUSH");
        obtain(&env->fixture, &caller, lock, LK_TRY);
        own_redis_do(&own_server, "SCRIPT FLUSH");
        assert_int_equal(give(&env->fixture, &caller), LK_OK);
    }
}

/* The build computes all digests by the same rule. */
static void test_digests_are_those_of_the_scripts(void **state) {
    extern const struct redis_script redis_acquire, redis_renew;
    const struct redis_script *const scripts[] = {&redis_acquire, &redis_renew};

    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) {
        redisReply *reply = redisCommand(redis, "SCRIPT LOAD %s", scripts[i]->text);

        assert_int_equal(reply->type, REDIS_REPLY_STRING);
        assert_string_equal(reply->str, scripts[i]->sha1);
        freeReplyObject(reply);
    }
}

/* Wait until all requests of the client are answered: replies come in the order of requests. */
static void await_answers(struct env *env, lk_client *client) {
    lk_lock *lock;
    char name[96];

    (void)snprintf(name, sizeof name, "%s-other", env->fixture.name);
    assert_int_equal(lk_lock_open(&lock, client, name, NULL), LK_OK);
    use_once(&env->fixture, lock, LK_TRY);
}

static void test_waiter_is_woken_by_an_event(void **state) {
    struct env *env = *state;
    struct caller holder, waiter;

    obtain(&env->fixture, &holder, open_unpolled(env, env->fixture.client), LK_TRY);
    start(&waiter, open_unpolled(env, env->far), LK_FOREVER);
    /* One attempt after the subscription began, one after the release. */
    WAIT_FOR(&env->fixture.loop, counters(env->far).wakeups == 1);
    await_answers(env, env->far);
    assert_int_equal(waiter.calls, 0);
    assert_int_equal(give(&env->fixture, &holder), LK_OK);
    WAIT_FOR(&env->fixture.loop, waiter.calls == 1);
    assert_true(counters(env->far).wakeups >= 2);
    assert_int_equal(counters(env->far).polls, 0);
    assert_int_equal(give(&env->fixture, &waiter), LK_OK);
}

static void test_event_missed_while_disconnected_is_made_up_for(void **state) {
    struct env *env = *state;
    struct caller holder, waiter;

    obtain(&env->fixture, &holder, open_unpolled(env, env->fixture.client), LK_TRY);
    start(&waiter, open_unpolled(env, env->far), LK_FOREVER);
    WAIT_FOR(&env->fixture.loop, counters(env->far).wakeups == 1);
    fault_proxy_set(env->proxy, PROXY_HOLDS);
    fault_proxy_cut(env->proxy);
    assert_int_equal(give(&env->fixture, &holder), LK_OK);
    assert_int_equal(waiter.calls, 0);
    fault_proxy_set(env->proxy, PROXY_PASSES);
    WAIT_FOR(&env->fixture.loop, waiter.calls == 1);
    assert_int_equal(counters(env->far).polls, 0);
    assert_int_equal(give(&env->fixture, &waiter), LK_OK);
}

static void test_round_trips_are_counted(void **state) {
    struct env *env = *state;
    lk_lock *near = open_unpolled(env, env->fixture.client), *lock = open_unpolled(env, env->far);
    struct caller holder, waiter;

    obtain(&env->fixture, &holder, near, LK_TRY);
    assert_int_equal(holder.round_trips, 2); /* the second one brought the script */
    assert_int_equal(give(&env->fixture, &holder), LK_OK);
    obtain(&env->fixture, &holder, near, LK_TRY);
    assert_int_equal(holder.round_trips, 1);
    assert_int_equal(take(&env->fixture, &waiter, lock, LK_TRY), LK_BUSY);
    assert_int_equal(waiter.round_trips, 1);
    start(&waiter, lock, LK_FOREVER);
    WAIT_FOR(&env->fixture.loop, counters(env->far).wakeups == 1);
    assert_int_equal(give(&env->fixture, &holder), LK_OK);
    WAIT_FOR(&env->fixture.loop, waiter.calls == 1);
    assert_int_equal(waiter.round_trips, 1 + counters(env->far).wakeups);
    assert_int_equal(give(&env->fixture, &waiter), LK_OK);
}

/* Number of clients with a channel. */
static size_t subscribers(void) {
    redisReply *reply = redisCommand(own_server.admin, "PUBSUB CHANNELS lk:client:*");
    size_t count = reply->elements;

    freeReplyObject(reply);
    return count;
}

static void test_many_waiters_share_one_subscription(void **state) {
    struct env *env = *state;
    lk_client *client = env->fixture.client;
    struct caller holder, *waiters = calloc(800, sizeof *waiters);
    lk_lock *lock = open_lock(&env->fixture, client, 5000);

    assert_non_null(waiters);
    obtain(&env->fixture, &holder, lock, LK_FOREVER);
    for (int i = 0; i < 800; i++)
        start(&waiters[i], lock, LK_FOREVER);
    WAIT_FOR(&env->fixture.loop, counters(client).wakeups >= 1);
    assert_int_equal(subscribers(), 1);
    assert_true(counters(client).wakeups < 10);
    assert_int_equal(give(&env->fixture, &holder), LK_OK);
    for (int i = 0; i < 800; i++) {
        WAIT_FOR(&env->fixture.loop, waiters[i].calls == 1);
        assert_int_equal(waiters[i].status, LK_OK);
        lk_release(waiters[i].lease, NULL, NULL);
    }
    free(waiters);
}

/* Two waiters of one client, so that the client always wants the lock. */
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

/* The near client knows of each release before the far one, and could take the lock each time. */
static void test_two_greedy_clients_both_get_on(void **state) {
    struct env *env = *state;
    struct greedy greedy[2] = {
        {.lock = open_lock(&env->fixture, env->far, 5000), .under_way = 2},
        {.lock = open_lock(&env->fixture, env->fixture.client, 5000), .under_way = 2}};

    for (int i = 0; i < 4; i++)
        assert_int_equal(
            lk_acquire(greedy[i % 2].lock, LK_FOREVER, on_greedy, &greedy[i % 2], NULL), LK_OK);
    WAIT_FOR(&env->fixture.loop, greedy[0].served >= 50 && greedy[1].served >= 50);
    assert_in_range(greedy[0].served, greedy[1].served / 2, 2 * greedy[1].served);
    greedy[0].is_done = greedy[1].is_done = true;
    WAIT_FOR(&env->fixture.loop, greedy[0].under_way == 0 && greedy[1].under_way == 0);
}

static void test_client_subscribes_at_its_first_wait_for_all_names(void **state) {
    struct env *env = *state;
    lk_client *client = env->fixture.client;
    struct caller holder, waiter;

    for (int i = 0; i < 3; i++) {
        (void)snprintf(env->fixture.name, sizeof env->fixture.name, "name-%d", i);
        obtain(&env->fixture, &holder, open_lock(&env->fixture, env->far, 5000), LK_FOREVER);
        assert_int_equal(
            take(&env->fixture, &waiter, open_lock(&env->fixture, client, 5000), LK_TRY), LK_BUSY);
        assert_int_equal(subscribers(), i > 0);
        start(&waiter, open_lock(&env->fixture, client, 5000), LK_FOREVER);
        WAIT_FOR(&env->fixture.loop, subscribers() == 1);
        assert_int_equal(give(&env->fixture, &holder), LK_OK);
        await_and_give(&env->fixture, &waiter);
    }
    close_client(&env->fixture, client);
    env->fixture.client = NULL;
    WAIT_FOR(&env->fixture.loop, subscribers() == 0);
}

#define SHORT_MS 150 /* for a reply that does not come */

static void test_absent_server_is_unavailable(void **state) {
    struct env *env = *state;
    lk_client *client = env->fixture.other = open_with(env, "redis://127.0.0.1:1", SHORT_MS, NULL);
    lk_lock *lock = open_lock(&env->fixture, client, 5000);
    struct caller caller;

    assert_int_equal(take(&env->fixture, &caller, lock, LK_TRY), LK_UNAVAILABLE);
    assert_int_equal(take(&env->fixture, &caller, lock, 1000), LK_UNAVAILABLE);
    assert_int_equal(caller.round_trips, 0);
    assert_int_equal(counters(client).unavailable, 2);
}

static void test_attempt_that_was_never_sent_is_no_round_trip(void **state) {
    struct env *env = *state;
    struct caller caller;
    lk_client *client;

    fault_proxy_set(env->proxy, PROXY_HOLDS); /* a connection begins with them, too */
    client = open_with(env, env->proxy->url, SHORT_MS, NULL);
    assert_int_not_equal(take(&env->fixture, &caller, open_lock(&env->fixture, client, 5000), 20),
                         LK_OK);
    close_client(&env->fixture, client);
    assert_int_equal(caller.round_trips, 0);
}

static void test_key_of_another_type_grants_nothing(void **state) {
    struct env *env = *state;
    struct caller caller;

    (void)ask("SADD %s member");
    assert_int_equal(
        take(&env->fixture, &caller, open_lock(&env->fixture, env->fixture.client, 0), LK_TRY),
        LK_REFUSED);
    (void)ask("DEL %s");
}

#define LEASES 200

/* Renewals that are due in one turn of the loop go in one script. A spoilt key costs the others
 * nothing. */
static void test_renewals_leave_together(void **state) {
    struct env *env = *state;
    lk_client *client = env->fixture.client;
    struct caller *callers = calloc(LEASES, sizeof *callers);
    int64_t scripts;

    assert_non_null(callers);
    for (int i = 0; i < LEASES; i++) {
        (void)snprintf(env->fixture.name, sizeof env->fixture.name, "name-%d", i);
        start(&callers[i], open_lock(&env->fixture, client, 3000), LK_FOREVER);
    }
    for (int i = 0; i < LEASES; i++)
        WAIT_FOR(&env->fixture.loop, callers[i].calls == 1);
    own_redis_do(&own_server, "DEL lk:{name-7}");
    own_redis_do(&own_server, "SADD lk:{name-7} other");
    scripts = calls_of("evalsha");
    for (uint64_t round = 1; round <= 3; round++) {
        (void)usleep(1200 * 1000); /* the loop stands still, so all are due in its next turn */
        WAIT_FOR(&env->fixture.loop, counters(client).renewed >= round * (LEASES - 1));
    }
    assert_in_range(calls_of("evalsha") - scripts, 3, 3 * LEASES / 10);
    for (int i = 0; i < LEASES; i++)
        assert_int_equal(lk_lease_state(callers[i].lease), i == 7 ? LK_LOST_STATE : LK_HELD);
    own_redis_do(&own_server, "DEL lk:{name-7}");
    for (int i = 0; i < LEASES; i++)
        lk_release(callers[i].lease, NULL, NULL);
    close_client(&env->fixture, client);
    env->fixture.client = NULL;
    free(callers);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        OWN_REDIS_TEST(test_scripts_survive_a_flush),
        REDIS_TEST(test_digests_are_those_of_the_scripts),
        REDIS_TEST(test_waiter_is_woken_by_an_event),
        OWN_REDIS_TEST(test_round_trips_are_counted),
        REDIS_TEST(test_event_missed_while_disconnected_is_made_up_for),
        OWN_REDIS_TEST(test_many_waiters_share_one_subscription),
        REDIS_TEST(test_two_greedy_clients_both_get_on),
        OWN_REDIS_TEST(test_client_subscribes_at_its_first_wait_for_all_names),
        REDIS_TEST(test_absent_server_is_unavailable),
        REDIS_TEST(test_attempt_that_was_never_sent_is_no_round_trip),
        REDIS_TEST(test_key_of_another_type_grants_nothing),
        OWN_REDIS_TEST(test_renewals_leave_together),
    };

    (void)redis_url();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
