/* Hand-over within a client: without a word to the server, at most so often, while the lease is
 * fresh. */
#include "redis_env.h"

#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define LONG_MS 60000
#define CROWD   10

/* A lock with which only an event helps. */
static lk_lock *open_with_handover(struct env *env, lk_client *client, uint32_t handover) {
    return open_lock_as(
        &env->fixture, client,
        (struct lk_lock_options){.ttl_ms = LONG_MS, .poll_ms = LONG_MS, .handover = handover});
}

static uint64_t handed_over(lk_client *client) {
    return counters(client).handed_over;
}

static void test_it_costs_no_round_trip_and_the_fence_rises(void **state) {
    struct env *env = *state;
    lk_client *client = env->fixture.client;
    lk_lock *lock = open_with_handover(env, client, 16);
    struct caller callers[5];
    char owner[41];
    int64_t scripts;

    obtain(&env->fixture, &callers[0], lock, LK_FOREVER);
    (void)snprintf(owner, sizeof owner, "%s", lk_lease_owner(callers[0].lease));
    scripts = calls_of("evalsha");
    for (int i = 1; i < 5; i++)
        start(&callers[i], lock, LK_FOREVER);
    for (int i = 1; i < 5; i++) {
        const uint64_t fence = lk_lease_fence(callers[i - 1].lease);

        assert_int_equal(give(&env->fixture, &callers[i - 1]), LK_OK);
        WAIT_FOR(&env->fixture.loop, callers[i].calls == 1);
        assert_int_equal(callers[i].status, LK_OK);
        assert_int_equal(callers[i].round_trips, 0);
        assert_int_equal(lk_lease_fence(callers[i].lease), fence + 1);
        assert_string_equal(lk_lease_owner(callers[i].lease), owner);
    }
    assert_int_equal(calls_of("evalsha"), scripts);
    assert_int_equal(handed_over(client), 4);
    assert_int_equal(give(&env->fixture, &callers[4]), LK_OK);
    assert_int_equal(calls_of("evalsha"), scripts + 1);
    assert_int_equal(handed_over(client), 4);
}

static void on_handed_over(enum lk_status status, void *data) {
    const struct caller *heir = data;

    assert_int_equal(status, LK_OK);
    assert_int_equal(heir->calls, 1);
}

static void test_heir_is_told_before_the_holder(void **state) {
    struct env *env = *state;
    lk_lock *lock = open_with_handover(env, env->fixture.client, 16);
    struct caller holder, heir;

    obtain(&env->fixture, &holder, lock, LK_FOREVER);
    start(&heir, lock, LK_FOREVER);
    lk_release(holder.lease, on_handed_over, &heir);
    await_and_give(&env->fixture, &heir);
}

/* The winners, in order. */
struct order {
    struct one {
        struct order *order;
        char letter;
    } near[CROWD], far;
    char text[CROWD + 2];
    uint64_t fence;
};

static void on_turn(lk_request *request, enum lk_status status, lk_lease *lease, void *data) {
    struct one *one = data;
    struct order *order = one->order;

    (void)request;
    assert_int_equal(status, LK_OK);
    assert_true(lk_lease_fence(lease) > order->fence);
    order->fence = lk_lease_fence(lease);
    order->text[strlen(order->text)] = one->letter;
    lk_release(lease, NULL, NULL);
}

static void test_who_waits_elsewhere_has_it_after_so_many(void **state) {
    struct env *env = *state;
    lk_lock *near = open_with_handover(env, env->fixture.client, 3);
    lk_lock *far = open_with_handover(env, env->far, 3);
    struct order order = {.far = {&order, 'F'}};
    struct caller first;

    obtain(&env->fixture, &first, near, LK_FOREVER);
    order.fence = lk_lease_fence(first.lease);
    assert_int_equal(lk_acquire(far, LK_FOREVER, on_turn, &order.far, NULL), LK_OK);
    WAIT_FOR(&env->fixture.loop, ask("ZCARD %s:queue") == 1);
    for (int i = 0; i < CROWD; i++) {
        order.near[i] = (struct one){&order, 'n'};
        assert_int_equal(lk_acquire(near, LK_FOREVER, on_turn, &order.near[i], NULL), LK_OK);
    }
    lk_release(first.lease, NULL, NULL);
    WAIT_FOR(&env->fixture.loop, strlen(order.text) == CROWD + 1);
    assert_string_equal(order.text, "nnnFnnnnnnn");
}

static void test_only_a_fresh_lease_is_handed_over(void **state) {
    static const struct {
        uint32_t suspect_ms, passed_ms;
        bool is_handed_over;
    } cases[] = {{0, LONG_MS / 3 - 1, true},
                 {0, LONG_MS / 3 + 1, false},
                 {LONG_MS - LONG_MS / 5, LONG_MS / 4, false},
                 {0, LONG_MS, false}};
    struct env *env = *state;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lk_client *client = open_with(env, redis_url(), FIXTURE_REPLY_MS, fake_clock);
        lk_lock *lock = open_lock_as(&env->fixture, client,
                                     (struct lk_lock_options){.ttl_ms = LONG_MS,
                                                              .poll_ms = LONG_MS,
                                                              .no_renew = 1,
                                                              .suspect_ms = cases[i].suspect_ms,
                                                              .handover = 16});
        struct caller holder, heir;

        fake_now_ns = 1;
        obtain(&env->fixture, &holder, lock, LK_FOREVER);
        start(&heir, lock, LK_FOREVER);
        fake_now_ns += cases[i].passed_ms * UINT64_C(1000000);
        (void)give(&env->fixture, &holder);
        WAIT_FOR(&env->fixture.loop, heir.calls == 1);
        assert_int_equal(handed_over(client), cases[i].is_handed_over);
        assert_int_equal(heir.round_trips > 0, !cases[i].is_handed_over);
        assert_int_equal(lk_lease_state(heir.lease), LK_HELD);
        assert_int_equal(give(&env->fixture, &heir), LK_OK);
        close_client(&env->fixture, client);
    }
}

static void test_heir_renews(void **state) {
    struct env *env = *state;
    lk_client *client = env->fixture.client;
    lk_lock *lock = open_lock_as(&env->fixture, client,
                                 (struct lk_lock_options){.ttl_ms = 3000, .handover = 1});
    struct caller holder, heir;
    uint64_t renewed;

    obtain(&env->fixture, &holder, lock, LK_FOREVER);
    WAIT_FOR(&env->fixture.loop, counters(client).renewed == 1);
    start(&heir, lock, LK_FOREVER);
    assert_int_equal(give(&env->fixture, &holder), LK_OK);
    WAIT_FOR(&env->fixture.loop, heir.calls == 1);
    assert_int_equal(handed_over(client), 1);
    renewed = counters(client).renewed;
    WAIT_FOR(&env->fixture.loop, counters(client).renewed >= renewed + 3);
    assert_int_equal(lk_lease_state(heir.lease), LK_HELD);
    assert_owner(heir.lease);
    assert_int_equal(give(&env->fixture, &heir), LK_OK);
    assert_false(exists());
}

static void on_state(lk_lease *lease, enum lk_state state, const char *why, void *data) {
    (void)lease;
    assert_non_null(why);
    *(enum lk_state *)data = state;
}

/* The lock was broken, or expired at the server: the heir is told, and the waiter behind it asks
 * the server. */
static void test_heir_is_told_that_it_has_lost(void **state) {
    struct env *env = *state;
    lk_client *client = env->fixture.client;
    lk_lock *lock = open_lock_as(&env->fixture, client,
                                 (struct lk_lock_options){.ttl_ms = 600, .handover = 16});
    struct caller holder, heir, next;
    enum lk_state seen = LK_HELD;
    uint64_t fence;

    obtain(&env->fixture, &holder, lock, LK_FOREVER);
    start(&heir, lock, LK_FOREVER);
    start(&next, lock, LK_FOREVER);
    assert_int_equal(give(&env->fixture, &holder), LK_OK);
    WAIT_FOR(&env->fixture.loop, heir.calls == 1);
    lk_lease_on_state(heir.lease, on_state, &seen);
    fence = lk_lease_fence(heir.lease);
    assert_int_equal(ask("DEL %s"), 1);
    WAIT_FOR(&env->fixture.loop, seen == LK_LOST_STATE);
    WAIT_FOR(&env->fixture.loop, next.calls == 1);
    assert_true(lk_lease_fence(next.lease) > fence);
    assert_int_equal(give(&env->fixture, &heir), LK_LOST);
    assert_owner(next.lease);
    assert_int_equal(give(&env->fixture, &next), LK_OK);
}

static void test_abandoned_lease_is_not_handed_over(void **state) {
    struct env *env = *state;
    lk_client *client = env->fixture.client;
    lk_lock *lock = open_lock_as(&env->fixture, client,
                                 (struct lk_lock_options){.ttl_ms = 400, .handover = 16});
    struct caller holder, next;
    int64_t abandoned_ms;

    obtain(&env->fixture, &holder, lock, LK_FOREVER);
    start(&next, lock, LK_FOREVER);
    abandoned_ms = clock_now_ms();
    lk_abandon(holder.lease, 500);
    WAIT_FOR(&env->fixture.loop, next.calls == 1);
    assert_true(clock_now_ms() - abandoned_ms >= 500);
    assert_int_equal(handed_over(client), 0);
    assert_int_equal(give(&env->fixture, &next), LK_OK);
}

static void take_where_others_waited(struct fixture *fixture, struct caller *caller, lk_lock *lock,
                                     lk_lock *other) {
    struct caller before;

    obtain(fixture, &before, other, LK_FOREVER);
    start(caller, lock, LK_FOREVER);
    WAIT_FOR(&fixture->loop, counters(lk_lock_client(lock)).wakeups == 1); /* it has its channel */
    assert_int_equal(give(fixture, &before), LK_OK);
    WAIT_FOR(&fixture->loop, caller->calls == 1);
    assert_int_equal(caller->status, LK_OK);
}

/* Pretend that it was handed over long ago. */
static void send_message(const char *owner, const char *name) {
    redisReply *channels = redisCommand(own_server.admin, "PUBSUB CHANNELS lk:client:*");

    assert_int_equal(channels->elements, 1); /* only one client has a channel */
    assert_int_equal(
        own_redis_do(&own_server, "PUBLISH %s %s:1:1:1:%s", channels->element[0]->str, owner, name),
        1);
    freeReplyObject(channels);
}

/* The heir's place in the server's line goes to the next waiter, and at last to nobody. */
static void test_place_in_line_is_passed_on_and_then_given_up(void **state) {
    struct env *env = *state;
    uv_loop_t *loop = &env->fixture.loop;
    lk_client *client = env->fixture.client;
    lk_lock *lock = open_with_handover(env, client, 16);
    struct caller callers[3];

    take_where_others_waited(&env->fixture, &callers[0], lock,
                             open_with_handover(env, env->far, 16));
    for (int i = 1; i < 3; i++)
        start(&callers[i], lock, LK_FOREVER);
    send_message(lk_lease_owner(callers[0].lease), env->fixture.name);
    WAIT_FOR(loop, lk_request_round_trips(callers[1].request) == 1);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(own_redis_do(&own_server, "ZCARD lk:{%s}:queue", env->fixture.name), 1);
        assert_int_equal(give(&env->fixture, &callers[i]), LK_OK);
        WAIT_FOR(loop, callers[i + 1].calls == 1);
        assert_int_equal(handed_over(client), i + 1);
    }
    WAIT_FOR(loop, own_redis_do(&own_server, "ZCARD lk:{%s}:queue", env->fixture.name) == 0);
    assert_int_equal(lk_lease_state(callers[2].lease), LK_HELD);
    assert_int_equal(give(&env->fixture, &callers[2]), LK_OK);
    assert_int_equal(own_redis_do(&own_server, "DBSIZE"), 1); /* the counter */
}

/* The grants that a process records before it is killed. */
struct told {
    atomic_ullong fence;
    atomic_int grants;
};

struct greedy {
    lk_lock *lock;
    struct told *told;
};

static void on_greedy(lk_request *request, enum lk_status status, lk_lease *lease, void *data) {
    struct greedy *greedy = data;

    (void)request;
    if (status != LK_OK)
        _exit(1);
    atomic_store(&greedy->told->fence, lk_lease_fence(lease));
    atomic_fetch_add(&greedy->told->grants, 1);
    if (lk_acquire(greedy->lock, LK_FOREVER, on_greedy, greedy, NULL) != LK_OK)
        _exit(1);
    lk_release(lease, NULL, NULL);
}

static void live(const char *name, struct told *told) {
    struct lk_lock_options options = {.size = sizeof options, .ttl_ms = 400, .handover = 1000};
    struct greedy greedy = {.told = told};
    lk_client *client;
    uv_loop_t loop;

    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || uv_loop_init(&loop) != 0 ||
        lk_client_open(&client, &loop, redis_url(), NULL) != LK_OK ||
        lk_lock_open(&greedy.lock, client, name, &options) != LK_OK ||
        lk_acquire(greedy.lock, LK_FOREVER, on_greedy, &greedy, NULL) != LK_OK)
        _exit(1);
    (void)uv_run(&loop, UV_RUN_DEFAULT);
    _exit(1);
}

static void test_killed_in_the_middle_it_is_free_when_the_ttl_ends(void **state) {
    struct env *env = *state;
    struct told *told =
        mmap(NULL, sizeof *told, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct caller caller;
    pid_t child = fork();
    int status;

    assert_true(told != MAP_FAILED && child >= 0);
    if (child == 0)
        live(env->fixture.name, told);
    WAIT_FOR(&env->fixture.loop, atomic_load(&told->grants) > 500);
    start(&caller, open_lock(&env->fixture, env->fixture.client, 2000), LK_FOREVER);
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    WAIT_FOR(&env->fixture.loop, caller.calls == 1);
    assert_true(lk_lease_fence(caller.lease) > atomic_load(&told->fence));
    assert_int_equal(give(&env->fixture, &caller), LK_OK);
    (void)munmap(told, sizeof *told);
}

static void test_only_exclusive_ones_that_share_a_line_can_be_handed_over(void **state) {
    static const struct lk_lock_options wrong[] = {
        {.handover = 1, .mode = LK_SHARED}, {.handover = 1, .is_fair = 1}, {.handover = 1001}};
    struct env *env = *state;
    char url[256];
    lk_client *client;
    lk_lock *lock;

    (void)snprintf(url, sizeof url, "%s%chandover=5", redis_url(),
                   strchr(redis_url(), '?') != NULL ? '&' : '?');
    client = env->fixture.other = open_client(&env->fixture, url);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct lk_lock_options options = wrong[i];

        options.size = sizeof options;
        assert_int_equal(lk_lock_open(&lock, client, "x", &options), LK_INVALID);
        options.handover = 0; /* the URL's value counts only for locks that can do it */
        assert_int_equal(lk_lock_open(&lock, client, "x", &options), LK_OK);
    }
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        OWN_REDIS_TEST(test_it_costs_no_round_trip_and_the_fence_rises),
        REDIS_TEST(test_who_waits_elsewhere_has_it_after_so_many),
        REDIS_TEST(test_heir_is_told_before_the_holder),
        REDIS_TEST(test_only_a_fresh_lease_is_handed_over),
        REDIS_TEST(test_heir_renews),
        REDIS_TEST(test_heir_is_told_that_it_has_lost),
        REDIS_TEST(test_abandoned_lease_is_not_handed_over),
        OWN_REDIS_TEST(test_place_in_line_is_passed_on_and_then_given_up),
        REDIS_TEST(test_killed_in_the_middle_it_is_free_when_the_ttl_ends),
        REDIS_TEST(test_only_exclusive_ones_that_share_a_line_can_be_handed_over),
    };

    (void)redis_url();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
