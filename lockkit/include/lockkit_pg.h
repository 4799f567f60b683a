/* lockkit on the caller's own Postgres connection: a lock inside the transaction that it protects.
 *
 * The strongest of all, and no lease: the server frees the lock in the same step in which it
 * commits or rolls back, so no write can come after it, whatever is paused or cut off; there is
 * nothing to renew and nothing to fence. It also works through a pooler that lends a connection for
 * one transaction. But it lasts no longer than the transaction.
 *
 * It excludes postgres://...?mode=session as well: the keys are the same. */
#ifndef LOCKKIT_PG_H
#define LOCKKIT_PG_H

#include "lockkit.h"

#include <libpq-fe.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The key of the advisory lock of a name: FNV-1a of 64 bits, as a signed number. Two names with the
 * same key exclude each other; among a million names that has a chance of 1 in 37 million. */
int64_t lk_pg_key(const char *name);

/* For who sends it himself: the statement that takes the lock, with the key, as text, for $1.
 * Within a transaction. With `is_try` it answers true or false at once, else a row when it has the
 * lock; `SET LOCAL lock_timeout` bounds the wait, and 55P03 then leaves the transaction to be
 * rolled back (to a savepoint, which gives back a lock that was taken all the same). */
const char *lk_pg_lock_sql(enum lk_mode mode, int is_try);

/* The same on a connection that may block. LK_OK: it is held until the transaction ends. LK_BUSY
 * (LK_TRY), LK_TIMEOUT: it is not, and the transaction goes on. LK_REFUSED: nor here, as the server
 * said: it found a deadlock, or cancelled the statement; the log has why. LK_UNKNOWN: the
 * connection broke, and the transaction with it. LK_INVALID: no transaction is open on `conn`, or
 * one that has failed. */
LK_CHECK enum lk_status lk_pg_lock(PGconn *conn, const char *name, enum lk_mode mode,
                                   uint32_t wait_ms);

#ifdef __cplusplus
}
#endif

#endif
