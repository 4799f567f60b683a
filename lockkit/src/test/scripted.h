/* A lock server that answers when the test says so, on a clock of the test's. */
#ifndef TEST_SCRIPTED_H
#define TEST_SCRIPTED_H

#include "client.h"
#include "fixture.h"

#define COMMANDS_MOST 16
#define TTL_MS        10000
#define DRIFT_MS      102 /* 1 % of it, and 2 */
#define LONG_MS       60000

/* In the place of the client's own backend, until the end. */
struct server {
    struct lk_backend backend;
    struct lk_command *commands[COMMANDS_MOST]; /* as they came; NULL once answered */
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
    struct env *env = calloc(1, sizeof *env);
    struct lk_client_options options = {
        .size = sizeof options, .clock_ns = read_clock, .clock_data = &env->now_ns};
    lk_client *client;

    assert_non_null(env);
    env->now_ns = 1000 * UINT64_C(1000000000);
    fixture_init(&env->fixture);
    assert_int_equal(lk_client_open(&client, &env->fixture.loop, "local:", &options), LK_OK);
    env->server.backend.ops = &server_ops;
    env->own = client->backend;
    client->backend = &env->server.backend;
    client->caps |= LK_CAP_TTL | LK_CAP_SHARED | LK_CAP_PERMITS;
    env->fixture.client = client;
    env->fixture.lock = open_lock(&env->fixture, client, TTL_MS);
    *state = env;
    return 0;
}

static void turn(struct env *env) {
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

    turn(env);
    assert_true(is_settled(env));
    env->fixture.client->backend = env->own;
    fixture_end(&env->fixture);
    free(env);
    return 0;
}

/* The command that came as number `index`, the first as 0, is the last one so far. */
static struct lk_command *expect(struct env *env, int index, enum lk_verb verb) {
    WAIT_FOR(&env->fixture.loop, env->server.count > index);
    turn(env);
    assert_int_equal(env->server.count, index + 1);
    assert_int_equal(env->server.verbs[index], verb);
    return env->server.commands[index];
}

static void answer(struct env *env, int index, enum lk_status status) {
    struct lk_command *command = env->server.commands[index];

    assert_non_null(command);
    env->server.commands[index] = NULL;
    command->status = status;
    command->fence = status == LK_OK ? (uint64_t)(100 + index) : 0;
    command->remaining_ms = -1;
    command->on_answer(command);
    turn(env);
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
    turn(env);
    assert_int_equal(caller->calls, 1);
    assert_int_equal(caller->status, LK_CANCELED);
}

static lk_lock *open_as(struct env *env, struct lk_lock_options options) {
    lk_lock *lock;

    options.size = sizeof options;
    assert_int_equal(lk_lock_open(&lock, env->fixture.client, env->fixture.name, &options), LK_OK);
    return lock;
}

#endif
