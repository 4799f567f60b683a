/* The environment of the postgres tests: a schema on the server, and two clients in it. */
#ifndef LOCKKIT_TEST_POSTGRES_ENV_H
#define LOCKKIT_TEST_POSTGRES_ENV_H

#include "env.h"

#include <libpq-fe.h>

/* The URL of the scratch database TEST_PG, in a schema of this process. The first call makes the
 * schema, and exit drops it. `mode` and more parameters go into the URL. Static, until the next
 * call. */
const char *postgres_url(const char *parameters);
/* The same at another address, such as a proxy. */
const char *postgres_url_at(int port, const char *parameters);
/* A blocking connection, to look into that schema. */
PGconn *postgres_admin(void);
/* Run SQL there, which must succeed. Returns the first field of the answer, "" without one. Static,
 * until the next call. */
const char *postgres_ask(const char *sql);
const char *postgres_ask_on(PGconn *conn, const char *sql);

extern const char *postgres_mode; /* for the clients: "mode=session", or another */

int postgres_set_up(void **state);
/* A number from the server about the advisory lock of the fixture's name. */
long ask_locks(struct env *env, const char *what);
#define LOCKS_HELD          "granted"
#define LOCKS_WAITING       "NOT granted"

#define POSTGRES_TEST(test) cmocka_unit_test_setup_teardown(test, postgres_set_up, env_close)

#endif
