/* What the tests of the postgres backend share: a schema on the server, and two clients in it. */
#ifndef LOCKKIT_TEST_POSTGRES_ENV_H
#define LOCKKIT_TEST_POSTGRES_ENV_H

#include "env.h"

#include <libpq-fe.h>

/* Of the scratch database TEST_PG, in a schema of this process's own, made at the first call and
 * dropped at exit; `mode` and more parameters. Static, until the next call. */
const char *postgres_url(const char *parameters);
/* The same at another address, such as a proxy's. */
const char *postgres_url_at(int port, const char *parameters);
/* A connection that blocks, to look into that schema. */
PGconn *postgres_admin(void);
/* Run SQL there, which must succeed; the first field of what it answers, "" without one. Static,
 * until the next call. */
const char *postgres_ask(const char *sql);
const char *postgres_ask_on(PGconn *conn, const char *sql);

extern const char *postgres_mode; /* of the clients: "mode=session", or another */

int postgres_set_up(void **state);
/* A number that the server answers about the advisory lock of the fixture's name. */
long ask_locks(struct env *env, const char *what);
#define LOCKS_HELD          "granted"
#define LOCKS_WAITING       "NOT granted"

#define POSTGRES_TEST(test) cmocka_unit_test_setup_teardown(test, postgres_set_up, env_close)

#endif
