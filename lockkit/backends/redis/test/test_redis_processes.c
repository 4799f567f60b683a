/* Holders in other processes, that are killed or stopped while they hold. */
#include "redis_env.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define TTL_MS 400

/* What the child tells: that it holds, and later that it has lost. */
struct news {
    uint64_t fence;
    enum lk_state state;
    enum lk_status checked, released;
};

static int told; /* the pipe; the child's end in the child */
static struct news news;

static void tell(void) {
    if (write(told, &news, sizeof news) != sizeof news)
        _exit(1);
}

static void on_released(enum lk_status status, void *data) {
    (void)data;
    news.released = status;
    tell();
}

static void on_state(lk_lease *lease, enum lk_state state, const char *why, void *data) {
    (void)why;
    (void)data;
    if (state != LK_LOST_STATE)
        return;
    news.state = state;
    news.checked = lk_lease_check(lease, 0);
    lk_release(lease, on_released, NULL);
}

static void on_acquired(lk_request *request, enum lk_status status, lk_lease *lease, void *data) {
    (void)request;
    (void)data;
    if (status != LK_OK)
        _exit(1);
    lk_lease_on_state(lease, on_state, NULL);
    news.fence = lk_lease_fence(lease);
    tell();
}

/* The child's whole life, until it is killed. */
static void hold_for_ever(const char *name) {
    struct lk_lock_options options = {.size = sizeof options, .ttl_ms = TTL_MS};
    lk_client *client;
    lk_lock *lock;
    uv_loop_t loop;

    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || uv_loop_init(&loop) != 0 ||
        lk_client_open(&client, &loop, redis_url(), NULL) != LK_OK ||
        lk_lock_open(&lock, client, name, &options) != LK_OK ||
        lk_acquire(lock, LK_FOREVER, on_acquired, NULL, NULL) != LK_OK)
        _exit(1);
    (void)uv_run(&loop, UV_RUN_DEFAULT);
    _exit(1);
}

static bool has_news(void) {
    return read(told, &news, sizeof news) == sizeof news;
}

static pid_t start_holder(struct env *env) {
    int ends[2];
    pid_t child;

    memset(&news, 0, sizeof news);
    assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
    child = fork();
    assert_true(child >= 0);
    told = ends[child == 0];
    if (child == 0)
        hold_for_ever(env->fixture.name);
    (void)close(ends[1]);
    WAIT_FOR(&env->fixture.loop, has_news());
    return child;
}

static void end_holder(pid_t child) {
    int status;

    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, &status, 0), child);
}

static void test_lock_of_a_killed_process_is_freed_by_its_ttl(void **state) {
    struct env *env = *state;
    pid_t child = start_holder(env);
    lk_lock *lock = open_lock(&env->fixture, env->far, 60000);
    struct caller caller;

    assert_int_equal(take(&env->fixture, &caller, lock, LK_TRY), LK_BUSY);
    end_holder(child);
    assert_int_equal(take(&env->fixture, &caller, lock, 15000), LK_OK);
    assert_true(lk_lease_fence(caller.lease) > news.fence);
    assert_int_equal(give(&env->fixture, &caller), LK_OK);
    (void)close(told);
}

static void test_stopped_holder_learns_that_it_has_lost_and_spares_its_successor(void **state) {
    struct env *env = *state;
    pid_t child = start_holder(env);
    struct caller caller;

    assert_int_equal(kill(child, SIGSTOP), 0);
    assert_int_equal(take(&env->fixture, &caller, open_lock(&env->fixture, env->far, 60000), 15000),
                     LK_OK);
    assert_true(lk_lease_fence(caller.lease) > news.fence);
    assert_int_equal(kill(child, SIGCONT), 0);
    WAIT_FOR(&env->fixture.loop, has_news());
    assert_int_equal(news.state, LK_LOST_STATE);
    assert_int_equal(news.checked, LK_LOST);
    assert_int_equal(news.released, LK_LOST);
    assert_owner(env, caller.lease);
    assert_int_equal(give(&env->fixture, &caller), LK_OK);
    end_holder(child);
    (void)close(told);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        REDIS_TEST(test_lock_of_a_killed_process_is_freed_by_its_ttl),
        REDIS_TEST(test_stopped_holder_learns_that_it_has_lost_and_spares_its_successor),
    };

    (void)redis_url();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
