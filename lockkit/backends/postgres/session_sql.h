/* The statements of mode=session. */
#ifndef LOCKKIT_SESSION_SQL_H
#define LOCKKIT_SESSION_SQL_H

#include "backend.h"

/* Take a lock: $1 key, $2 name, $3 owner, NULL if shared, $4 label, $5 ttl, $6 tag, $7 a token that
 * was seen, $8 number of reserved tokens. A row: is it granted, fence. The granted statement mints
 * the token. A second name with the same key is a 23505. */
extern const char *const pg_session_try_sql[2], *const pg_session_wait_sql[2]; /* by mode */
#define SESSION_TAKE_PARAMS 8

/* $1 key, $2 ttl: does the session hold it? */
extern const char pg_session_check_sql[];
/* $1 key: did the session hold it until now? By mode. */
extern const char *const pg_session_unlock_sql[2];
/* Unlock all that the session holds. No parameters. */
extern const char pg_session_clean_sql[];

/* On any connection. $1 the pid. A row: the session waited, and its statement is cancelled. */
extern const char pg_session_cancel_sql[];
/* On any connection. $1 the pid, $2 the tag: has that session ended? */
extern const char pg_session_end_sql[];
/* $1 key, $2 name: the rows of an INSPECT, see pg_ask(). */
extern const char pg_session_inspect_sql[];
/* $1 key, $2 owner or NULL, $3 tag: how many sessions held it, and have all of them ended? */
extern const char pg_session_break_sql[];

#endif
