/* The Postgres of the tests, as a URL of lockkit. */
#ifndef LOCKKIT_TEST_POSTGRES_ENV_H
#define LOCKKIT_TEST_POSTGRES_ENV_H

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

#endif
