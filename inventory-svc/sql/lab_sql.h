/* SQL of the table lab_event. Both run in a fiber and end soon after `deadline_ms`. */
#ifndef INVENTORY_LAB_SQL_H
#define INVENTORY_LAB_SQL_H

#include "pg.h"
#include "statement.h"

/* Add the events of an array of JSON objects. Their members are named like the columns, except that
 * `at` is `at_us`: microseconds since 1970 by the database's clock. OK, BUSY, FAILED, UNKNOWN. */
enum outcome lab_sql_add(struct pg_pool *pool, const char *events, const char *instance,
                         int64_t deadline_ms, struct why *why);

/* The database's clock, microseconds since 1970: OK, BUSY, FAILED. */
enum outcome lab_sql_clock(struct pg_pool *pool, int64_t *server_us, int64_t deadline_ms,
                           struct why *why);

#endif
