/* Advisory locks: the server's view of them, and the end of a session. */
#include "postgres_env.h"

/* A session that has the lock, "granted", or waits for it, "NOT granted". */
static void terminate(struct env *env, const char *which) {
    char sql[300];

    (void)snprintf(sql, sizeof sql,
                   "SELECT count(pg_terminate_backend(pid)) FROM pg_locks JOIN lockkit_lock ON"
                   " ((classid::bigint << 32) | objid::bigint) = key"
                   " WHERE locktype = 'advisory' AND %s AND name = '%s'",
                   which, env->fixture.name);
    assert_string_equal(postgres_ask(sql), "1");
}

static void test_terminated_session_is_told_as_lost(void **state) {
    struct env *env = *state;
    struct caller holder, other;

    obtain(&env->fixture, &holder, env->fixture.lock, LK_TRY);
    lk_lease_on_state(holder.lease, env_trace_state, env);
    terminate(env, "granted");
    WAIT_FOR(&env->fixture.loop, env->trace[0] != '\0');
    assert_string_equal(env->trace, "lost ");
    assert_string_equal(env->why, "the session that held it has ended");
    obtain(&env->fixture, &other, env->fixture.lock, 5000);
    assert_true(lk_lease_fence(other.lease) > lk_lease_fence(holder.lease));
    assert_int_equal(give(&env->fixture, &holder), LK_LOST);
    assert_int_equal(lk_lease_check(other.lease, 100), LK_OK);
    assert_int_equal(give(&env->fixture, &other), LK_OK);
}

/* The loop does not run until the server has granted the lock and ended the session. */
static void test_grant_is_told_before_the_end_of_its_session(void **state) {
    struct lk_client_options options = {
        .size = sizeof options, .label = "test", .reply_ms = PATIENCE_MS};
    struct env *env = *state;
    struct caller paused;
    struct fixture aside;
    lk_lock *lock;

    fixture_init(&aside);
    assert_int_equal(
        lk_client_open(&aside.client, &aside.loop, postgres_url(postgres_mode), &options), LK_OK);
    lock = open_lock_as(&env->fixture, aside.client, (struct lk_lock_options){.ttl_ms = 600000});
    (void)use_once(&aside, lock, LK_TRY);
    start(&paused, lock, LK_TRY);
    (void)uv_run(&aside.loop, UV_RUN_NOWAIT); /* sends it */
    WAIT_FOR(&env->fixture.loop, ask_locks(env, LOCKS_HELD) == 1);
    terminate(env, "granted");
    WAIT_FOR(&env->fixture.loop, ask_locks(env, LOCKS_HELD) == 0);
    WAIT_FOR(&aside.loop, paused.calls == 1);
    assert_int_equal(paused.status, LK_OK);
    WAIT_FOR(&aside.loop, lk_lease_state(paused.lease) == LK_LOST_STATE);
    assert_int_equal(give(&aside, &paused), LK_LOST);
    fixture_end(&aside);
}

static void test_waiter_whose_session_is_terminated_waits_again(void **state) {
    struct env *env = *state;
    struct caller holder, waiter;

    obtain(&env->fixture, &holder, env->fixture.lock, LK_TRY);
    start(&waiter, env->fixture.lock, LK_FOREVER);
    WAIT_FOR(&env->fixture.loop, ask_locks(env, LOCKS_WAITING) == 1);
    terminate(env, "NOT granted");
    WAIT_FOR(&env->fixture.loop, ask_locks(env, LOCKS_WAITING) == 0);
    WAIT_FOR(&env->fixture.loop, ask_locks(env, LOCKS_WAITING) == 1);
    assert_int_equal(give(&env->fixture, &holder), LK_OK);
    await_and_give(&env->fixture, &waiter);
}

/* The loop does not run after its last command: it would wait for the answer to a renewal. */
static void test_paused_client_keeps_what_it_abandoned_for_the_time_given(void **state) {
    struct env *env = *state;
    struct caller paused, other;
    struct fixture aside;
    lk_lock *lock;
    int64_t abandoned_ms;

    fixture_init(&aside);
    aside.client = open_client(&aside, postgres_url(postgres_mode));
    lock = open_lock_as(&env->fixture, aside.client,
                        (struct lk_lock_options){.ttl_ms = 2000, .no_renew = 1});
    obtain(&aside, &paused, lock, 10000);
    abandoned_ms = clock_now_ms();
    lk_abandon(paused.lease, 2500);
    (void)uv_run(&aside.loop, UV_RUN_NOWAIT);
    obtain(&env->fixture, &other, env->fixture.lock, 10000);
    assert_in_range(clock_now_ms() - abandoned_ms, 2500, PATIENCE_MS);
    assert_int_equal(give(&env->fixture, &other), LK_OK);
    fixture_end(&aside);
}

/* The request to end the broken session comes late, when the caller has the lock by another
 * session. */
static void test_late_end_of_a_broken_session_spares_the_next(void **state) {
    struct env *env = *state;
    lk_lock *lock = open_lock(&env->fixture, env->far, 10000);
    const struct inspected seen = inspect_lock(&env->fixture, lock); /* on a connection for calls */
    struct caller caller;

    assert_int_equal(seen.status, LK_OK);
    assert_int_equal(seen.holders, 0);
    obtain(&env->fixture, &caller, lock, LK_FOREVER); /* and a session */
    assert_int_equal(give(&env->fixture, &caller), LK_OK);
    fault_proxy_set(env->proxy, PROXY_HOLDS_REPLIES);
    start(&caller, lock, 10000);
    WAIT_FOR(&env->fixture.loop, ask_locks(env, LOCKS_HELD) == 1);
    fault_proxy_cut_last(env->proxy);
    fault_proxy_set(env->proxy, PROXY_PASSES);
    fault_proxy_freeze(env->proxy);
    WAIT_FOR(&env->fixture.loop, caller.calls == 1);
    assert_int_equal(caller.status, LK_OK);
    fault_proxy_set(env->proxy, PROXY_PASSES);
    assert_int_equal(inspect_lock(&env->fixture, lock).holders, 1);
    assert_int_equal(lk_lease_check(caller.lease, 100), LK_OK);
    assert_int_equal(give(&env->fixture, &caller), LK_OK);
}

/* One session for the holder, and a few for the waiters that take turns: not one for each waiter.
 */
static void test_withdrawn_waiter_leaves_the_line_and_its_session_serves_on(void **state) {
    struct env *env = *state;
    struct caller holder, waiter;
    long before, after;
    static const char sessions[] =
        "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'lockkit:%:test'";

    obtain(&env->fixture, &holder, env->fixture.lock, LK_TRY);
    before = strtol(postgres_ask(sessions), NULL, 10);
    for (int i = 0; i < 10; i++) {
        start(&waiter, env->fixture.lock, LK_FOREVER);
        WAIT_FOR(&env->fixture.loop, ask_locks(env, LOCKS_WAITING) == 1);
        lk_cancel(waiter.request);
        WAIT_FOR(&env->fixture.loop, waiter.calls == 1);
        WAIT_FOR(&env->fixture.loop, ask_locks(env, LOCKS_WAITING) == 0);
    }
    after = strtol(postgres_ask(sessions), NULL, 10);
    assert_true(after < before + 6);
    assert_int_equal(give(&env->fixture, &holder), LK_OK);
}

/* Counts a grant, and gives it back. */
static void on_member_acquired(lk_request *request, enum lk_status status, lk_lease *lease,
                               void *data) {
    (void)request;
    assert_int_equal(status, LK_OK);
    ++*(unsigned *)data;
    lk_release(lease, NULL, NULL);
}

/* The server has few sessions, and other clients want some. */
static void test_crowd_of_names_opens_no_crowd_of_sessions_at_once(void **state) {
    enum { NAMES = 100, MOST = 32 };
    struct lk_client_options options = {.size = sizeof options, .reply_ms = PATIENCE_MS};
    struct env *env = *state;
    const unsigned before = env->proxy->clients;
    unsigned granted = 0;
    lk_client *client;

    assert_int_equal(lk_client_open(&client, &env->fixture.loop, env->proxy->url, &options), LK_OK);
    fault_proxy_set(env->proxy, PROXY_HOLDS_REPLIES);
    for (int i = 0; i < NAMES; i++) {
        lk_lock *lock;
        char name[80];

        (void)snprintf(name, sizeof name, "%s-%d", env->fixture.name, i);
        assert_int_equal(lk_lock_open(&lock, client, name, NULL), LK_OK);
        assert_int_equal(lk_acquire(lock, LK_FOREVER, on_member_acquired, &granted, NULL), LK_OK);
    }
    WAIT_FOR(&env->fixture.loop, env->proxy->clients - before >= MOST);
    turn(&env->fixture, 100);
    assert_int_equal(env->proxy->clients - before, MOST);
    fault_proxy_set(env->proxy, PROXY_PASSES);
    WAIT_FOR(&env->fixture.loop, granted == NAMES);
    close_client(&env->fixture, client);
}

static void test_withdrawal_at_each_moment_leaves_nothing_held(void **state) {
    struct env *env = *state;
    lk_lock *other = open_lock(&env->fixture, env->far, 2000);
    struct caller holder, waiter;

    for (int turns = 0; turns < 20; turns++) {
        obtain(&env->fixture, &holder, env->fixture.lock, 10000);
        start(&waiter, other, LK_FOREVER);
        WAIT_FOR(&env->fixture.loop, ask_locks(env, LOCKS_WAITING) == 1);
        lk_release(holder.lease, on_caller_released, &holder);
        turn(&env->fixture, turns);
        if (waiter.request != NULL)
            lk_cancel(waiter.request);
        WAIT_FOR(&env->fixture.loop, waiter.calls == 1 && holder.releases == 1);
        assert_int_equal(holder.release_status, LK_OK);
        if (waiter.lease != NULL)
            assert_int_equal(give(&env->fixture, &waiter), LK_OK);
        WAIT_FOR(&env->fixture.loop, ask_locks(env, "true") == 0);
    }
}

static void on_inspected(enum lk_status status, const struct lk_inspection *inspection,
                         void *data) {
    char *seen = data;

    assert_int_equal(status, LK_OK);
    for (size_t i = 0; i < inspection->holder_count; i++)
        strcat(seen, inspection->holders[i].mode == LK_SHARED ? "s" : "x");
    strcat(seen, "|");
    for (size_t i = 0; i < inspection->waiter_count; i++) {
        strcat(seen, inspection->waiters[i].mode == LK_SHARED ? "s" : "x");
        assert_string_equal(inspection->waiters[i].label,
                            inspection->waiters[i].mode == LK_SHARED ? "test" : "far");
        assert_int_equal(strlen(inspection->waiters[i].owner), 40);
    }
}

static void test_inspection_shows_the_line_in_its_order(void **state) {
    struct env *env = *state;
    struct lk_lock_options shared = {.mode = LK_SHARED, .is_fair = 1};
    lk_lock *reader = open_lock_as(&env->fixture, env->fixture.client, shared);
    struct caller readers[2], writer, late;
    char seen[16] = "";

    for (int i = 0; i < 2; i++)
        obtain(&env->fixture, &readers[i], reader, LK_TRY);
    start(&writer, open_lock(&env->fixture, env->far, 2000), LK_FOREVER);
    WAIT_FOR(&env->fixture.loop, ask_locks(env, LOCKS_WAITING) == 1);
    start(&late, reader, LK_FOREVER);
    WAIT_FOR(&env->fixture.loop, ask_locks(env, LOCKS_WAITING) == 2);
    assert_int_equal(lk_inspect(reader, on_inspected, seen), LK_OK);
    WAIT_FOR(&env->fixture.loop, strchr(seen, '|'));
    assert_string_equal(seen, "ss|xs");
    for (int i = 0; i < 2; i++)
        assert_int_equal(give(&env->fixture, &readers[i]), LK_OK);
    await_and_give(&env->fixture, &writer);
    await_and_give(&env->fixture, &late);
}

static void test_shared_leases_are_beside_each_other_alone(void **state) {
    struct env *env = *state;
    lk_lock *near = open_lock_as(&env->fixture, env->fixture.client,
                                 (struct lk_lock_options){.mode = LK_SHARED});
    lk_lock *far =
        open_lock_as(&env->fixture, env->far, (struct lk_lock_options){.mode = LK_SHARED});
    struct caller readers[2], writer;

    obtain(&env->fixture, &readers[0], near, LK_TRY);
    obtain(&env->fixture, &readers[1], far, LK_TRY);
    assert_true(lk_lease_fence(readers[1].lease) > lk_lease_fence(readers[0].lease));
    assert_int_equal(take(&env->fixture, &writer, env->fixture.lock, LK_TRY), LK_BUSY);
    start(&writer, env->fixture.lock, LK_FOREVER);
    WAIT_FOR(&env->fixture.loop, ask_locks(env, LOCKS_WAITING) == 1);
    assert_int_equal(give(&env->fixture, &readers[0]), LK_OK);
    assert_int_equal(take(&env->fixture, &readers[0], near, LK_TRY), LK_BUSY); /* it is in line */
    assert_int_equal(give(&env->fixture, &readers[1]), LK_OK);
    await_and_give(&env->fixture, &writer);
}

/* Locked by another program's statement, under the documented key. */
static void test_lock_of_another_program_excludes(void **state) {
    struct env *env = *state;
    struct caller caller;
    char sql[200], *key;

    (void)use_once(&env->fixture, env->fixture.lock, LK_TRY);
    (void)snprintf(sql, sizeof sql, "SELECT key FROM lockkit_lock WHERE name = '%s'",
                   env->fixture.name);
    key = strdup(postgres_ask(sql));
    (void)snprintf(sql, sizeof sql, "SELECT pg_advisory_lock(%s)", key);
    (void)postgres_ask(sql);
    assert_int_equal(take(&env->fixture, &caller, env->fixture.lock, LK_TRY), LK_BUSY);
    start(&caller, env->fixture.lock, LK_FOREVER);
    WAIT_FOR(&env->fixture.loop, ask_locks(env, LOCKS_WAITING) == 1);
    (void)postgres_ask("SELECT pg_advisory_unlock_all()");
    await_and_give(&env->fixture, &caller);
    free(key);
}

static void test_name_with_the_key_of_another_is_refused(void **state) {
    struct env *env = *state;
    struct caller caller;
    char sql[200];

    (void)use_once(&env->fixture, env->fixture.lock, LK_TRY);
    (void)snprintf(sql, sizeof sql, "UPDATE lockkit_lock SET name = 'x%s' WHERE name = '%s'",
                   env->fixture.name, env->fixture.name);
    (void)postgres_ask(sql);
    assert_int_equal(take(&env->fixture, &caller, env->fixture.lock, LK_TRY), LK_REFUSED);
    (void)snprintf(sql, sizeof sql, "DELETE FROM lockkit_lock WHERE name = 'x%s'",
                   env->fixture.name);
    (void)postgres_ask(sql);
    (void)use_once(&env->fixture, env->fixture.lock, 5000);
}

static void have_trigger_return(const char *what) {
    char sql[120];

    (void)snprintf(sql, sizeof sql,
                   "CREATE OR REPLACE FUNCTION skip() RETURNS trigger LANGUAGE plpgsql"
                   " AS 'BEGIN RETURN %s; END'",
                   what);
    (void)postgres_ask(sql);
}

/* A trigger of the table skips the row: only the server has granted the lock. */
static void test_a_lock_without_a_fencing_token_is_not_granted(void **state) {
    struct env *env = *state;
    struct caller caller, waiter;
    uint64_t fence;

    have_trigger_return("NULL");
    (void)postgres_ask("CREATE TRIGGER skip BEFORE INSERT ON lockkit_lock"
                       " FOR EACH ROW EXECUTE FUNCTION skip()");
    assert_int_equal(take(&env->fixture, &caller, env->fixture.lock, LK_TRY), LK_REFUSED);
    WAIT_FOR(&env->fixture.loop, ask_locks(env, LOCKS_HELD) == 0);
    have_trigger_return("NEW");
    obtain(&env->fixture, &caller, env->fixture.lock, LK_TRY);
    fence = lk_lease_fence(caller.lease);
    start(&waiter, env->fixture.lock, LK_FOREVER);
    WAIT_FOR(&env->fixture.loop, ask_locks(env, LOCKS_WAITING) == 1);
    have_trigger_return("NULL");
    assert_int_equal(give(&env->fixture, &caller), LK_OK);
    WAIT_FOR(&env->fixture.loop, ask_locks(env, LOCKS_WAITING) == 0);
    have_trigger_return("NEW");
    WAIT_FOR(&env->fixture.loop, waiter.calls == 1);
    assert_int_equal(waiter.status, LK_OK);
    assert_true(lk_lease_fence(waiter.lease) > fence);
    assert_int_equal(give(&env->fixture, &waiter), LK_OK);
    (void)postgres_ask("DROP FUNCTION skip CASCADE");
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        POSTGRES_TEST(test_terminated_session_is_told_as_lost),
        POSTGRES_TEST(test_grant_is_told_before_the_end_of_its_session),
        POSTGRES_TEST(test_waiter_whose_session_is_terminated_waits_again),
        POSTGRES_TEST(test_paused_client_keeps_what_it_abandoned_for_the_time_given),
        POSTGRES_TEST(test_late_end_of_a_broken_session_spares_the_next),
        POSTGRES_TEST(test_withdrawn_waiter_leaves_the_line_and_its_session_serves_on),
        POSTGRES_TEST(test_crowd_of_names_opens_no_crowd_of_sessions_at_once),
        POSTGRES_TEST(test_withdrawal_at_each_moment_leaves_nothing_held),
        POSTGRES_TEST(test_inspection_shows_the_line_in_its_order),
        POSTGRES_TEST(test_shared_leases_are_beside_each_other_alone),
        POSTGRES_TEST(test_lock_of_another_program_excludes),
        POSTGRES_TEST(test_name_with_the_key_of_another_is_refused),
        POSTGRES_TEST(test_a_lock_without_a_fencing_token_is_not_granted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
