/* Four processes take and give back the same locks, while nodes are stopped, or killed and started
 * again without their memory, never more than a minority at a time, and the processes are stopped,
 * too. No two are ever valid holders at a time, and tokens rise with each grant. */
#include "history.h"
#include "redlock_env.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROCESSES   4
#define ACTORS      3
#define NAMES       3
#define DURATION_MS 8000
#define TTL_MS      300

struct actor {
    struct process *process;
    uv_timer_t timer;
    lk_lease *lease;
    struct grant grant;
};

struct process {
    uv_loop_t loop;
    lk_client *client;
    lk_lock *locks[NAMES];
    struct history *history;
    struct actor actors[ACTORS];
    uint32_t random;
};

static void acquire(uv_timer_t *timer);

/* As far as the holder knows it to be valid, but no longer than until now. The clock is read first,
 * so that the moment is never too late. */
static void let_go(uv_timer_t *timer) {
    struct actor *actor = timer->data;
    const int64_t before_ns = history_now_ns(), left_ms = lk_lease_remaining_ms(actor->lease);

    if (left_ms > 0)
        actor->grant.until_ns = before_ns;
    history_add(actor->process->history, &actor->grant);
    lk_release(actor->lease, NULL, NULL);
    (void)uv_timer_start(timer, acquire, dice(&actor->process->random, 20), 0);
}

static void look(uv_timer_t *timer) {
    struct actor *actor = timer->data;
    const int64_t before_ns = history_now_ns(), left_ms = lk_lease_remaining_ms(actor->lease);

    if (left_ms > 0)
        actor->grant.until_ns = before_ns + left_ms * 1000000;
    if (left_ms == 0 || dice(&actor->process->random, 8) == 0)
        let_go(timer);
}

/* Told by the nodes, before the validity has ended: from here on it is nobody's, whatever the last
 * look said, and is given back. */
static void on_state(lk_lease *lease, enum lk_state state, const char *why, void *data) {
    struct actor *actor = data;
    const int64_t told_ns = history_now_ns();

    (void)lease;
    (void)why;
    if (state == LK_LOST_STATE && actor->grant.until_ns > told_ns)
        actor->grant.until_ns = told_ns;
}

static void on_acquired(lk_request *request, enum lk_status status, lk_lease *lease, void *data) {
    struct actor *actor = data;
    const int64_t before_ns = history_now_ns();

    (void)request;
    if (status != LK_OK) {
        (void)uv_timer_start(&actor->timer, acquire, 1 + dice(&actor->process->random, 20), 0);
        return;
    }
    actor->lease = lease;
    actor->grant.fence = lk_lease_fence(lease);
    actor->grant.from_ns = actor->grant.until_ns = before_ns;
    if (lk_lease_check(lease, 0) == LK_OK) {
        lk_lease_on_state(lease, on_state, actor);
        (void)uv_timer_start(&actor->timer, look, 1 + dice(&actor->process->random, 10), 10);
        return;
    }
    lk_release(lease, NULL, NULL);
    (void)uv_timer_start(&actor->timer, acquire, 1, 0);
}

static void acquire(uv_timer_t *timer) {
    struct actor *actor = timer->data;
    struct process *process = actor->process;

    actor->grant.name = (int)dice(&process->random, NAMES);
    REQUIRE(lk_acquire(process->locks[actor->grant.name], dice(&process->random, 3) ? 500 : LK_TRY,
                       on_acquired, actor, NULL) == LK_OK);
}

static void open_locks(struct process *process, const char *url, const char *name) {
    struct lk_client_options options = {.size = sizeof options, .reply_ms = 100};
    struct lk_lock_options policy = {.size = sizeof policy, .ttl_ms = TTL_MS, .poll_ms = 50};
    char numbered[80];

    REQUIRE(uv_loop_init(&process->loop) == 0);
    REQUIRE(lk_client_open(&process->client, &process->loop, url, &options) == LK_OK);
    for (int i = 0; i < NAMES; i++) {
        (void)snprintf(numbered, sizeof numbered, "%s-%d", name, i);
        REQUIRE(lk_lock_open(&process->locks[i], process->client, numbered, &policy) == LK_OK);
    }
}

/* A child's whole life, until it is killed. */
static void live(struct history *history, const char *url, const char *name, uint32_t seed) {
    static struct process process;

    REQUIRE(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0);
    process.history = history;
    process.random = seed;
    open_locks(&process, url, name);
    for (int i = 0; i < ACTORS; i++) {
        struct actor *actor = &process.actors[i];

        actor->process = &process;
        REQUIRE(uv_timer_init(&process.loop, &actor->timer) == 0);
        actor->timer.data = actor;
        (void)uv_timer_start(&actor->timer, acquire, 1, 0);
    }
    (void)uv_run(&process.loop, UV_RUN_DEFAULT);
    _exit(1);
}

/* Nodes `first` and the next: stopped for a while, or started again, empty. */
static void disturb_nodes(struct own_ensemble *ensemble, uint32_t *random) {
    const uint32_t first = dice(random, ENSEMBLE_NODES), count = 1 + dice(random, 2);
    const bool is_killed = dice(random, 2) == 0;

    for (uint32_t i = first; i < first + count; i++) {
        struct own_redis *node = &ensemble->nodes[i % ENSEMBLE_NODES];

        if (is_killed)
            own_redis_kill(node);
        else
            own_redis_pause(node);
    }
    (void)usleep(1000 * dice(random, 2 * TTL_MS));
    for (uint32_t i = first; i < first + count; i++) {
        struct own_redis *node = &ensemble->nodes[i % ENSEMBLE_NODES];

        if (is_killed)
            own_redis_start_again(node);
        else
            own_redis_go_on(node);
    }
    /* Those that are empty have no vote for so long, and the others are to be a majority. */
    if (is_killed)
        (void)usleep(1000 * (TTL_MS + 1100));
}

static void disturb_a_process(const pid_t *children, uint32_t *random) {
    const pid_t child = children[dice(random, PROCESSES)];

    assert_int_equal(kill(child, SIGSTOP), 0);
    (void)usleep(1000 * dice(random, 2 * TTL_MS));
    assert_int_equal(kill(child, SIGCONT), 0);
}

static void test_no_two_hold_whatever_happens_to_a_minority(void **state) {
    struct redlock_env *env = *state;
    struct history *history = history_open();
    uint32_t random = (uint32_t)clock_now_ns() | 1;
    pid_t children[PROCESSES];
    const char *wrong;
    char url[512];
    int64_t end_ms;

    (void)own_ensemble_url(env->ensemble, url, sizeof url, "?longest=300");
    print_message("seed %u\n", random);
    for (int i = 0; i < PROCESSES; i++) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] == 0)
            live(history, url, env->fixture.name, random + (uint32_t)i);
    }
    end_ms = clock_now_ms() + DURATION_MS;
    while (clock_now_ms() < end_ms) {
        disturb_nodes(env->ensemble, &random);
        if (dice(&random, 3) == 0)
            disturb_a_process(children, &random);
    }
    for (int i = 0; i < PROCESSES; i++) {
        int status;

        assert_int_equal(kill(children[i], SIGKILL), 0);
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    }
    print_message("%u grants\n", history->count);
    wrong = history_check(history);
    if (wrong)
        fail_msg("%s", wrong);
    assert_true(history->count > 20);
    history_close(history);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        REDLOCK_TEST(test_no_two_hold_whatever_happens_to_a_minority),
    };

    return REDLOCK_MAIN(tests);
}
