/* How a session is made fit for locks, before its first one. */
#include "pg_settle.h"

#include <assert.h>
#include <stdio.h>

/* Is this session ours, and not one that a pooler lends? A server tells its pid when it lets a
 * client in; a pooler, which has no server for it yet, tells another. Then it is not touched. Else
 * it is set, whatever server, database and role say; but the URL says where the table is, if it
 * does. A statement_timeout of the role would be for this statement, too. */
static const char settle_sql[] =
    "SET LOCAL statement_timeout = 0;"
    "SELECT pid = asked, pg_is_in_recovery(),"
    " CASE WHEN pid = asked THEN"
    "  (SELECT set_config(name, CASE source WHEN 'client' THEN setting ELSE boot_val END, false)"
    "   FROM pg_settings WHERE name = 'search_path') ||"
    "  (SELECT string_agg(set_config(name, '0', false), '') FROM pg_settings WHERE name IN"
    "   ('statement_timeout', 'lock_timeout', 'transaction_timeout')) ||"
    "  set_config('row_security', 'on', false) ||"
    "  set_config('default_transaction_isolation', 'read committed', false) ||"
    /* A grant is told when its fencing token is on disk. */
    "  set_config('synchronous_commit', CASE current_setting('synchronous_commit')"
    "   WHEN 'off' THEN 'on' WHEN 'local' THEN 'on' ELSE current_setting('synchronous_commit')"
    "   END, false) ||"
    /* A client that died waiting leaves the line. */
    "  set_config('client_connection_check_interval', '1s', false) ||"
    "  set_config('idle_session_timeout', '60s', false)"
    " END, to_regclass('lockkit_lock') IS NULL"
    " FROM (SELECT pg_backend_pid() AS pid, %d AS asked) AS session";

void pg_settle_write(char sql[PG_SETTLE_SIZE], int pid) {
    static_assert(sizeof settle_sql + 32 <= PG_SETTLE_SIZE, "it has room for the pid");
    (void)snprintf(sql, PG_SETTLE_SIZE, settle_sql, pid);
}
