/* Random histories. Several processes take and give back the same locks. Their connections are
 * delayed and cut, the processes are stopped, and the server forgets its scripts. No two are ever
 * valid holders at a time, fencing tokens rise with each grant, each callback runs once, and
 * everything ends. */
#include "history.h"
#include "own_zookeeper.h"
#include "postgres_env.h"
#include "redis_env.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROCESSES 4
#define TTL_MS    120

static const struct history_use use = {
    .ttl_ms = TTL_MS, .reply_ms = 40, .poll_ms = 30, .duration_ms = 1500};

/* A child and its proxy, in the eyes of the parent. */
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

/* Sometimes cut a connection with delayed data: the replies are then lost. */
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
    int64_t end_ms = clock_now_ms() + use.duration_ms;
    uint32_t random = seed;

    for (int i = 0; i < PROCESSES; i++)
        open_proxy(&victims[i], &env->fixture.loop, url);
    for (int i = 0; i < PROCESSES; i++) {
        victims[i].pid = fork();
        assert_true(victims[i].pid >= 0);
        if (victims[i].pid == 0)
            history_live(history, &use, victims[i].proxy->url, env->fixture.name,
                         seed * PROCESSES + (uint32_t)i + 1);
    }
    while (!history_is_over(history, end_ms)) {
        assert_true(clock_now_ms() < end_ms + PATIENCE_MS);
        for (int i = 0; i < PROCESSES; i++)
            on_turn(&victims[i], own_server.admin, &random);
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
        if (wrong != NULL)
            fail_msg("seed %u, %u grants: %s", seeds[i], history->count, wrong);
        history_close(history);
    }
}

static void test_random_histories_on_redis_keep_the_promises(void **state) {
    run_histories(*state, own_server.url);
}

static void test_random_histories_with_hand_over_keep_the_promises(void **state) {
    char url[256];

    (void)snprintf(url, sizeof url, "%s?handover=4", own_server.url);
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

/* A session of Postgres frees its locks as soon as its connection is cut, before a stopped holder
 * can know (see README.md). The other rules hold for it, too. */
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
        OWN_REDIS_TEST(test_random_histories_on_redis_keep_the_promises),
        OWN_REDIS_TEST(test_random_histories_with_hand_over_keep_the_promises),
        OWN_REDIS_TEST(test_random_histories_on_zookeeper_keep_the_promises),
        OWN_REDIS_TEST(test_random_histories_on_postgres_keep_the_promises),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
