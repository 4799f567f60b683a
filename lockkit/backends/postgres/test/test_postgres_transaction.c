/* Locks in the caller's transaction, through a pooler, too; and the guards of a resource. */
#include "lockkit_pg.h"

#include "own_pgbouncer.h"
#include "postgres_fixture.h"
#include "redis_admin.h"

static PGconn *conns[2];
static const char *name;

static void run(PGconn *conn, const char *sql, ExecStatusType expected) {
    PGresult *result = PQexec(conn, sql);

    if (PQresultStatus(result) != expected)
        fail_msg("%s: %s", sql, PQerrorMessage(conn));
    PQclear(result);
}

static int connect_directly(void **state) {
    static struct fixture fixture;

    (void)state;
    fixture_init(&fixture); /* for a name of its own */
    name = fixture.name;
    fixture_end(&fixture);
    for (int i = 0; i < 2; i++) {
        conns[i] = PQconnectdb(getenv("TEST_PG"));
        run(conns[i], "BEGIN", PGRES_COMMAND_OK);
    }
    return 0;
}

static int disconnect(void **state) {
    (void)state;
    for (int i = 0; i < 2; i++)
        PQfinish(conns[i]);
    return 0;
}

static void test_transaction_holds_until_it_ends(void **state) {
    (void)state;
    assert_int_equal(lk_pg_lock(conns[0], name, LK_EXCLUSIVE, LK_TRY), LK_OK);
    assert_int_equal(lk_pg_lock(conns[1], name, LK_EXCLUSIVE, LK_TRY), LK_BUSY);
    assert_int_equal(lk_pg_lock(conns[1], name, LK_SHARED, LK_TRY), LK_BUSY);
    run(conns[0], "COMMIT", PGRES_COMMAND_OK);
    assert_int_equal(lk_pg_lock(conns[1], name, LK_EXCLUSIVE, LK_TRY), LK_OK);
}

static void test_wait_that_is_over_leaves_the_transaction(void **state) {
    PGresult *result;

    (void)state;
    run(conns[1], "SET LOCAL lock_timeout = '7s'", PGRES_COMMAND_OK);
    assert_int_equal(lk_pg_lock(conns[0], name, LK_SHARED, LK_FOREVER), LK_OK);
    assert_int_equal(lk_pg_lock(conns[1], name, LK_EXCLUSIVE, 50), LK_TIMEOUT);
    assert_int_equal(lk_pg_lock(conns[1], name, LK_SHARED, 50), LK_OK);
    result = PQexec(conns[1], "SHOW lock_timeout"); /* as it was */
    assert_string_equal(PQgetvalue(result, 0, 0), "7s");
    PQclear(result);
    run(conns[1], "COMMIT", PGRES_COMMAND_OK);
    assert_int_equal(lk_pg_lock(conns[1], name, LK_EXCLUSIVE, LK_TRY), LK_INVALID); /* none open */
}

static void test_broken_connection_is_unknown_and_frees(void **state) {
    char sql[80];

    (void)state;
    assert_int_equal(lk_pg_lock(conns[0], name, LK_EXCLUSIVE, LK_TRY), LK_OK);
    run(conns[1], "COMMIT; BEGIN", PGRES_COMMAND_OK);
    (void)snprintf(sql, sizeof sql, "SELECT pg_terminate_backend(%d, 5000)",
                   PQbackendPID(conns[0]));
    run(conns[1], sql, PGRES_TUPLES_OK);
    assert_int_equal(lk_pg_lock(conns[0], name, LK_EXCLUSIVE, 50), LK_UNKNOWN);
    assert_int_equal(lk_pg_lock(conns[1], name, LK_EXCLUSIVE, LK_TRY), LK_OK);
}

static void test_transaction_excludes_a_session(void **state) {
    struct postgres_fixture *env = *state;
    struct caller caller;
    PGconn *conn = postgres_admin();

    run(conn, "BEGIN", PGRES_COMMAND_OK);
    assert_int_equal(lk_pg_lock(conn, env->fixture.name, LK_EXCLUSIVE, LK_TRY), LK_OK);
    assert_int_equal(take(&env->fixture, &caller, env->fixture.lock, LK_TRY), LK_BUSY);
    run(conn, "COMMIT", PGRES_COMMAND_OK);
    assert_int_equal(take(&env->fixture, &caller, env->fixture.lock, 5000), LK_OK);
    assert_int_equal(give(&env->fixture, &caller), LK_OK);
}

/* Where the lock of a session is none. */
static void test_transaction_excludes_through_a_pooler(void **state) {
    struct own_pgbouncer pooler;
    PGconn *clients[2];

    (void)state;
    own_pgbouncer_start(&pooler, "public", 2);
    for (int i = 0; i < 2; i++) {
        clients[i] = PQconnectdb(pooler.url);
        run(clients[i], "BEGIN", PGRES_COMMAND_OK);
    }
    assert_int_equal(lk_pg_lock(clients[0], "pooled", LK_EXCLUSIVE, LK_TRY), LK_OK);
    assert_int_equal(lk_pg_lock(clients[1], "pooled", LK_EXCLUSIVE, LK_TRY), LK_BUSY);
    run(clients[0], "COMMIT", PGRES_COMMAND_OK);
    assert_int_equal(lk_pg_lock(clients[1], "pooled", LK_EXCLUSIVE, LK_TRY), LK_OK);
    for (int i = 0; i < 2; i++)
        PQfinish(clients[i]);
    own_pgbouncer_stop(&pooler);
}

static char *read_text(const char *path) {
    FILE *file = fopen(path, "r");
    char *text = calloc(1, 8000);

    assert_non_null(file);
    assert_true(fread(text, 1, 7999, file) > 0);
    (void)fclose(file);
    return text;
}

static void test_guard_in_sql_refuses_an_older_token(void **state) {
    char *guard = read_text("lockkit/guard/fence.sql");
    PGconn *conn = postgres_admin();

    (void)state;
    run(conn, guard, PGRES_COMMAND_OK);
    run(conn,
        "CREATE TABLE stock (id int, available int, fence bigint NOT NULL DEFAULT 0);"
        "INSERT INTO stock VALUES (1, 10);"
        "CREATE TRIGGER fence BEFORE UPDATE ON stock"
        " FOR EACH ROW EXECUTE FUNCTION lockkit_guard()",
        PGRES_COMMAND_OK);
    run(conn, "UPDATE stock SET available = 9, fence = 5 WHERE id = 1", PGRES_COMMAND_OK);
    run(conn, "UPDATE stock SET available = 8, fence = 5 WHERE id = 1", PGRES_COMMAND_OK);
    run(conn, "UPDATE stock SET available = 7, fence = 4 WHERE id = 1", PGRES_FATAL_ERROR);
    run(conn, "UPDATE stock SET available = 7, fence = 4 WHERE id = 1 AND fence <= 4",
        PGRES_COMMAND_OK); /* and touches nothing */
    assert_string_equal(postgres_ask("SELECT available FROM stock"), "8");
    free(guard);
}

static long long write_fenced(redisContext *redis, const char *guard, const char *token,
                              const char *value) {
    redisReply *reply =
        redisCommand(redis, "EVAL %s 2 {%s} {%s}:fence %s %s", guard, name, name, token, value);
    long long written;

    assert_non_null(reply);
    assert_int_equal(reply->type, REDIS_REPLY_INTEGER);
    written = reply->integer;
    freeReplyObject(reply);
    return written;
}

static void test_guard_in_lua_refuses_an_older_token(void **state) {
    char *guard = read_text("lockkit/guard/fence.lua");
    redisContext *redis = redis_admin_connect();

    (void)state;
    assert_int_equal(write_fenced(redis, guard, "1763820000000002", "a"), 1);
    assert_int_equal(write_fenced(redis, guard, "1763820000000002", "b"), 1);
    assert_int_equal(write_fenced(redis, guard, "1763820000000001", "c"), 0);
    assert_int_equal(write_fenced(redis, guard, "1763820000000003", "d"), 1);
    freeReplyObject(redisCommand(redis, "DEL {%s} {%s}:fence", name, name));
    redisFree(redis);
    free(guard);
}

#define DIRECT_TEST(test) cmocka_unit_test_setup_teardown(test, connect_directly, disconnect)

int main(void) {
    static const struct CMUnitTest tests[] = {
        DIRECT_TEST(test_transaction_holds_until_it_ends),
        DIRECT_TEST(test_wait_that_is_over_leaves_the_transaction),
        DIRECT_TEST(test_broken_connection_is_unknown_and_frees),
        POSTGRES_TEST(test_transaction_excludes_a_session),
        cmocka_unit_test(test_transaction_excludes_through_a_pooler),
        cmocka_unit_test(test_guard_in_sql_refuses_an_older_token),
        DIRECT_TEST(test_guard_in_lua_refuses_an_older_token),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
