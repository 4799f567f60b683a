/* Four processes take and give back the same locks. Nodes are stopped, or killed and started again
 * without their memory, never more than a minority at a time. The processes are stopped, too. No
 * two are ever valid holders at a time, and tokens rise with each grant. */
#include "history.h"
#include "redlock_env.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROCESSES 4
#define TTL_MS    300

static const struct history_use use = {
    .ttl_ms = TTL_MS, .reply_ms = 100, .poll_ms = 50, .duration_ms = 8000};

/* Node `first` and the next one are stopped for a while, or started again, empty. */
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
    /* Empty nodes have no vote for so long, and the others must be a majority. */
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
            history_live(history, &use, url, env->fixture.name, random + (uint32_t)i);
    }
    end_ms = clock_now_ms() + use.duration_ms;
    while (clock_now_ms() < end_ms) {
        disturb_nodes(env->ensemble, &random);
        if (dice(&random, 3) == 0)
            disturb_a_process(children, &random);
    }
    for (int i = 0; i < PROCESSES; i++) {
        int status;

        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    print_message("%u grants\n", history->count);
    wrong = history_check(history);
    if (wrong != NULL)
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
