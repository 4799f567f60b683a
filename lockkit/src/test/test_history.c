/* Random histories: several processes take and give back the same locks while their connections are
 * delayed and cut, the processes are stopped and the server forgets its scripts. Whatever happens,
 * no two are valid holders at a time, fencing tokens rise with each grant, each callback runs once,
 * and everything ends. */
#include "history.h"
#include "own_zookeeper.h"
#include "postgres_fixture.h"
#include "redis_env.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROCESSES   4
#define ACTORS      5
#define NAMES       4
#define DURATION_MS 1500
#define ENOUGH      4 /* grants: where a server is slow beside the TTL, it takes as long as that */
#define TTL_MS      120
#define TICK_MS     2

enum state { IDLE, WAITING, HOLDING, RELEASING };

struct process;

/* One user of the locks, who does one thing after the other. */
struct actor {
    struct process *process;
    enum state state;
    lk_request *request;
    lk_lease *lease;
    uint32_t patience; /* in ticks that the lease is held for, about */
    struct grant grant;
};

/* What a child works with. */
struct process {
    uv_loop_t loop;
    uv_timer_t tick;
    lk_client *client;
    lk_lock *locks[NAMES][2];
    struct history *history;
    struct actor actors[ACTORS];
    uint32_t random;
    int64_t end_ms;
    int closed;
};

/* As far as the holder knows now. The clock is read first, so that the moment is never too late. */
static void observe(struct actor *actor) {
    int64_t before_ns = history_now_ns();
    int64_t left_ms = lk_lease_remaining_ms(actor->lease);

    if (left_ms > 0)
        actor->grant.until_ns = before_ns + left_ms * 1000000;
}

static void on_acquired(lk_request *request, enum lk_status status, lk_lease *lease, void *data) {
    struct actor *actor = data;
    int64_t before_ns = history_now_ns();

    REQUIRE(actor->state == WAITING && request == actor->request);
    REQUIRE((status == LK_OK) == (lease != NULL));
    actor->request = NULL;
    actor->state = lease ? HOLDING : IDLE;
    actor->lease = lease;
    if (!lease)
        return;
    actor->grant.from_ns = actor->grant.until_ns = before_ns;
    actor->grant.fence = lk_lease_fence(lease);
    if (lk_lease_check(lease, 0) == LK_OK)
        observe(actor);
    else
        actor->grant.from_ns = 0;
}

static void on_released(enum lk_status status, void *data) {
    struct actor *actor = data;

    REQUIRE(actor->state == RELEASING);
    REQUIRE(status == LK_OK || status == LK_LOST || status == LK_UNKNOWN);
    actor->state = IDLE;
}

static void acquire(struct actor *actor) {
    struct process *process = actor->process;
    uint32_t *random = &process->random;
    uint32_t waits_ms[] = {LK_TRY, 5, 50, 200, LK_FOREVER};

    actor->grant.name = (int)dice(random, NAMES);
    actor->patience = dice(random, 4) ? 4 : 2 * TTL_MS / TICK_MS;
    actor->state = WAITING;
    REQUIRE(lk_acquire(process->locks[actor->grant.name][dice(random, 2)],
                       waits_ms[dice(random, 5)], on_acquired, actor, &actor->request) == LK_OK);
    REQUIRE(actor->state == WAITING);
}

/* The holder's validity ends here, by its own doing. */
static void record(struct actor *actor) {
    int64_t end_ns = history_now_ns();

    observe(actor);
    if (actor->grant.until_ns > end_ns)
        actor->grant.until_ns = end_ns;
    if (actor->grant.from_ns > 0)
        history_add(actor->process->history, &actor->grant);
}

/* It stays taken until its TTL has ended, or, with a session, for as long as is asked for. */
static void abandon(struct actor *actor) {
    struct process *process = actor->process;
    uint32_t hold_ms = dice(&process->random, 2) ? 0 : TTL_MS;
    int64_t held_ns = history_now_ns() + (int64_t)hold_ms * 1000000;

    observe(actor);
    if ((lk_client_caps(process->client) & LK_CAP_SESSION) && actor->grant.until_ns > held_ns)
        actor->grant.until_ns = held_ns;
    if (actor->grant.from_ns > 0)
        history_add(process->history, &actor->grant);
    actor->state = IDLE;
    lk_abandon(actor->lease, hold_ms);
}

static void let_go(struct actor *actor) {
    if (dice(&actor->process->random, 32) == 0) {
        abandon(actor);
        return;
    }
    record(actor);
    actor->state = RELEASING;
    lk_release(actor->lease, on_released, actor);
    REQUIRE(actor->state == RELEASING);
}

static void act(struct actor *actor) {
    uint32_t *random = &actor->process->random;

    switch (actor->state) {
    case IDLE:
        if (dice(random, 4) == 0)
            acquire(actor);
        break;
    case WAITING:
        if (dice(random, 60) == 0)
            lk_cancel(actor->request);
        break;
    case HOLDING:
        observe(actor);
        if (dice(random, actor->patience) == 0)
            let_go(actor);
        break;
    case RELEASING:
        break;
    }
}

static void on_process_closed(void *data) {
    struct process *process = data;

    process->closed++;
    uv_close((uv_handle_t *)&process->tick, NULL);
}

static bool is_over(const struct history *history, int64_t end_ms) {
    return clock_now_ms() >= end_ms && history->count >= ENOUGH;
}

/* In the middle of everything. */
static void close_process(struct process *process) {
    (void)uv_timer_stop(&process->tick);
    for (int i = 0; i < ACTORS; i++)
        if (process->actors[i].state == HOLDING) {
            record(&process->actors[i]);
            process->actors[i].state = IDLE;
        }
    lk_client_close(process->client, on_process_closed, process);
}

static void on_process_tick(uv_timer_t *timer) {
    struct process *process = timer->data;

    if (is_over(process->history, process->end_ms)) {
        close_process(process);
        return;
    }
    for (int i = 0; i < ACTORS; i++)
        act(&process->actors[i]);
}

static void open_process(struct process *process, const char *prefix, const char *url) {
    struct lk_client_options options = {.size = sizeof options, .reply_ms = 40, .cleanup_ms = 800};

    REQUIRE(uv_loop_init(&process->loop) == 0);
    REQUIRE(lk_client_open(&process->client, &process->loop, url, &options) == LK_OK);
    for (int i = 0; i < NAMES * 2; i++) {
        struct lk_lock_options policy = {
            .size = sizeof policy, .ttl_ms = TTL_MS, .poll_ms = 30, .no_renew = i % 2};
        char name[96];

        (void)snprintf(name, sizeof name, "%s-%d", prefix, i / 2);
        REQUIRE(lk_lock_open(&process->locks[i / 2][i % 2], process->client, name, &policy) ==
                LK_OK);
    }
    for (int i = 0; i < ACTORS; i++)
        process->actors[i].process = process;
    (void)uv_timer_init(&process->loop, &process->tick);
    process->tick.data = process;
    (void)uv_timer_start(&process->tick, on_process_tick, 0, TICK_MS);
}

/* A child's whole life. */
static void live(const char *prefix, const char *url, struct history *history, uint32_t seed) {
    struct process process = {.history = history, .random = seed};

    REQUIRE(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0); /* also when a failed test ends the parent */
    process.end_ms = clock_now_ms() + DURATION_MS;
    open_process(&process, prefix, url);
    REQUIRE(uv_run(&process.loop, UV_RUN_DEFAULT) == 0);
    REQUIRE(process.closed == 1);
    for (int i = 0; i < ACTORS; i++)
        REQUIRE(process.actors[i].state == IDLE);
    REQUIRE(uv_loop_close(&process.loop) == 0);
    _exit(0);
}

/* A child as its parent sees it, with the proxy that it connects through. */
struct victim {
    struct fault_proxy *proxy;
    pid_t pid;
    int64_t suffers_until_ms;
    bool is_stopped, is_gone;
};

static void open_proxy(struct victim *victim, uv_loop_t *loop, const char *url) {
    victim->proxy = fault_proxy_open_url(loop, url);
    fault_proxy_listen(victim->proxy);
}

static void relieve(struct victim *victim) {
    if (victim->is_stopped)
        assert_int_equal(kill(victim->pid, SIGCONT), 0);
    victim->is_stopped = false;
    fault_proxy_set(victim->proxy, PROXY_PASSES);
}

static bool is_never_cut; /* a connection */

static void cut(struct victim *victim) {
    if (!is_never_cut)
        fault_proxy_cut(victim->proxy);
}

static void torment(struct victim *victim, redisContext *admin, uint32_t *random) {
    switch (dice(random, 6)) {
    case 0:
        assert_int_equal(kill(victim->pid, SIGSTOP), 0);
        victim->is_stopped = true;
        break;
    case 1:
        fault_proxy_set(victim->proxy, PROXY_HOLDS_REQUESTS);
        break;
    case 2:
        fault_proxy_set(victim->proxy, PROXY_HOLDS_REPLIES);
        break;
    case 3:
        fault_proxy_set(victim->proxy, PROXY_HOLDS);
        break;
    case 4:
        cut(victim);
        break;
    case 5:
        freeReplyObject(redisCommand(admin, "SCRIPT FLUSH"));
        break;
    }
    victim->suffers_until_ms = clock_now_ms() + 10 + dice(random, 2 * TTL_MS);
}

/* Cut, at times, what was delayed: the replies are lost then. */
static void on_turn(struct victim *victim, redisContext *admin, uint32_t *random) {
    if (victim->suffers_until_ms > clock_now_ms())
        return;
    if (victim->suffers_until_ms > 0) {
        if (dice(random, 4) == 0)
            cut(victim);
        relieve(victim);
        victim->suffers_until_ms = 0;
    } else if (dice(random, 60) == 0) {
        torment(victim, admin, random);
    }
}

static bool are_gone(struct victim *victims) {
    bool are_gone = true;
    int status;

    for (int i = 0; i < PROCESSES; i++) {
        if (!victims[i].is_gone && waitpid(victims[i].pid, &status, WNOHANG) == victims[i].pid) {
            assert_true(WIFEXITED(status));
            assert_int_equal(WEXITSTATUS(status), 0);
            victims[i].is_gone = true;
        }
        are_gone = are_gone && victims[i].is_gone;
    }
    return are_gone;
}

static void run_history(struct env *env, const char *url, struct history *history, uint32_t seed) {
    struct victim victims[PROCESSES] = {0};
    int64_t end_ms = clock_now_ms() + DURATION_MS;
    uint32_t random = seed;

    for (int i = 0; i < PROCESSES; i++)
        open_proxy(&victims[i], &env->fixture.loop, url);
    for (int i = 0; i < PROCESSES; i++) {
        victims[i].pid = fork();
        assert_true(victims[i].pid >= 0);
        if (victims[i].pid == 0)
            live(env->fixture.name, victims[i].proxy->url, history,
                 seed * PROCESSES + (uint32_t)i + 1);
    }
    while (!is_over(history, end_ms)) {
        assert_true(clock_now_ms() < end_ms + PATIENCE_MS);
        for (int i = 0; i < PROCESSES; i++)
            on_turn(&victims[i], redis, &random);
        (void)uv_run(&env->fixture.loop, UV_RUN_ONCE);
    }
    for (int i = 0; i < PROCESSES; i++)
        relieve(&victims[i]);
    WAIT_FOR(&env->fixture.loop, are_gone(victims));
    for (int i = 0; i < PROCESSES; i++)
        fault_proxy_close(victims[i].proxy);
    (void)uv_run(&env->fixture.loop, UV_RUN_NOWAIT);
}

static void run_histories(struct env *env, const char *url) {
    static const uint32_t seeds[] = {2463534242, 88172645, 521288629, 7};

    for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++) {
        struct history *history = history_open();
        const char *wrong;

        run_history(env, url, history, seeds[i]);
        wrong = history_check(history);
        if (wrong)
            fail_msg("seed %u, %u grants: %s", seeds[i], history->count, wrong);
        history_close(history);
    }
}

static void test_random_histories_on_redis_keep_the_promises(void **state) {
    run_histories(*state, redis_url());
}

static void test_random_histories_with_hand_over_keep_the_promises(void **state) {
    char url[256];

    (void)snprintf(url, sizeof url, "%s%chandover=4", redis_url(),
                   strchr(redis_url(), '?') ? '&' : '?');
    run_histories(*state, url);
}

static void test_random_histories_on_zookeeper_keep_the_promises(void **state) {
    struct own_zookeeper own;
    char url[240];

    own_zookeeper_start(&own, 1);
    (void)snprintf(url, sizeof url, "%s/line?session=300", own.url);
    run_histories(*state, url);
    (void)snprintf(url, sizeof url, "%s/single?session=300&fair=0", own.url);
    run_histories(*state, url);
    own_zookeeper_stop(&own);
}

/* A session of Postgres frees its locks as soon as its connection is cut, before a holder that is
 * stopped can know: what README.md says of it. Of all else it is free. */
static void test_random_histories_on_postgres_keep_the_promises(void **state) {
    run_histories(*state, postgres_url("mode=table"));
    run_histories(*state, postgres_url("mode=table&handover=4"));
    is_never_cut = true;
    run_histories(*state, postgres_url("mode=session"));
    run_histories(*state, postgres_url("mode=session&handover=4"));
    is_never_cut = false;
}

static void test_checker_sees_overlaps_and_falling_tokens(void **state) {
    struct history *history = history_open();

    (void)state;
    history_add(history, &(struct grant){0, 30, 40, 3});
    history_add(history, &(struct grant){0, 10, 20, 1});
    history_add(history, &(struct grant){1, 15, 35, 1});
    history_add(history, &(struct grant){0, 20, 30, 2});
    assert_null(history_check(history));
    history_add(history, &(struct grant){0, 40, 50, 3});
    assert_string_equal(history_check(history), "the fencing token did not rise");
    history_add(history, &(struct grant){0, 12, 13, 9});
    assert_string_equal(history_check(history), "two holders at a time");
    history_close(history);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_checker_sees_overlaps_and_falling_tokens),
        REDIS_TEST(test_random_histories_on_redis_keep_the_promises),
        REDIS_TEST(test_random_histories_with_hand_over_keep_the_promises),
        REDIS_TEST(test_random_histories_on_zookeeper_keep_the_promises),
        REDIS_TEST(test_random_histories_on_postgres_keep_the_promises),
    };

    (void)redis_url();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
