/* The errors of a Postgres session that is not what it was when it was opened. The refused
 * statement had no effect; a new session may run it. */
#ifndef UVKIT_PG_STALE_H
#define UVKIT_PG_STALE_H

#include <libpq-fe.h>

/* By the beginning of the SQLSTATE. */
#define PG_STALES(X)                                                                               \
    X(RESULT, "0A000")    /* a plan whose result would have another type since ALTER TABLE */      \
    X(READ_ONLY, "25006") /* the database was read only when the session was opened */             \
    X(STATEMENT, "26000") /* no such prepared statement */                                         \
    X(SCHEMA, "3F000")    /* no such schema */                                                     \
    X(NAME, "42")  /* no such table, column or right; a statement that is prepared already */      \
    X(CACHE, "XX") /* what it had in its caches is gone */

#define X(name, sqlstate) PG_STALE_##name,
enum pg_stale { PG_STALE_NOT, PG_STALES(X) PG_STALE_KINDS };
#undef X

/* PG_STALE_NOT for a success, and for any other error. */
enum pg_stale pg_stale(const PGresult *result);

#endif
