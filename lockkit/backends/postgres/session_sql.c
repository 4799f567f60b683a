/* A session's lock is in pg_locks with the halves of the key in classid and objid. objsubid is 1,
 * which tells it from locks of two integers. */
#include "session_sql.h"

#define IS_OURS                                                                                    \
    " k.locktype = 'advisory' AND k.objsubid = 1"                                                  \
    " AND ((k.classid::bigint << 32) | k.objid::bigint) = $1::bigint"                              \
    " AND k.database = (SELECT oid FROM pg_database WHERE datname = current_database())"

/* The token is at least the server's clock in microseconds. So it rises even if the last rows were
 * lost (a failover to a replica that lagged). */
#define TAKE(is_granted)                                                                           \
    "WITH got AS MATERIALIZED ("                                                                   \
    " SELECT set_config('idle_session_timeout', $5, false),"                                       \
    "  set_config('application_name', $6, false), " is_granted " AS ok),"                          \
    "minted AS ("                                                                                  \
    " INSERT INTO lockkit_lock AS l (key, name, owner, label, fence)"                              \
    " SELECT $1::bigint, $2, $3, $4,"                                                              \
    "  greatest((extract(epoch FROM clock_timestamp()) * 1000000)::bigint, $7::bigint + 1)"        \
    "   + $8::bigint"                                                                              \
    " FROM got WHERE ok"                                                                           \
    " ON CONFLICT (name) DO UPDATE SET key = excluded.key, owner = excluded.owner,"                \
    "  label = excluded.label,"                                                                    \
    "  fence = greatest(l.fence + 1 + $8::bigint, excluded.fence)"                                 \
    " RETURNING fence - $8::bigint AS fence)"                                                      \
    "SELECT ok, (SELECT fence FROM minted) FROM got"

/* While the session waits, keep-alives check whether the client is still there. Together they last
 * about its TTL. */
#define WAIT(lock)                                                                                 \
    TAKE("set_config('tcp_keepalives_idle', greatest(1, $5::int / 2000)::text, false) ||"          \
         " set_config('tcp_keepalives_interval', greatest(1, $5::int / 6000)::text, false) ||"     \
         " set_config('tcp_keepalives_count', '3', false) ||"                                      \
         " set_config('tcp_user_timeout', greatest(1000, $5::int)::text, false) IS NOT NULL"       \
         " AND " lock " IS NOT NULL")

const char *const pg_session_try_sql[2] = {
    [LK_EXCLUSIVE] = TAKE("pg_try_advisory_lock($1::bigint)"),
    [LK_SHARED] = TAKE("pg_try_advisory_lock_shared($1::bigint)"),
};

const char *const pg_session_wait_sql[2] = {
    [LK_EXCLUSIVE] = WAIT("pg_advisory_lock($1::bigint)"),
    [LK_SHARED] = WAIT("pg_advisory_lock_shared($1::bigint)"),
};

const char pg_session_check_sql[] =
    "SELECT EXISTS (SELECT FROM pg_locks k WHERE k.granted AND k.pid = pg_backend_pid() AND" IS_OURS
    "), set_config('idle_session_timeout', $2, false)";

#define REST ", set_config('idle_session_timeout', '60s', false)"

const char *const pg_session_unlock_sql[2] = {
    [LK_EXCLUSIVE] = "SELECT pg_advisory_unlock($1::bigint)" REST,
    [LK_SHARED] = "SELECT pg_advisory_unlock_shared($1::bigint)" REST,
};

const char pg_session_clean_sql[] = "SELECT pg_advisory_unlock_all()" REST;

/* A request that comes before the session waits would have no effect. */
const char pg_session_cancel_sql[] = "SELECT pg_cancel_backend(pid) FROM pg_stat_activity"
                                     " WHERE pid = $1::int AND wait_event_type = 'Lock'";

#define ENDED(pid) "pg_terminate_backend(" pid ", 400)"

/* The tag alone is not enough: if the same owner tries again, its next session has the same tag.
 * Nor is the pid: another session may have it by now. The label is left out, because the server
 * keeps only its ASCII. */
const char pg_session_end_sql[] = "SELECT coalesce(bool_and(" ENDED(
    "pid") "), true) FROM pg_stat_activity"
           " WHERE pid = $1::int AND substr(application_name, 1, 36) = substr($2, 1, 36)";

const char pg_session_inspect_sql[] =
    "SELECT NOT k.granted, coalesce(a.owner, 'pid ' || k.pid),"
    " CASE WHEN l.owner = a.owner THEN l.label ELSE coalesce(a.label, '') END,"
    " CASE WHEN l.owner = a.owner AND k.granted THEN l.fence ELSE 0 END,"
    " -1, k.mode = 'ShareLock' "
    "FROM pg_locks k"
    " LEFT JOIN (SELECT pid, substr(application_name, 37) AS label,"
    "   encode(decode(substr(application_name, 9, 27) || '=', 'base64'), 'hex') AS owner"
    "  FROM pg_stat_activity WHERE application_name ~ '^lockkit:[A-Za-z0-9+/]{27}:') a USING (pid)"
    " LEFT JOIN lockkit_lock l ON l.name = $2 "
    "WHERE" IS_OURS " ORDER BY k.granted DESC, k.waitstart, k.pid";

const char pg_session_break_sql[] = "SELECT count(*), bool_and(" ENDED(
    "k.pid") ") FROM pg_locks k LEFT JOIN pg_stat_activity a USING (pid)"
             " WHERE k.granted AND ($2::text IS NULL OR 'pid ' || k.pid = $2"
             "  OR starts_with(a.application_name, $3)) AND" IS_OURS;
