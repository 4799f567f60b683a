/* Turns: client processes that always want the same lock get it in turn, for any time that each of
 * them holds it, and also if their callers give up and come again. */
#include "redis_env.h"

#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define CLIENTS_MOST 4
#define CALLERS      3 /* callers of a client, so that one of them always waits */
#define GRANTS_MOST  4096
#define TURNS_MOST   2 /* in a row */

/* In memory that the processes share. */
struct log {
    atomic_bool is_over;
    atomic_int count, connected;
    struct grant {
        uint64_t fence;
        int client;
    } grants[GRANTS_MOST];
};

struct worker {
    uv_loop_t loop;
    lk_client *client;
    lk_lock *lock;
    struct log *log;
    int number, clients;
    uint32_t hold_ms, wait_ms, handover;
    struct one {
        struct worker *worker;
        uv_timer_t hold;
        lk_lease *lease;
    } callers[CALLERS];
};

#define REQUIRE(condition)                                                                         \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            (void)fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                  \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)

static void on_acquired(lk_request *request, enum lk_status status, lk_lease *lease, void *data);

static void come_again(struct one *one) {
    struct worker *worker = one->worker;

    if (!atomic_load(&worker->log->is_over))
        REQUIRE(lk_acquire(worker->lock, worker->wait_ms, on_acquired, one, NULL) == LK_OK);
}

static void on_held(uv_timer_t *timer) {
    struct one *one = timer->data;

    lk_release(one->lease, NULL, NULL);
    come_again(one);
}

static void on_acquired(lk_request *request, enum lk_status status, lk_lease *lease, void *data) {
    struct one *one = data;
    struct log *log = one->worker->log;

    (void)request;
    /* UNKNOWN: on a busy machine the wait ended before the server's first answer. */
    REQUIRE(status == LK_OK || status == LK_TIMEOUT || status == LK_UNKNOWN ||
            atomic_load(&log->is_over));
    if (status == LK_OK) {
        int place = atomic_fetch_add(&log->count, 1);

        REQUIRE(place < GRANTS_MOST);
        log->grants[place] = (struct grant){lk_lease_fence(lease), one->worker->number};
        one->lease = lease;
        (void)uv_timer_start(&one->hold, on_held, one->worker->hold_ms, 0);
    } else {
        come_again(one);
    }
}

static void on_connected(lk_request *request, enum lk_status status, lk_lease *lease, void *data) {
    struct worker *worker = data;

    (void)request;
    REQUIRE(status == LK_OK);
    lk_release(lease, NULL, NULL);
    atomic_fetch_add(&worker->log->connected, 1);
}

/* By a lock of its own, so that no client has it for long before the others come. */
static void await_others(struct worker *worker, const char *name) {
    lk_lock *own;
    char own_name[128];

    (void)snprintf(own_name, sizeof own_name, "%s-%d", name, worker->number);
    REQUIRE(lk_lock_open(&own, worker->client, own_name, NULL) == LK_OK);
    REQUIRE(lk_acquire(own, LK_FOREVER, on_connected, worker, NULL) == LK_OK);
    while (atomic_load(&worker->log->connected) < worker->clients) {
        (void)uv_run(&worker->loop, UV_RUN_NOWAIT);
        (void)usleep(1000);
    }
}

static void live(struct worker *worker, const char *name) {
    struct lk_lock_options policy = {
        .size = sizeof policy, .ttl_ms = 5000, .handover = worker->handover};
    /* A place in line lasts as long, too: no living client loses it in a stall. */
    struct lk_client_options options = {.size = sizeof options, .reply_ms = 10000};

    REQUIRE(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && uv_loop_init(&worker->loop) == 0);
    REQUIRE(lk_client_open(&worker->client, &worker->loop, redis_url(), &options) == LK_OK);
    REQUIRE(lk_lock_open(&worker->lock, worker->client, name, &policy) == LK_OK);
    await_others(worker, name);
    for (int i = 0; i < CALLERS; i++) {
        worker->callers[i].worker = worker;
        REQUIRE(uv_timer_init(&worker->loop, &worker->callers[i].hold) == 0);
        worker->callers[i].hold.data = &worker->callers[i];
        come_again(&worker->callers[i]);
    }
    while (!atomic_load(&worker->log->is_over))
        (void)uv_run(&worker->loop, UV_RUN_ONCE);
    for (int i = 0; i < CALLERS; i++)
        uv_close((uv_handle_t *)&worker->callers[i].hold, NULL);
    lk_client_close(worker->client, NULL, NULL);
    (void)uv_run(&worker->loop, UV_RUN_DEFAULT);
    _exit(0);
}

static int by_fence(const void *left, const void *right) {
    const struct grant *a = left, *b = right;

    return (a->fence > b->fence) - (a->fence < b->fence);
}

/* From the moment when all clients have had it, until the first was told to stop. */
static void judge(struct log *log, int count, int clients, int row_most) {
    int grants[CLIENTS_MOST] = {0}, seen = 0, row = 0, longest = 0, judged = 0;

    qsort(log->grants, (size_t)count, sizeof log->grants[0], by_fence);
    for (int i = 0; i < count; i++) {
        const int client = log->grants[i].client;

        seen += grants[client]++ == 0;
        row = i > 0 && log->grants[i - 1].client == client ? row + 1 : 1;
        if (seen < clients)
            continue;
        judged++;
        longest = row > longest ? row : longest;
    }
    assert_int_equal(seen, clients);
    if (longest > row_most)
        fail_msg("%d grants in a row to one of %d clients", longest, clients);
    for (int i = 0; i < clients; i++)
        if (grants[i] < judged / clients / 2)
            fail_msg("client %d of %d had it %d times of %d", i, clients, grants[i], judged);
}

/* Client 0 waits for `wait_ms` each time, the others for `others_wait_ms`. A turn is one grant plus
 * the allowed hand-overs. */
static void take_turns(struct env *env, int clients, const uint32_t *hold_ms, uint32_t wait_ms,
                       uint32_t others_wait_ms, int grants, uint32_t handover) {
    struct log *log =
        mmap(NULL, sizeof *log, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t children[CLIENTS_MOST];
    int status;

    assert_true(log != MAP_FAILED);
    for (int i = 0; i < clients; i++) {
        static struct worker worker;

        worker = (struct worker){.log = log,
                                 .number = i,
                                 .clients = clients,
                                 .hold_ms = hold_ms[i],
                                 .handover = handover,
                                 .wait_ms = i == 0 ? wait_ms : others_wait_ms};
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] == 0)
            live(&worker, env->fixture.name);
    }
    WAIT_FOR(&env->fixture.loop, log->count >= grants);
    status = log->count;
    atomic_store(&log->is_over, true);
    grants = status;
    for (int i = 0; i < clients; i++) {
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    judge(log, grants, clients, TURNS_MOST * (int)(1 + handover));
    (void)munmap(log, sizeof *log);
}

static void test_two_clients_take_turns(void **state) {
    take_turns(*state, 2, (const uint32_t[]){0, 0}, LK_FOREVER, LK_FOREVER, 1000, 0);
    take_turns(*state, 2, (const uint32_t[]){0, 10}, LK_FOREVER, LK_FOREVER, 200, 0);
}

static void test_clients_that_hand_over_take_turns(void **state) {
    take_turns(*state, 2, (const uint32_t[]){1, 1}, LK_FOREVER, LK_FOREVER, 400, 4);
    take_turns(*state, 4, (const uint32_t[]){1, 1, 5, 10}, LK_FOREVER, LK_FOREVER, 400, 4);
}

static void test_four_clients_take_turns(void **state) {
    take_turns(*state, 4, (const uint32_t[]){0, 0, 0, 0}, LK_FOREVER, LK_FOREVER, 1000, 0);
    take_turns(*state, 4, (const uint32_t[]){0, 1, 5, 30}, LK_FOREVER, LK_FOREVER, 200, 0);
}

static void test_two_clients_take_turns_although_callers_give_up(void **state) {
    take_turns(*state, 2, (const uint32_t[]){5, 150}, 400, 400, 40, 0);
}

/* Each hold is so long that no caller's wait lasts for a whole round. */
static void test_four_clients_take_turns_although_callers_give_up(void **state) {
    take_turns(*state, 4, (const uint32_t[]){100, 200, 150, 250}, 400, 400, 32, 0);
}

/* All callers of a client give up before its turn comes; it gets its turn all the same. */
static void test_patience_of_the_others_starves_nobody(void **state) {
    take_turns(*state, 4, (const uint32_t[]){10, 200, 200, 200}, 400, LK_FOREVER, 32, 0);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        REDIS_TEST(test_two_clients_take_turns),
        REDIS_TEST(test_clients_that_hand_over_take_turns),
        REDIS_TEST(test_four_clients_take_turns),
        REDIS_TEST(test_two_clients_take_turns_although_callers_give_up),
        REDIS_TEST(test_four_clients_take_turns_although_callers_give_up),
        REDIS_TEST(test_patience_of_the_others_starves_nobody),
    };

    (void)redis_url();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
