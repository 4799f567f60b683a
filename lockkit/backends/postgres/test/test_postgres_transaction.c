/* Locks in the caller's transaction, through a pooler, too. */
#include "lockkit_pg.h"

#include "own_pgbouncer.h"
#include "postgres_env.h"

static PGconn *conns[2];
static const char *name;

static int connect_directly(void **state) {
    static struct fixture fixture;

    fixture_init(&fixture); /* for a name of its own */
    name = fixture.name;
    fixture_end(&fixture);
    for (int i = 0; i < 2; i++) {
        conns[i] = PQconnectdb(getenv("TEST_PG"));
        (void)postgres_ask_on(conns[i], "BEGIN");
    }
    return 0;
}

static int disconnect(void **state) {
    for (int i = 0; i < 2; i++)
        PQfinish(conns[i]);
    return 0;
}

static void test_transaction_holds_until_it_ends(void **state) {
    assert_int_equal(lk_pg_lock(conns[0], name, LK_EXCLUSIVE, LK_TRY), LK_OK);
    assert_int_equal(lk_pg_lock(conns[1], name, LK_EXCLUSIVE, LK_TRY), LK_BUSY);
    assert_int_equal(lk_pg_lock(conns[1], name, LK_SHARED, LK_TRY), LK_BUSY);
    (void)postgres_ask_on(conns[0], "COMMIT");
    assert_int_equal(lk_pg_lock(conns[1], name, LK_EXCLUSIVE, LK_TRY), LK_OK);
}

static void test_wait_that_is_over_leaves_the_transaction(void **state) {
    (void)postgres_ask_on(conns[1], "SET LOCAL lock_timeout = '7s'");
    assert_int_equal(lk_pg_lock(conns[0], name, LK_SHARED, LK_FOREVER), LK_OK);
    assert_int_equal(lk_pg_lock(conns[1], name, LK_EXCLUSIVE, 50), LK_TIMEOUT);
    assert_int_equal(lk_pg_lock(conns[1], name, LK_SHARED, 50), LK_OK);
    assert_string_equal(postgres_ask_on(conns[1], "SHOW lock_timeout"), "7s"); /* as it was */
    (void)postgres_ask_on(conns[1], "COMMIT");
    assert_int_equal(lk_pg_lock(conns[1], name, LK_EXCLUSIVE, LK_TRY), LK_INVALID); /* none open */
}

static void test_broken_connection_is_unknown_and_frees(void **state) {
    char sql[80];

    assert_int_equal(lk_pg_lock(conns[0], name, LK_EXCLUSIVE, LK_TRY), LK_OK);
    (void)postgres_ask_on(conns[1], "COMMIT; BEGIN");
    (void)snprintf(sql, sizeof sql, "SELECT pg_terminate_backend(%d, 5000)",
                   PQbackendPID(conns[0]));
    (void)postgres_ask_on(conns[1], sql);
    assert_int_equal(lk_pg_lock(conns[0], name, LK_EXCLUSIVE, 50), LK_UNKNOWN);
    assert_int_equal(lk_pg_lock(conns[1], name, LK_EXCLUSIVE, LK_TRY), LK_OK);
}

static void test_transaction_excludes_a_session(void **state) {
    struct env *env = *state;
    struct caller caller;
    PGconn *conn = postgres_admin();

    (void)postgres_ask_on(conn, "BEGIN");
    assert_int_equal(lk_pg_lock(conn, env->fixture.name, LK_EXCLUSIVE, LK_TRY), LK_OK);
    assert_int_equal(take(&env->fixture, &caller, env->fixture.lock, LK_TRY), LK_BUSY);
    (void)postgres_ask_on(conn, "COMMIT");
    (void)use_once(&env->fixture, env->fixture.lock, 5000);
}

/* Here the lock of a session does not exclude. */
static void test_transaction_excludes_through_a_pooler(void **state) {
    struct own_pgbouncer pooler;
    PGconn *clients[2];

    own_pgbouncer_start(&pooler, "public", 2);
    for (int i = 0; i < 2; i++) {
        clients[i] = PQconnectdb(pooler.url);
        (void)postgres_ask_on(clients[i], "BEGIN");
    }
    assert_int_equal(lk_pg_lock(clients[0], "pooled", LK_EXCLUSIVE, LK_TRY), LK_OK);
    assert_int_equal(lk_pg_lock(clients[1], "pooled", LK_EXCLUSIVE, LK_TRY), LK_BUSY);
    (void)postgres_ask_on(clients[0], "COMMIT");
    assert_int_equal(lk_pg_lock(clients[1], "pooled", LK_EXCLUSIVE, LK_TRY), LK_OK);
    for (int i = 0; i < 2; i++)
        PQfinish(clients[i]);
    own_pgbouncer_stop(&pooler);
}

#define DIRECT_TEST(test) cmocka_unit_test_setup_teardown(test, connect_directly, disconnect)

int main(void) {
    static const struct CMUnitTest tests[] = {
        DIRECT_TEST(test_transaction_holds_until_it_ends),
        DIRECT_TEST(test_wait_that_is_over_leaves_the_transaction),
        DIRECT_TEST(test_broken_connection_is_unknown_and_frees),
        POSTGRES_TEST(test_transaction_excludes_a_session),
        cmocka_unit_test(test_transaction_excludes_through_a_pooler),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
