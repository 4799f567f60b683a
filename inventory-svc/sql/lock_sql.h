/* SQL of advisory locks that statements over a pool take and give back. */
#ifndef INVENTORY_LOCK_SQL_H
#define INVENTORY_LOCK_SQL_H

#include "pg.h"
#include "statement.h"
#include "store.h"

/* An advisory lock of whichever session of the pool is free: OK, and *is_yes says whether that
 * session has it now, or had it until now; BUSY, FAILED. Nothing is prepared. */
enum advisory_verb { ADVISORY_TRY, ADVISORY_UNLOCK };
enum outcome lock_sql_advisory(struct pg_pool *pool, enum advisory_verb verb,
                               const char *product_id, int shard, bool *is_yes, int64_t deadline_ms,
                               char message[MESSAGE_BYTES]);

#endif
