/* The errors of a Postgres session that is not what it was when it was opened. The refused
 * statement had no effect; a new session may run it. */
#ifndef UVKIT_PG_STALE_H
#define UVKIT_PG_STALE_H

#include <libpq-fe.h>
#include <stdbool.h>
#include <stdint.h>

/* By SQLSTATE. Not all of a class: a new session mends no syntax error and no damaged index. */
#define PG_STALES(X)                                                                               \
    X(RESULT, "0A000")    /* a plan whose result would have another type since ALTER TABLE */      \
    X(READ_ONLY, "25006") /* the database was read only when the session was opened */             \
    X(STATEMENT, "26000") /* no such prepared statement */                                         \
    X(SCHEMA, "3F000")    /* no such schema */                                                     \
    X(RIGHT, "42501")     /* the session has another role */                                       \
    X(COLUMN, "42703")    /* no such column: the search_path finds another table */                \
    X(OBJECT, "42704")    /* no such type */                                                       \
    X(FUNCTION, "42883")  /* no such function */                                                   \
    X(TABLE, "42P01")     /* no such table */                                                      \
    X(PREPARED, "42P05")  /* a statement of that name is prepared already */                       \
    X(CACHE, "XX000")     /* what it had in its caches is gone */

#define X(name, sqlstate) PG_STALE_##name,
enum pg_stale { PG_STALE_NOT, PG_STALES(X) PG_STALE_KINDS };
#undef X

/* PG_STALE_NOT for a success, and for any other error. */
enum pg_stale pg_stale(const PGresult *result);

/* No session is renewed before `until_ms`; the next pause is longer than `length_ms`. */
struct pg_pause {
    int64_t until_ms, length_ms;
};

/* True when a renewal for this kind of error is due; then the next pause begins. */
bool pg_stale_is_due(struct pg_pause *pause, enum pg_stale kind, int64_t now_ms);

#endif
