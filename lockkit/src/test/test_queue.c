/* The waiters of a name, at a server that answers at the test's command. */
#include "fixture.h"
#include "lease.h"

#define COMMANDS_MOST 16
#define TTL_MS        10000
#define DRIFT_MS      102 /* the drift: 1 % of TTL_MS, plus 2 */
#define LONG_MS       60000

/* A scripted server replaces the client's own backend, until the end. */
struct server {
    struct lk_backend backend;
    struct lk_command *commands[COMMANDS_MOST]; /* in their order; NULL once answered */
    enum lk_verb verbs[COMMANDS_MOST];
    char owners[COMMANDS_MOST][OWNER_SIZE];
    int count;
};

struct env {
    struct fixture fixture;
    struct server server;
    struct lk_backend *own;
    uint64_t now_ns;
};

static void run(struct lk_backend *backend, struct lk_command *command) {
    struct server *server = (struct server *)backend;

    assert_true(server->count < COMMANDS_MOST);
    command->round_trips++;
    server->verbs[server->count] = command->verb;
    memcpy(server->owners[server->count], command->owner, OWNER_SIZE);
    server->commands[server->count++] = command;
}

static const struct lk_backend_ops server_ops = {.scheme = "test:", .run = run};

static uint64_t read_clock(void *data) {
    return *(const uint64_t *)data;
}

static int set_up(void **state) {
    struct env *env = fixture_open(state, sizeof *env, NULL);
    struct lk_client_options options = {
        .size = sizeof options, .clock_ns = read_clock, .clock_data = &env->now_ns};
    lk_client *client;

    env->now_ns = 1000 * UINT64_C(1000000000);
    assert_int_equal(lk_client_open(&client, &env->fixture.loop, "local:", &options), LK_OK);
    env->server.backend.ops = &server_ops;
    env->own = client->backend;
    client->backend = &env->server.backend;
    client->caps |= LK_CAP_TTL | LK_CAP_SHARED | LK_CAP_PERMITS;
    env->fixture.client = client;
    env->fixture.lock = open_lock(&env->fixture, client, TTL_MS);
    return 0;
}

static void settle(struct env *env) {
    for (int i = 0; i < 5; i++)
        (void)uv_run(&env->fixture.loop, UV_RUN_NOWAIT);
}

static bool is_settled(const struct env *env) {
    for (int i = 0; i < env->server.count; i++)
        if (env->server.commands[i] != NULL)
            return false;
    return TAILQ_EMPTY(&env->fixture.client->leases);
}

/* Every test ends with nothing held: no release is missing. */
static int tear_down(void **state) {
    struct env *env = *state;

    settle(env);
    assert_true(is_settled(env));
    env->fixture.client->backend = env->own;
    return fixture_close(state);
}

/* The command with number `index`, from 0, is the last one so far. */
static struct lk_command *expect(struct env *env, int index, enum lk_verb verb) {
    WAIT_FOR(&env->fixture.loop, env->server.count > index);
    settle(env);
    assert_int_equal(env->server.count, index + 1);
    assert_int_equal(env->server.verbs[index], verb);
    return env->server.commands[index];
}

static void answer_until(struct env *env, int index, enum lk_status status, int64_t remaining_ms) {
    struct lk_command *command = env->server.commands[index];

    assert_non_null(command);
    env->server.commands[index] = NULL;
    command->status = status;
    command->fence = status == LK_OK ? (uint64_t)(100 + index) : 0;
    command->remaining_ms = remaining_ms;
    command->on_answer(command);
    settle(env);
}

static void answer(struct env *env, int index, enum lk_status status) {
    answer_until(env, index, status, -1);
}

static void answer_in_line(struct env *env, int index) {
    env->server.commands[index]->is_queued = true;
    answer(env, index, LK_BUSY);
}

static void answer_release(struct env *env, int index, int of) {
    (void)expect(env, index, LK_RELEASE);
    assert_string_equal(env->server.owners[index], env->server.owners[of]);
    answer(env, index, LK_OK);
}

static void expect_same_owner(const struct env *env, int one, int other, bool is_same) {
    assert_int_equal(strcmp(env->server.owners[one], env->server.owners[other]) == 0, is_same);
}

/* Its lease is that of the attempt with this number, and is given back. */
static void expect_granted(struct env *env, struct caller *caller, int attempt) {
    const int release = env->server.count;

    assert_int_equal(caller->calls, 1);
    assert_int_equal(caller->status, LK_OK);
    assert_int_equal(lk_lease_state(caller->lease), LK_HELD);
    assert_int_equal(lk_lease_fence(caller->lease), 100 + attempt);
    assert_string_equal(lk_lease_owner(caller->lease), env->server.owners[attempt]);
    lk_release(caller->lease, on_caller_released, caller);
    answer_release(env, release, attempt);
    assert_int_equal(caller->release_status, LK_OK);
}

static void end_wait(struct env *env, struct caller *caller) {
    lk_cancel(caller->request);
    settle(env);
    assert_int_equal(caller->calls, 1);
    assert_int_equal(caller->status, LK_CANCELED);
}

static lk_lock *open_as(struct env *env, struct lk_lock_options options) {
    return open_lock_as(&env->fixture, env->fixture.client, options);
}

static void push_free(struct env *env, const char *name, const char *owner) {
    client_push(env->fixture.client, LK_PUSH_FREE, name, owner, NULL);
}

/* Attempt 0 is under way, for the first of so many waiters that never poll. The others stand behind
 * it. */
static void start_in_line(struct env *env, struct caller *callers, int count,
                          struct lk_lock_options options) {
    options.poll_ms = LONG_MS;
    for (int i = 0; i < count; i++)
        start(&callers[i], open_as(env, options), LK_FOREVER);
    assert_int_equal(env->server.count, 0); /* not inside the call */
    (void)expect(env, 0, LK_ACQUIRE);
}

static void test_only_the_head_attempts(void **state) {
    struct env *env = *state;
    struct caller callers[2];

    start_in_line(env, callers, 2, (struct lk_lock_options){.ttl_ms = TTL_MS});
    answer(env, 0, LK_OK);
    (void)expect(env, 0, LK_ACQUIRE);
    expect_granted(env, &callers[0], 0);
    (void)expect(env, 2, LK_ACQUIRE);
    assert_int_equal(counters(env->fixture.client).wakeups, 1);
    answer(env, 2, LK_BUSY);
    end_wait(env, &callers[1]);
}

static void test_event_during_an_attempt_brings_another(void **state) {
    struct env *env = *state;
    struct caller caller;

    start_in_line(env, &caller, 1, (struct lk_lock_options){.ttl_ms = TTL_MS});
    queue_given_back(env->fixture.lock->queue);
    queue_given_back(env->fixture.lock->queue);
    (void)expect(env, 0, LK_ACQUIRE);
    answer(env, 0, LK_BUSY);
    (void)expect(env, 1, LK_ACQUIRE); /* one for both events */
    answer(env, 1, LK_BUSY);
    (void)expect(env, 1, LK_ACQUIRE);
    end_wait(env, &caller);
}

static void test_refused_head_attempts_when_the_holders_ttl_ends(void **state) {
    struct env *env = *state;
    struct caller caller;

    start_in_line(env, &caller, 1, (struct lk_lock_options){.ttl_ms = TTL_MS});
    answer_until(env, 0, LK_BUSY, 5);
    (void)expect(env, 1, LK_ACQUIRE);
    assert_int_equal(counters(env->fixture.client).polls, 1);
    answer(env, 1, LK_BUSY);
    end_wait(env, &caller);
}

static void test_new_head_asks_at_once_as_the_old_ones_place_is_gone(void **state) {
    struct env *env = *state;
    struct caller callers[2];

    start_in_line(env, callers, 2, (struct lk_lock_options){.ttl_ms = TTL_MS});
    answer(env, 0, LK_BUSY);
    end_wait(env, &callers[0]);
    (void)expect(env, 1, LK_ACQUIRE);
    answer(env, 1, LK_BUSY);
    end_wait(env, &callers[1]);
}

static void test_next_who_shares_asks_at_once_after_a_shared_grant(void **state) {
    struct env *env = *state;
    struct caller callers[2];

    start_in_line(env, callers, 2, (struct lk_lock_options){.mode = LK_SHARED});
    answer(env, 0, LK_OK);
    (void)expect(env, 1, LK_ACQUIRE);
    answer(env, 1, LK_BUSY);
    end_wait(env, &callers[1]);
    expect_granted(env, &callers[0], 0);
}

/* By its name, by an event for all names, and by an owner without a queue of its own. */
static void test_push_wakes_the_queues_that_it_is_for(void **state) {
    struct env *env = *state;
    const char *pushes[][2] = {{env->fixture.name}, {NULL}, {env->fixture.name, "somebody"}};
    struct caller caller;

    start_in_line(env, &caller, 1, (struct lk_lock_options){.ttl_ms = TTL_MS});
    answer(env, 0, LK_BUSY);
    push_free(env, "other", NULL);
    (void)expect(env, 0, LK_ACQUIRE);
    for (int i = 0; i < 3; i++) {
        push_free(env, pushes[i][0], pushes[i][1]);
        (void)expect(env, i + 1, LK_ACQUIRE);
        answer(env, i + 1, LK_BUSY);
    }
    end_wait(env, &caller);
}

/* A waiter with a wait that ends during its attempt, command 0, and a waiter behind it. */
static void start_two(struct env *env, struct caller *first, struct caller *next) {
    start(first, env->fixture.lock, LK_FOREVER);
    start(next, env->fixture.lock, LK_FOREVER);
    (void)expect(env, 0, LK_ACQUIRE);
    end_wait(env, first);
    (void)expect(env, 0, LK_ACQUIRE); /* one attempt for both events */
}

static void test_late_grant_goes_to_the_next_waiter(void **state) {
    struct env *env = *state;
    struct caller first, next;

    start(&first, env->fixture.lock, 1);
    start(&next, env->fixture.lock, LK_FOREVER);
    (void)expect(env, 0, LK_ACQUIRE);
    WAIT_FOR(&env->fixture.loop, first.calls == 1);
    assert_int_equal(first.status, LK_TIMEOUT);
    answer(env, 0, LK_OK);
    expect_granted(env, &next, 0);
    assert_int_equal(first.calls, 1);
    assert_int_equal(counters(env->fixture.client).late_grants, 0);
}

static void test_late_grant_goes_to_the_one_who_waits_by_then(void **state) {
    struct env *env = *state;
    struct caller first, next, last;

    start_two(env, &first, &next);
    end_wait(env, &next);
    start(&last, env->fixture.lock, LK_FOREVER);
    (void)expect(env, 0, LK_ACQUIRE);
    answer(env, 0, LK_OK);
    expect_granted(env, &last, 0);
}

static void test_late_grant_that_nobody_waits_for_is_given_back(void **state) {
    struct env *env = *state;
    struct caller first, next;

    start_two(env, &first, &next);
    end_wait(env, &next);
    answer(env, 0, LK_OK);
    answer_release(env, 1, 0);
    assert_int_equal(counters(env->fixture.client).late_grants, 1);
}

static void test_validity_of_a_late_grant_counts_from_before_its_request(void **state) {
    struct env *env = *state;
    struct caller first, next;

    start_two(env, &first, &next);
    env->now_ns += 3000 * UINT64_C(1000000);
    answer(env, 0, LK_OK);
    assert_int_equal(next.status, LK_OK);
    assert_int_equal(lk_lease_remaining_ms(next.lease), TTL_MS - DRIFT_MS - 3000);
    expect_granted(env, &next, 0);
}

static void test_late_grant_whose_validity_is_over_is_renewed_by_the_next_waiter(void **state) {
    struct env *env = *state;
    struct caller first, next;

    start_two(env, &first, &next);
    env->now_ns += TTL_MS * UINT64_C(1000000);
    answer(env, 0, LK_OK);
    assert_int_equal(next.calls, 0);
    push_free(env, env->fixture.name, NULL);
    (void)expect(env, 1, LK_ACQUIRE);
    expect_same_owner(env, 0, 1, true);
    answer(env, 1, LK_OK);
    lk_release(next.lease, on_caller_released, &next);
    /* it is doubtful: its release is repeated for so long */
    env->now_ns += 2 * TTL_MS * UINT64_C(1000000);
    answer_release(env, 2, 0);
}

static void test_unanswered_attempt_is_made_again_by_the_next_waiter(void **state) {
    struct env *env = *state;
    struct caller first, next;

    start(&first, env->fixture.lock, LK_FOREVER);
    start(&next, env->fixture.lock, LK_FOREVER);
    (void)expect(env, 0, LK_ACQUIRE);
    answer(env, 0, LK_UNKNOWN);
    end_wait(env, &first);
    (void)expect(env, 1, LK_ACQUIRE);
    expect_same_owner(env, 0, 1, true);
    answer(env, 1, LK_OK);
    assert_int_equal(next.status, LK_OK);
    lk_release(next.lease, on_caller_released, &next);
    env->now_ns += 2 * TTL_MS * UINT64_C(1000000);
    answer_release(env, 2, 0);
}

static void test_place_in_line_that_comes_late_is_the_next_waiters(void **state) {
    struct env *env = *state;
    struct caller first, next;

    start_two(env, &first, &next);
    answer_in_line(env, 0);
    (void)expect(env, 0, LK_ACQUIRE); /* the server will tell it when it is its turn */
    push_free(env, env->fixture.name, NULL);
    (void)expect(env, 1, LK_ACQUIRE);
    expect_same_owner(env, 0, 1, true);
    answer(env, 1, LK_OK);
    expect_granted(env, &next, 1);
}

static void test_place_in_line_is_passed_on_without_a_word(void **state) {
    struct env *env = *state;
    struct caller callers[3];

    for (int i = 0; i < 3; i++)
        start(&callers[i], env->fixture.lock, LK_FOREVER);
    (void)expect(env, 0, LK_ACQUIRE);
    answer_in_line(env, 0);
    end_wait(env, &callers[0]);
    end_wait(env, &callers[1]);
    queue_given_back(env->fixture.lock->queue); /* the server will tell it */
    (void)expect(env, 0, LK_ACQUIRE);
    push_free(env, env->fixture.name, env->server.owners[0]);
    (void)expect(env, 1, LK_ACQUIRE);
    answer(env, 1, LK_OK);
    expect_granted(env, &callers[2], 1);
}

static void test_news_during_a_late_attempt_reaches_the_next_waiter(void **state) {
    struct env *env = *state;
    struct caller first, next;

    start(&first, env->fixture.lock, LK_FOREVER);
    (void)expect(env, 0, LK_ACQUIRE);
    push_free(env, env->fixture.name, NULL);
    end_wait(env, &first);
    start(&next, env->fixture.lock, LK_FOREVER);
    answer(env, 0, LK_BUSY); /* the answer describes the server before the news */
    (void)expect(env, 1, LK_ACQUIRE);
    answer(env, 1, LK_OK);
    expect_granted(env, &next, 1);
}

/* The first is given back, and the other asks for itself. */
static void expect_no_heir(struct env *env, struct lk_lock_options options) {
    struct caller first, next;

    start(&first, env->fixture.lock, LK_FOREVER);
    start(&next, open_as(env, options), LK_FOREVER);
    (void)expect(env, 0, LK_ACQUIRE);
    end_wait(env, &first);
    answer(env, 0, LK_OK);
    assert_int_equal(env->server.verbs[1], LK_RELEASE);
    expect_same_owner(env, 1, 0, true);
    (void)expect(env, 2, LK_ACQUIRE);
    expect_same_owner(env, 2, 0, false);
    answer(env, 1, LK_OK);
    answer(env, 2, LK_OK);
    expect_granted(env, &next, 2);
}

static void test_late_grant_is_not_for_one_who_shares(void **state) {
    expect_no_heir(*state, (struct lk_lock_options){.ttl_ms = TTL_MS, .mode = LK_SHARED});
}

static void test_late_grant_is_not_for_one_with_another_ttl(void **state) {
    expect_no_heir(*state, (struct lk_lock_options){.ttl_ms = 2 * TTL_MS});
}

static void test_one_who_tries_takes_a_late_grant(void **state) {
    struct env *env = *state;
    struct caller first, next;

    start(&first, env->fixture.lock, LK_FOREVER);
    (void)expect(env, 0, LK_ACQUIRE);
    end_wait(env, &first);
    start(&next, env->fixture.lock, LK_TRY);
    answer(env, 0, LK_OK);
    expect_granted(env, &next, 0);
}

static void test_one_who_tries_has_an_attempt_of_its_own(void **state) {
    struct env *env = *state;
    struct caller first, next;

    start(&first, env->fixture.lock, LK_FOREVER);
    (void)expect(env, 0, LK_ACQUIRE);
    end_wait(env, &first);
    start(&next, env->fixture.lock, LK_TRY);
    answer(env, 0, LK_BUSY);
    (void)expect(env, 1, LK_ACQUIRE);
    expect_same_owner(env, 0, 1, false);
    answer(env, 1, LK_OK);
    expect_granted(env, &next, 1);
}

static void test_late_grant_that_was_lost_meanwhile_is_nobodys(void **state) {
    struct env *env = *state;
    struct caller first, next;

    start_two(env, &first, &next);
    client_push(env->fixture.client, LK_PUSH_LOST, env->fixture.name, env->server.owners[0],
                "its session has ended");
    answer(env, 0, LK_OK);
    assert_int_equal(next.calls, 0);
    end_wait(env, &next);
    env->now_ns += 2 * TTL_MS * UINT64_C(1000000);
    answer_release(env, 1, 0);
}

static void wait_ms(struct env *env, uint64_t ms) {
    env->now_ns += ms * 1000000;
}

static void test_a_waiter_is_told_for_how_long_others_kept_the_lock(void **state) {
    struct env *env = *state;
    struct caller first, next, last;

    start(&first, env->fixture.lock, LK_FOREVER);
    start(&next, env->fixture.lock, LK_FOREVER);
    start(&last, env->fixture.lock, LK_FOREVER);
    (void)expect(env, 0, LK_ACQUIRE);
    wait_ms(env, 5);
    end_wait(env, &last);
    assert_int_equal(last.kept_ns, -1); /* the server has said nothing so far */
    answer(env, 0, LK_BUSY);
    wait_ms(env, 40);
    start(&last, env->fixture.lock, LK_FOREVER);
    wait_ms(env, 30);
    end_wait(env, &last);
    assert_int_equal(last.kept_ns, 30 * 1000000); /* all of its wait */
    end_wait(env, &first);
    assert_int_equal(first.kept_ns, 70 * 1000000); /* since the refusal */
    (void)expect(env, 1, LK_ACQUIRE);
    start(&last, env->fixture.lock, LK_FOREVER);
    answer(env, 1, LK_OK);
    wait_ms(env, 20);
    assert_int_equal(next.kept_ns, 0);
    expect_granted(env, &next, 1);
    (void)expect(env, 3, LK_ACQUIRE);
    wait_ms(env, 1);
    answer(env, 3, LK_BUSY);
    wait_ms(env, 2);
    end_wait(env, &last);
    assert_int_equal(last.kept_ns, 2 * 1000000); /* since the lock changed hands */
}

static void expect_patience(struct env *env, int index, uint32_t ms) {
    assert_int_equal(expect(env, index, LK_ACQUIRE)->patience_ms, ms);
}

static void test_place_of_its_own_ends_while_a_grant_is_in_time(void **state) {
    struct env *env = *state;
    struct caller first, next;
    lk_lock *lock;

    env->fixture.client->caps |= LK_CAP_FAIR | LK_CAP_CROSS_PROCESS;
    lock = open_as(env, (struct lk_lock_options){.poll_ms = LONG_MS, .is_fair = 1});
    start(&first, lock, LONG_MS);
    expect_patience(env, 0, LONG_MS);
    wait_ms(env, 40);
    answer_in_line(env, 0);
    push_free(env, env->fixture.name, NULL);
    expect_patience(env, 1, LONG_MS - 40 - 2 * 40);
    env->fixture.client->reply_ms = LONG_MS;
    wait_ms(env, LONG_MS);
    answer_in_line(env, 1);
    push_free(env, env->fixture.name, NULL);
    expect_patience(env, 2, 1); /* 0 would be LK_TRY */
    start(&next, lock, LONG_MS);
    expect_patience(env, 3, LONG_MS / 2); /* at any speed of the server */
    answer_in_line(env, 2);
    answer_in_line(env, 3);
    end_wait(env, &next);
    answer_release(env, 4, 3);
    end_wait(env, &first);
    answer_release(env, 5, 0);
}

static void test_a_waiter_knows_no_more_of_the_lock_than_was_seen_in_its_wait(void **state) {
    struct env *env = *state;
    lk_lock *lock = open_as(env, (struct lk_lock_options){.ttl_ms = TTL_MS, .poll_ms = 60000});
    struct caller first, next, last;

    start(&first, lock, LK_FOREVER);
    start(&next, lock, LK_FOREVER);
    (void)expect(env, 0, LK_ACQUIRE);
    wait_ms(env, 1);
    answer(env, 0, LK_OK);
    wait_ms(env, 1);
    start(&last, lock, LK_FOREVER);
    end_wait(env, &last);
    assert_int_equal(last.kept_ns, -1); /* the lock changed hands before `last` began to wait */
    end_wait(env, &next);
    assert_int_equal(next.kept_ns, 0); /* the lock changed hands while `next` waited */
    expect_granted(env, &first, 0);
    lk_lock_close(lock);
}

/* ---- A lease that was lost while its session goes on at the server */

static void lose_in_session(struct env *env, struct caller *holder, lk_state_cb cb, void *data) {
    lk_lock *lock;

    env->fixture.client->caps |= LK_CAP_SESSION;
    lock = open_lock(&env->fixture, env->fixture.client, TTL_MS);
    start(holder, lock, LK_FOREVER);
    (void)expect(env, 0, LK_ACQUIRE);
    answer(env, 0, LK_OK);
    lk_lease_on_state(holder->lease, cb, data);
    client_push(env->fixture.client, LK_PUSH_LOST, NULL, env->server.owners[0], "the test says so");
}

static void test_lost_lease_of_a_session_is_withdrawn_before_its_release(void **state) {
    struct env *env = *state;
    struct caller holder;

    lose_in_session(env, &holder, NULL, NULL);
    answer_release(env, 1, 0);
    lk_release(holder.lease, on_caller_released, &holder);
    (void)expect(env, 2, LK_RELEASE);
    answer(env, 2, LK_LOST);
    assert_int_equal(holder.release_status, LK_LOST);
}

static void test_release_of_a_lease_that_is_being_withdrawn_is_one_command(void **state) {
    struct env *env = *state;
    struct caller holder;

    lose_in_session(env, &holder, NULL, NULL);
    (void)expect(env, 1, LK_RELEASE);
    lk_release(holder.lease, on_caller_released, &holder);
    answer_release(env, 1, 0);
    assert_int_equal(holder.release_status, LK_OK);
}

static void test_lease_that_is_abandoned_while_it_is_withdrawn_ends(void **state) {
    struct env *env = *state;
    struct caller holder;

    lose_in_session(env, &holder, NULL, NULL);
    (void)expect(env, 1, LK_RELEASE);
    lk_abandon(holder.lease, TTL_MS);
    answer(env, 1, LK_OK);
    (void)expect(env, 2, LK_RENEW);
    answer(env, 2, LK_LOST);
}

static void on_lost_abandon(lk_lease *lease, enum lk_state lease_state, const char *why,
                            void *data) {
    *(enum lk_state *)data = lease_state;
    lk_abandon(lease, TTL_MS);
}

/* It asks the server to keep the lock, and gives back nothing. */
static void test_lost_lease_that_is_abandoned_at_once_is_not_withdrawn(void **state) {
    struct env *env = *state;
    struct caller holder;
    enum lk_state told = LK_HELD;

    lose_in_session(env, &holder, on_lost_abandon, &told);
    assert_int_equal(told, LK_LOST_STATE);
    (void)expect(env, 1, LK_RENEW);
    answer(env, 1, LK_LOST);
}

/* ---- Tokens that a resource has seen */

/* Attempt 0 is granted, and attempt 1 of the next waiter is under way. */
static void have_seen(struct env *env, struct caller *holder, struct caller *next, lk_lock *lock,
                      uint64_t fence) {
    start(holder, lock, LK_FOREVER);
    (void)expect(env, 0, LK_ACQUIRE);
    answer(env, 0, LK_OK);
    start(next, lock, LK_FOREVER);
    (void)expect(env, 1, LK_ACQUIRE);
    lk_lease_saw_fence(holder->lease, fence);
    lk_release(holder->lease, on_caller_released, holder);
    answer_release(env, 2, 0);
}

static void test_grant_with_a_token_that_the_resource_has_seen_is_given_back(void **state) {
    struct env *env = *state;
    struct caller holder, next;

    have_seen(env, &holder, &next, env->fixture.lock, 101);
    answer(env, 1, LK_OK);
    assert_int_equal(next.calls, 0);
    WAIT_FOR(&env->fixture.loop, env->server.count == 5);
    assert_int_equal(env->server.verbs[3], LK_RELEASE);
    expect_same_owner(env, 3, 1, true);
    assert_int_equal(env->server.verbs[4], LK_ACQUIRE);
    expect_same_owner(env, 4, 1, false);
    assert_int_equal(env->server.commands[4]->fence_above, 101);
    answer(env, 3, LK_OK);
    answer(env, 4, LK_OK);
    expect_granted(env, &next, 4);
    assert_int_equal(counters(env->fixture.client).late_grants, 1);
}

static void test_waiter_in_a_queue_of_its_own_goes_on_with_another_owner(void **state) {
    struct env *env = *state;
    struct caller holder, next;
    lk_lock *lock;

    env->fixture.client->caps |= LK_CAP_FAIR | LK_CAP_CROSS_PROCESS;
    lock =
        open_as(env, (struct lk_lock_options){.ttl_ms = TTL_MS, .poll_ms = LONG_MS, .is_fair = 1});
    have_seen(env, &holder, &next, lock, 101);
    answer(env, 1, LK_OK);
    answer(env, 3, LK_OK);
    answer_in_line(env, 4);
    push_free(env, env->fixture.name, env->server.owners[1]); /* nobody's any more */
    settle(env);
    push_free(env, env->fixture.name, env->server.owners[4]);
    (void)expect(env, 5, LK_ACQUIRE);
    expect_same_owner(env, 5, 4, true);
    answer(env, 5, LK_OK);
    expect_granted(env, &next, 5);
    lk_lock_close(lock);
}

static void test_late_grant_with_a_seen_token_is_not_for_the_next_waiter(void **state) {
    struct env *env = *state;
    struct caller holder, next, last;

    have_seen(env, &holder, &next, env->fixture.lock, 101);
    end_wait(env, &next);
    start(&last, env->fixture.lock, LK_FOREVER);
    answer(env, 1, LK_OK);
    WAIT_FOR(&env->fixture.loop, env->server.count == 5);
    expect_same_owner(env, 3, 1, true);
    answer(env, 3, LK_OK);
    answer(env, 4, LK_OK);
    expect_granted(env, &last, 4);
}

static void test_token_of_a_servers_own_count_is_taken_as_it_is(void **state) {
    struct env *env = *state;
    struct caller holder, next;

    env->server.backend.has_own_count = true;
    have_seen(env, &holder, &next, env->fixture.lock, 101);
    answer(env, 1, LK_OK);
    expect_granted(env, &next, 1);
}

/* ---- The room: how many ACQUIREs may be out */

static void set_room(struct env *env, unsigned most, unsigned room) {
    env->server.backend.acquires_most = most;
    env->fixture.client->acquires_room = room;
}

static void assert_room(const struct env *env, unsigned room) {
    assert_int_equal(env->fixture.client->acquires_room, room);
}

/* A waiter for another name than the fixture's. It never polls. */
static void start_for(struct env *env, struct caller *caller, const char *name, uint32_t wait_ms) {
    const struct lk_lock_options options = {
        .size = sizeof options, .ttl_ms = TTL_MS, .poll_ms = LONG_MS};
    lk_lock *lock;

    assert_int_equal(lk_lock_open(&lock, env->fixture.client, name, &options), LK_OK);
    start(caller, lock, wait_ms);
    lk_lock_close(lock);
}

static void expect_for(struct env *env, int index, const char *name) {
    assert_string_equal(expect(env, index, LK_ACQUIRE)->name, name);
}

static void test_attempts_beyond_the_room_wait_and_releases_do_not(void **state) {
    struct env *env = *state;
    struct caller holder, callers[3];

    set_room(env, 2, 2);
    start_for(env, &holder, "held", LK_FOREVER);
    (void)expect(env, 0, LK_ACQUIRE);
    answer(env, 0, LK_OK);
    start_for(env, &callers[0], "a", LK_FOREVER);
    start_for(env, &callers[1], "b", LK_FOREVER);
    start_for(env, &callers[2], "c", LK_FOREVER);
    expect_for(env, 2, "b"); /* 1 is that of "a" */
    expect_granted(env, &holder, 0);
    wait_ms(env, TTL_MS);
    answer(env, 1, LK_BUSY);
    expect_for(env, 4, "c");
    answer(env, 4, LK_OK);
    expect_granted(env, &callers[2], 4); /* its validity counts from when it was sent */
    answer(env, 2, LK_BUSY);
    end_wait(env, &callers[0]);
    end_wait(env, &callers[1]);
}

static void test_waiter_that_gives_up_for_lack_of_room_sends_nothing(void **state) {
    struct env *env = *state;
    struct caller first, waiter, trier;

    set_room(env, 1, 1);
    start_for(env, &first, "a", LK_FOREVER);
    expect_for(env, 0, "a");
    env->fixture.client->reply_ms = 1;
    start_for(env, &waiter, "b", LK_FOREVER);
    start_for(env, &trier, "c", LK_TRY);
    WAIT_FOR(&env->fixture.loop, trier.calls == 1);
    assert_int_equal(trier.status, LK_UNAVAILABLE);
    end_wait(env, &waiter);
    end_wait(env, &first);
    answer(env, 0, LK_BUSY);
    assert_int_equal(env->server.count, 1);
}

static void test_one_who_tries_is_sent_once_there_is_room(void **state) {
    struct env *env = *state;
    struct caller first, trier;

    set_room(env, 1, 1);
    start_for(env, &first, "a", LK_FOREVER);
    expect_for(env, 0, "a");
    env->fixture.client->reply_ms = LONG_MS;
    start_for(env, &trier, "b", LK_TRY);
    settle(env);
    answer(env, 0, LK_BUSY);
    expect_for(env, 1, "b");
    answer(env, 1, LK_BUSY);
    assert_int_equal(trier.status, LK_BUSY);
    end_wait(env, &first);
}

static void test_news_go_before_new_waiters_and_both_take_turns(void **state) {
    struct env *env = *state;
    struct caller told[2], first, fresh[2];

    start_for(env, &told[0], "told", LK_FOREVER);
    start_for(env, &told[1], "told, too", LK_FOREVER);
    (void)expect(env, 1, LK_ACQUIRE);
    answer(env, 0, LK_BUSY);
    answer(env, 1, LK_BUSY);
    set_room(env, 1, 1);
    start_for(env, &first, "first", LK_FOREVER);
    expect_for(env, 2, "first");
    start_for(env, &fresh[0], "fresh", LK_FOREVER);
    start_for(env, &fresh[1], "fresh, too", LK_FOREVER);
    settle(env);
    push_free(env, "told", NULL);
    push_free(env, "told, too", NULL);
    answer(env, 2, LK_BUSY);
    expect_for(env, 3, "told");
    set_room(env, 2, 2);
    answer(env, 3, LK_BUSY);
    (void)expect(env, 5, LK_ACQUIRE);
    assert_string_equal(env->server.commands[4]->name, "told, too");
    assert_string_equal(env->server.commands[5]->name, "fresh");
    set_room(env, 1, 1);
    answer(env, 4, LK_BUSY);
    answer(env, 5, LK_BUSY);
    expect_for(env, 6, "fresh, too");
    answer(env, 6, LK_BUSY);
    end_wait(env, &told[0]);
    end_wait(env, &told[1]);
    end_wait(env, &first);
    end_wait(env, &fresh[0]);
    end_wait(env, &fresh[1]);
}

static void test_slow_answers_narrow_the_room_once_for_those_sent_before(void **state) {
    struct env *env = *state;
    struct caller callers[3];

    set_room(env, 64, 64);
    start_for(env, &callers[0], "a", LK_FOREVER);
    start_for(env, &callers[1], "b", LK_FOREVER);
    (void)expect(env, 1, LK_ACQUIRE);
    wait_ms(env, env->fixture.client->reply_ms / 2);
    answer(env, 0, LK_BUSY);
    assert_room(env, 32);
    answer(env, 1, LK_BUSY);
    assert_room(env, 32);
    start_for(env, &callers[2], "c", LK_FOREVER);
    (void)expect(env, 2, LK_ACQUIRE);
    answer(env, 2, LK_UNKNOWN);
    assert_room(env, 16);
    for (int i = 0; i < 2; i++)
        end_wait(env, &callers[i]);
    end_wait(env, &callers[2]);
    wait_ms(env, 2 * TTL_MS); /* its release needs no second answer */
    answer_release(env, 3, 2);
}

static void test_room_widens_while_attempts_wait_and_never_goes_below_its_least(void **state) {
    struct env *env = *state;
    struct caller callers[3];

    set_room(env, 64, 1);
    start_for(env, &callers[0], "a", LK_FOREVER);
    start_for(env, &callers[1], "b", LK_FOREVER);
    expect_for(env, 0, "a");
    answer(env, 0, LK_BUSY);
    assert_room(env, 2);
    expect_for(env, 1, "b");
    answer(env, 1, LK_BUSY); /* nobody waits for room */
    assert_room(env, 2);
    set_room(env, 64, 17);
    start_for(env, &callers[2], "c", LK_FOREVER);
    expect_for(env, 2, "c");
    wait_ms(env, env->fixture.client->reply_ms);
    answer(env, 2, LK_BUSY);
    assert_room(env, 16);
    for (int i = 0; i < 3; i++)
        end_wait(env, &callers[i]);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    static const struct CMUnitTest tests[] = {
        TEST(test_only_the_head_attempts),
        TEST(test_event_during_an_attempt_brings_another),
        TEST(test_refused_head_attempts_when_the_holders_ttl_ends),
        TEST(test_new_head_asks_at_once_as_the_old_ones_place_is_gone),
        TEST(test_next_who_shares_asks_at_once_after_a_shared_grant),
        TEST(test_push_wakes_the_queues_that_it_is_for),
        TEST(test_late_grant_goes_to_the_next_waiter),
        TEST(test_late_grant_goes_to_the_one_who_waits_by_then),
        TEST(test_late_grant_that_nobody_waits_for_is_given_back),
        TEST(test_validity_of_a_late_grant_counts_from_before_its_request),
        TEST(test_late_grant_whose_validity_is_over_is_renewed_by_the_next_waiter),
        TEST(test_unanswered_attempt_is_made_again_by_the_next_waiter),
        TEST(test_place_in_line_that_comes_late_is_the_next_waiters),
        TEST(test_place_in_line_is_passed_on_without_a_word),
        TEST(test_news_during_a_late_attempt_reaches_the_next_waiter),
        TEST(test_late_grant_is_not_for_one_who_shares),
        TEST(test_late_grant_is_not_for_one_with_another_ttl),
        TEST(test_one_who_tries_takes_a_late_grant),
        TEST(test_one_who_tries_has_an_attempt_of_its_own),
        TEST(test_late_grant_that_was_lost_meanwhile_is_nobodys),
        TEST(test_a_waiter_is_told_for_how_long_others_kept_the_lock),
        TEST(test_place_of_its_own_ends_while_a_grant_is_in_time),
        TEST(test_lost_lease_of_a_session_is_withdrawn_before_its_release),
        TEST(test_release_of_a_lease_that_is_being_withdrawn_is_one_command),
        TEST(test_lease_that_is_abandoned_while_it_is_withdrawn_ends),
        TEST(test_lost_lease_that_is_abandoned_at_once_is_not_withdrawn),
        TEST(test_grant_with_a_token_that_the_resource_has_seen_is_given_back),
        TEST(test_waiter_in_a_queue_of_its_own_goes_on_with_another_owner),
        TEST(test_late_grant_with_a_seen_token_is_not_for_the_next_waiter),
        TEST(test_token_of_a_servers_own_count_is_taken_as_it_is),
        TEST(test_attempts_beyond_the_room_wait_and_releases_do_not),
        TEST(test_waiter_that_gives_up_for_lack_of_room_sends_nothing),
        TEST(test_one_who_tries_is_sent_once_there_is_room),
        TEST(test_news_go_before_new_waiters_and_both_take_turns),
        TEST(test_slow_answers_narrow_the_room_once_for_those_sent_before),
        TEST(test_room_widens_while_attempts_wait_and_never_goes_below_its_least),
        TEST(test_a_waiter_knows_no_more_of_the_lock_than_was_seen_in_its_wait),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
