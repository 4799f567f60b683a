/* lockkit on the caller's own Postgres connection: a lock inside the transaction that it protects.
 *
 * The strongest lock of all, and not a lease. The server frees it in the same step in which it
 * commits or rolls back. So no write can come after the lock, even if a process was paused or a
 * connection cut. There is nothing to renew and nothing to fence. It also works through a pooler
 * that lends a connection for one transaction. But it lasts no longer than the transaction.
 *
 * It excludes postgres://...?mode=session as well: the keys are the same. */
#ifndef LOCKKIT_PG_H
#define LOCKKIT_PG_H

#include "lockkit.h"

#include <libpq-fe.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The key of the advisory lock of a name: its FNV-1a hash of 64 bits, read as a signed number. Two
 * names with the same key exclude each other. Among a million names the chance of such a pair is 1
 * in 37 million. */
int64_t lk_pg_key(const char *name);

/* The statement that takes the lock, for programs that send it themselves, within a transaction. $1
 * is the key, as text. With `is_try` the statement returns true or false at once. Without it, it
 * returns a row when it has the lock; `SET LOCAL lock_timeout` bounds that wait. After its error
 * 55P03 roll the transaction back, or roll back to a savepoint: that also gives back a lock that
 * was granted after all. */
const char *lk_pg_lock_sql(enum lk_mode mode, int is_try);

/* Take the lock, on a connection that may block.
 *   OK             held until the transaction ends
 *   BUSY, TIMEOUT  not held (BUSY with LK_TRY); the transaction goes on
 *   REFUSED        not held: the server found a deadlock, or cancelled the statement (see the log)
 *   UNKNOWN        the connection broke, and the transaction with it
 *   INVALID        no transaction is open on `conn`, or it has failed */
LK_CHECK enum lk_status lk_pg_lock(PGconn *conn, const char *name, enum lk_mode mode,
                                   uint32_t wait_ms);

#ifdef __cplusplus
}
#endif

#endif
