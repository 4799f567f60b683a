/* What is said to the server in mode=session. */
#ifndef LOCKKIT_SESSION_SQL_H
#define LOCKKIT_SESSION_SQL_H

#include "backend.h"

/* Taking a lock: $1 key, $2 name, $3 owner, NULL when shared, $4 label, $5 ttl, $6 tag, $7 a token
 * that was seen, $8 how many are reserved. A row: is it granted, fence. The token is minted by the
 * statement that is granted. A second name with the same key is a 23505. */
extern const char *const pg_session_try_sql[2], *const pg_session_wait_sql[2]; /* by mode */
#define SESSION_TAKE_PARAMS 8

/* $1 key, $2 ttl: is it held? */
extern const char pg_session_check_sql[];
/* $1 key: was it held until now? By mode. */
extern const char *const pg_session_unlock_sql[2];
/* Whatever is held. No parameters. */
extern const char pg_session_clean_sql[];

/* On any connection. $1 the pid: a row when it did wait, and is cancelled. */
extern const char pg_session_cancel_sql[];
/* On any connection. $1 the pid, $2 the tag: is there no such session any more? */
extern const char pg_session_end_sql[];
/* $1 key, $2 name: the rows of an INSPECT, see pg_ask(). */
extern const char pg_session_inspect_sql[];
/* $1 key, $2 owner or NULL, $3 tag: how many were there, and were all of them ended? */
extern const char pg_session_break_sql[];

#endif
