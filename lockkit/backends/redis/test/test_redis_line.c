/* The line of waiters at the server: the lock goes only to the first, dead waiters are skipped, and
 * the line goes when nobody waits. */
#include "redis_env.h"

#define LONG_MS 120000

/* How long a polling waiter may be silent before it counts as dead. */
#define DEAD_MS (2 * 30 + FIXTURE_REPLY_MS)

static lk_lock *polled(struct env *env, lk_client *client) {
    return open_lock_as(&env->fixture, client,
                        (struct lk_lock_options){.ttl_ms = 5000, .poll_ms = 30});
}

static void start_in_line(struct env *env, struct caller *caller, lk_lock *lock) {
    int64_t length = ask("ZCARD %s:queue");

    start(caller, lock, LK_FOREVER);
    WAIT_FOR(&env->fixture.loop, ask("ZCARD %s:queue") == length + 1);
    WAIT_FOR(&env->fixture.loop, lk_request_round_trips(caller->request) > 0);
}

static size_t keys_left(struct env *env) {
    redisReply *reply = redisCommand(redis, "KEYS lk:{%s}*", env->fixture.name);
    size_t count = reply->elements;

    freeReplyObject(reply);
    return count;
}

/* On the channel of the first in line. */
static int64_t listeners(void) {
    static const char script[] = "local first = redis.call('ZRANGE', KEYS[1] .. ':queue', 0, 0)[1]"
                                 "local info = redis.call('HGET', KEYS[1] .. ':info', first)"
                                 "local client = string.match(info, '%+%d+:(%x+):')"
                                 "return redis.call('PUBSUB', 'NUMSUB', 'lk:client:' .. client)[2]";
    redisReply *reply = redisCommand(redis, "EVAL %s 1 %s", script, redis_key);
    int64_t count = reply->type == REDIS_REPLY_INTEGER ? reply->integer : -1;

    freeReplyObject(reply);
    return count;
}

static void test_dead_waiter_is_passed_over(void **state) {
    struct env *env = *state;
    struct caller holder, dead, next;
    lk_client *other = env->fixture.other = open_client(&env->fixture, redis_url());

    obtain(&env->fixture, &holder, polled(env, env->fixture.client), LK_TRY);
    start_in_line(env, &dead, polled(env, env->far));
    start_in_line(env, &next, polled(env, other));
    fault_proxy_set(env->proxy, PROXY_REFUSES);
    WAIT_FOR(&env->fixture.loop, listeners() == 0);
    assert_int_equal(give(&env->fixture, &holder), LK_OK);
    assert_in_range(ask("PTTL %s"), 0, DEAD_MS); /* it went to the dead waiter, but not for long */
    WAIT_FOR(&env->fixture.loop, next.calls == 1);
    assert_int_equal(dead.calls, 0);
    fault_proxy_set(env->proxy, PROXY_PASSES);
    assert_int_equal(give(&env->fixture, &next), LK_OK);
    await_and_give(&env->fixture, &dead);
}

/* `holder` gives the lock back. `waiter` waits for it with `far`, and has its channel. */
static void stand_in_line(struct env *env, struct caller *holder, struct caller *waiter,
                          struct lk_lock_options options) {
    obtain(&env->fixture, holder, open_unpolled(env, env->fixture.client), LK_TRY);
    start_in_line(env, waiter, open_lock_as(&env->fixture, env->far, options));
    await_channel(&env->fixture, env->far, waiter);
}

static void test_who_is_told_holds_it_without_asking(void **state) {
    struct env *env = *state;
    struct caller holder, waiter;
    unsigned round_trips;

    stand_in_line(env, &holder, &waiter,
                  (struct lk_lock_options){.ttl_ms = 10000, .poll_ms = LONG_MS, .no_renew = 1});
    round_trips = lk_request_round_trips(waiter.request);
    assert_int_equal(give(&env->fixture, &holder), LK_OK);
    WAIT_FOR(&env->fixture.loop, waiter.calls == 1);
    assert_int_equal(waiter.status, LK_OK);
    assert_int_equal(waiter.round_trips, round_trips);
    assert_owner(waiter.lease);
    assert_int_equal(ask("GET %s:fence"), lk_lease_fence(waiter.lease));
    assert_in_range(lk_lease_remaining_ms(waiter.lease), 9000 - 9000 / 100 - 2, 10000);
    assert_true(lk_lease_remaining_ms(waiter.lease) <= ask("PTTL %s"));
    assert_int_equal(give(&env->fixture, &waiter), LK_OK);
    assert_false(exists());
}

/* `waiter` hears of its hand-over after so much of the TTL has passed. Returns the round trips that
 * it made from then on. */
static unsigned tell_late(struct env *env, struct caller *waiter, uint32_t ttl_ms,
                          int64_t late_ms) {
    struct caller holder;
    unsigned round_trips;

    stand_in_line(env, &holder, waiter,
                  (struct lk_lock_options){.ttl_ms = ttl_ms, .poll_ms = LONG_MS, .no_renew = 1});
    round_trips = lk_request_round_trips(waiter->request);
    fault_proxy_set(env->proxy, PROXY_HOLDS_REPLIES);
    assert_int_equal(give(&env->fixture, &holder), LK_OK);
    WAIT_FOR(&env->fixture.loop, ask("PTTL %s") < ttl_ms - late_ms);
    fault_proxy_set(env->proxy, PROXY_PASSES);
    WAIT_FOR(&env->fixture.loop, waiter->calls == 1);
    return waiter->round_trips - round_trips;
}

/* The TTL began at the hand-over, not when the client heard of it. */
static void test_who_is_told_late_holds_it_for_less(void **state) {
    struct env *env = *state;
    struct caller waiter;

    assert_int_equal(tell_late(env, &waiter, 60000, 1000), 0);
    assert_true(lk_lease_remaining_ms(waiter.lease) < 59000 - 59000 / 100);
    assert_int_equal(give(&env->fixture, &waiter), LK_OK);
}

static void test_who_is_told_too_late_asks(void **state) {
    struct env *env = *state;
    struct caller waiter;

    assert_int_equal(tell_late(env, &waiter, 2000, 201), 1);
    assert_int_equal(give(&env->fixture, &waiter), LK_OK);
}

static int64_t server_ms(void) {
    redisReply *time = redisCommand(own_server.admin, "TIME");
    const int64_t ms = strtoll(time->element[0]->str, NULL, 10) * 1000;

    freeReplyObject(time);
    return ms;
}

/* News for the first in line, on its only channel. */
static void tell(const char *name, int64_t at_ms, int ttl_ms) {
    redisReply *channels = redisCommand(own_server.admin, "PUBSUB CHANNELS lk:client:*");
    redisReply *line = redisCommand(own_server.admin, "ZRANGE lk:{%s}:queue 0 0", name);

    assert_int_equal(channels->elements, 1);
    assert_int_equal(own_redis_do(&own_server, "PUBLISH %s %s:9007199254740000:%d:%lld:%s",
                                  channels->element[0]->str, line->element[0]->str, ttl_ms,
                                  (long long)at_ms, name),
                     1);
    freeReplyObject(channels);
    freeReplyObject(line);
}

/* News from the future, as after a step of the server's clock; of a lock that was not asked for, as
 * when a place in line passes from one waiter to another; and news of long ago. */
static void test_news_that_cannot_be_is_not_believed(void **state) {
    static const struct {
        int64_t since_ms;
        int ttl_ms;
    } news[] = {
        {60000, LONG_MS}, {0, LONG_MS * 2}, {0, LONG_MS / 2}, {-LONG_MS / 5, LONG_MS}, {-1, 0}};
    struct env *env = *state;
    struct caller holder, waiter;

    obtain(&env->fixture, &holder, open_unpolled(env, env->fixture.client), LK_TRY);
    start(&waiter, open_unpolled(env, env->far), LK_FOREVER);
    await_channel(&env->fixture, env->far, &waiter);
    for (size_t i = 0; i < sizeof news / sizeof *news; i++) {
        const unsigned asked = lk_request_round_trips(waiter.request);

        tell(env->fixture.name, server_ms() + news[i].since_ms, news[i].ttl_ms);
        WAIT_FOR(&env->fixture.loop, lk_request_round_trips(waiter.request) == asked + 1);
        assert_int_equal(waiter.calls, 0);
    }
    assert_int_equal(give(&env->fixture, &holder), LK_OK);
    await_and_give(&env->fixture, &waiter);
}

static void test_one_that_gives_up_what_it_was_handed_hands_it_on(void **state) {
    struct env *env = *state;
    struct caller holder, first, next;
    lk_client *other = env->fixture.other = open_client(&env->fixture, redis_url());

    obtain(&env->fixture, &holder, open_unpolled(env, env->fixture.client), LK_TRY);
    start_in_line(env, &first, open_unpolled(env, env->far));
    start_in_line(env, &next, open_unpolled(env, other));
    await_channel(&env->fixture, env->far, &first);
    await_channel(&env->fixture, other, &next);
    fault_proxy_set(env->proxy, PROXY_HOLDS_REPLIES); /* also messages */
    assert_int_equal(give(&env->fixture, &holder), LK_OK);
    assert_int_equal(next.calls, 0);
    lk_cancel(first.request);
    WAIT_FOR(&env->fixture.loop, next.calls == 1);
    assert_int_equal(counters(other).polls, 0);
    assert_int_equal(give(&env->fixture, &next), LK_OK);
}

static void test_newcomer_hands_over_what_has_expired(void **state) {
    struct env *env = *state;
    struct caller holder, waiter, late;
    lk_client *other = env->fixture.other = open_client(&env->fixture, redis_url());

    obtain(&env->fixture, &holder, open_unpolled(env, other), LK_TRY);
    start_in_line(env, &waiter, open_unpolled(env, env->far));
    WAIT_FOR(&env->fixture.loop, counters(env->far).wakeups == 1);
    (void)ask("DEL %s");
    assert_int_equal(take(&env->fixture, &late, open_unpolled(env, env->fixture.client), LK_TRY),
                     LK_BUSY);
    WAIT_FOR(&env->fixture.loop, waiter.calls == 1);
    assert_int_equal(counters(env->far).polls, 0);
    assert_true(ask("PTTL %s") > 5000); /* the whole TTL, once it has answered */
    assert_int_equal(give(&env->fixture, &waiter), LK_OK);
    assert_int_equal(give(&env->fixture, &holder), LK_LOST);
}

static void test_nothing_is_left_of_those_who_gave_up(void **state) {
    struct env *env = *state;
    struct caller holder, waiter;
    lk_lock *lock = polled(env, env->far);

    obtain(&env->fixture, &holder, polled(env, env->fixture.client), LK_TRY);
    assert_int_equal(take(&env->fixture, &waiter, lock, LK_TRY), LK_BUSY);
    assert_int_equal(keys_left(env), 2);
    time_out(&env->fixture, &waiter, lock);
    WAIT_FOR(&env->fixture.loop, keys_left(env) == 2);
    start_in_line(env, &waiter, lock);
    lk_cancel(waiter.request);
    WAIT_FOR(&env->fixture.loop, keys_left(env) == 2);
    /* Nothing stays of a waiter that could not tell the server that it gave up. */
    start_in_line(env, &waiter, lock);
    fault_proxy_set(env->proxy, PROXY_HOLDS_REQUESTS);
    WAIT_FOR(&env->fixture.loop, keys_left(env) == 2);
    lk_cancel(waiter.request);
    WAIT_FOR(&env->fixture.loop, waiter.calls == 1);
    assert_int_equal(give(&env->fixture, &holder), LK_OK);
    assert_int_equal(keys_left(env), 1); /* the counter */
}

/* One of several clients that want it all the time. */
struct member {
    lk_lock *lock;
    int left;
};

static void on_member(lk_request *request, enum lk_status status, lk_lease *lease, void *data) {
    struct member *member = data;

    (void)request;
    assert_int_equal(status, LK_OK);
    lk_release(lease, NULL, NULL);
    if (--member->left > 0)
        assert_int_equal(lk_acquire(member->lock, LK_FOREVER, on_member, member, NULL), LK_OK);
}

#define MEMBERS 8
#define ROUNDS  50

/* With any number of waiters: stand in line, hear of the lock, give it back. */
static void test_hand_over_takes_two_commands_and_one_message(void **state) {
    struct env *env = *state;
    lk_client *clients[MEMBERS];
    struct member members[MEMBERS];
    int64_t scripts, messages;

    for (int i = 0; i < MEMBERS; i++) {
        clients[i] = open_client(&env->fixture, own_server.url);
        members[i] = (struct member){open_unpolled(env, clients[i]), ROUNDS};
        assert_int_equal(lk_acquire(members[i].lock, LK_FOREVER, on_member, &members[i], NULL),
                         LK_OK);
    }
    for (int i = 0; i < MEMBERS; i++)
        WAIT_FOR(&env->fixture.loop, members[i].left == 0);
    for (int i = 0; i < MEMBERS; i++)
        close_client(&env->fixture, clients[i]);
    scripts = calls_of("evalsha");
    messages = calls_of("publish");
    /* And each needs one until its channel was there. */
    assert_in_range(scripts, 2 * MEMBERS * ROUNDS, 2 * MEMBERS * ROUNDS + 4 * MEMBERS);
    assert_in_range(messages, MEMBERS * ROUNDS / 2, MEMBERS * ROUNDS);
}

static void test_permits_of_the_dead_are_free_after_their_ttl(void **state) {
    struct env *env = *state;
    struct lk_lock_options options = {
        .mode = LK_SHARED, .limit = 3, .permits = 2, .ttl_ms = 200, .no_renew = 1};
    struct caller dead, waiter, late;
    lk_lock *lock;

    obtain(&env->fixture, &dead, open_lock_as(&env->fixture, env->far, options), LK_TRY);
    options.no_renew = 0;
    options.ttl_ms = 3000;
    lock = open_lock_as(&env->fixture, env->fixture.client, options);
    obtain(&env->fixture, &waiter, lock, LK_FOREVER);
    assert_true(lk_lease_fence(waiter.lease) > lk_lease_fence(dead.lease));
    assert_int_equal(give(&env->fixture, &dead), LK_LOST);
    assert_int_equal(take(&env->fixture, &late, lock, LK_TRY), LK_BUSY); /* one is left */
    WAIT_FOR(&env->fixture.loop, counters(env->fixture.client).renewed >= 4);
    assert_int_equal(give(&env->fixture, &waiter), LK_OK);
    assert_int_equal(keys_left(env), 1);
}

/* A stream of readers does not keep a writer out, nor a stream of writers a reader. */
static void test_neither_readers_nor_writers_starve(void **state) {
    struct env *env = *state;
    lk_client *clients[4];
    struct member members[4];

    for (int i = 0; i < 4; i++) {
        struct lk_lock_options options = {.ttl_ms = LONG_MS, .poll_ms = LONG_MS};

        options.mode = i < 2 ? LK_SHARED : LK_EXCLUSIVE;
        clients[i] = open_client(&env->fixture, redis_url());
        members[i] = (struct member){open_lock_as(&env->fixture, clients[i], options), 40};
        assert_int_equal(lk_acquire(members[i].lock, LK_FOREVER, on_member, &members[i], NULL),
                         LK_OK);
    }
    for (int i = 0; i < 4; i++)
        WAIT_FOR(&env->fixture.loop, members[i].left == 0);
    for (int i = 0; i < 4; i++)
        close_client(&env->fixture, clients[i]);
    assert_int_equal(keys_left(env), 1);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        REDIS_TEST(test_dead_waiter_is_passed_over),
        REDIS_TEST(test_who_is_told_holds_it_without_asking),
        REDIS_TEST(test_who_is_told_late_holds_it_for_less),
        REDIS_TEST(test_who_is_told_too_late_asks),
        OWN_REDIS_TEST(test_news_that_cannot_be_is_not_believed),
        REDIS_TEST(test_one_that_gives_up_what_it_was_handed_hands_it_on),
        REDIS_TEST(test_newcomer_hands_over_what_has_expired),
        REDIS_TEST(test_nothing_is_left_of_those_who_gave_up),
        OWN_REDIS_TEST(test_hand_over_takes_two_commands_and_one_message),
        REDIS_TEST(test_permits_of_the_dead_are_free_after_their_ttl),
        REDIS_TEST(test_neither_readers_nor_writers_starve),
    };

    (void)redis_url();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
