/* A server that keeps the commands until the test answers them. */
#include "scripted.h"

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

int scripted_set_up(void **state) {
    struct scripted *env = fixture_open(state, sizeof *env, NULL);
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

void scripted_settle(struct scripted *env) {
    for (int i = 0; i < 5; i++)
        (void)uv_run(&env->fixture.loop, UV_RUN_NOWAIT);
}

static bool is_settled(const struct scripted *env) {
    for (int i = 0; i < env->server.count; i++)
        if (env->server.commands[i] != NULL)
            return false;
    return TAILQ_EMPTY(&env->fixture.client->leases);
}

int scripted_tear_down(void **state) {
    struct scripted *env = *state;

    scripted_settle(env);
    assert_true(is_settled(env));
    env->fixture.client->backend = env->own;
    return fixture_close(state);
}

struct lk_command *expect_command(struct scripted *env, int index, enum lk_verb verb) {
    WAIT_FOR(&env->fixture.loop, env->server.count > index);
    scripted_settle(env);
    assert_int_equal(env->server.count, index + 1);
    assert_int_equal(env->server.verbs[index], verb);
    return env->server.commands[index];
}

void answer_until(struct scripted *env, int index, enum lk_status status, int64_t remaining_ms) {
    struct lk_command *command = env->server.commands[index];

    assert_non_null(command);
    env->server.commands[index] = NULL;
    command->status = status;
    command->fence = status == LK_OK ? (uint64_t)(100 + index) : 0;
    command->remaining_ms = remaining_ms;
    command->on_answer(command);
    scripted_settle(env);
}

void answer_command(struct scripted *env, int index, enum lk_status status) {
    answer_until(env, index, status, -1);
}

void answer_in_line(struct scripted *env, int index) {
    env->server.commands[index]->is_queued = true;
    answer_command(env, index, LK_BUSY);
}

void answer_release(struct scripted *env, int index, int of) {
    (void)expect_command(env, index, LK_RELEASE);
    assert_string_equal(env->server.owners[index], env->server.owners[of]);
    answer_command(env, index, LK_OK);
}

void expect_same_owner(const struct scripted *env, int one, int other, bool is_same) {
    assert_int_equal(strcmp(env->server.owners[one], env->server.owners[other]) == 0, is_same);
}

void expect_granted(struct scripted *env, struct caller *caller, int attempt) {
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

void end_wait(struct scripted *env, struct caller *caller) {
    lk_cancel(caller->request);
    scripted_settle(env);
    assert_int_equal(caller->calls, 1);
    assert_int_equal(caller->status, LK_CANCELED);
}

lk_lock *open_scripted(struct scripted *env, struct lk_lock_options options) {
    return open_lock_as(&env->fixture, env->fixture.client, options);
}

void push_free(struct scripted *env, const char *name, const char *owner) {
    client_push(env->fixture.client, LK_PUSH_FREE, name, owner, NULL);
}

void scripted_wait_ms(struct scripted *env, uint64_t ms) {
    env->now_ns += ms * 1000000;
}
