/* Opens new sessions in place of those of which one has answered that it is not what it was: it was
 * set read only, its statements are gone, its role or search_path is another one, or the tables are
 * others than those that it has planned for. A query that was refused for that has had no effect,
 * and is sent once more, to a session that was opened after it came; what that one answers counts.
 *
 * A renewal costs the whole pool, and one statement that is refused for ever asks for it again and
 * again. So after a renewal that helped nobody the next one waits, each time for twice as long, up
 * to a minute. Each kind of error has a pause of its own: it delays no renewal for another one. A
 * database that was read only refuses all sales until its sessions are new: its pause stays short.
 */
#include "pg_internal.h"

#include "clock.h"

/* Those that do nothing at once, the others when they have answered. */
static void renew_all(struct pg_pool *pool) {
    for (unsigned i = 0; i < pool->size; i++) {
        struct pg_conn *conn = &pool->conns[i];

        conn->is_stale = conn->state != PG_CONN_DOWN;
        if (conn->state == PG_CONN_OPENING || (conn->state == PG_CONN_IDLE && !conn->is_held))
            pg_conn_renew(conn);
    }
}

static void tell(struct pg_pool *pool, const char *why, int64_t now_ms) {
    char line[PG_MESSAGE_BYTES], quoted[2 * PG_MESSAGE_BYTES];
    unsigned left_out;

    pg_first_line(line, sizeof line, why);
    if (log_limit_pass(&pool->renewals, now_ms, &left_out))
        log_warn("postgres sessions are opened anew", "pool=%s left_out=%u why=%s", pool->name,
                 left_out, log_quote(quoted, sizeof quoted, line));
}

bool pg_renew_resends(struct pg_conn *conn, struct pg_query *query, const PGresult *result) {
    struct pg_pool *pool = conn->pool;
    const enum pg_stale kind = pg_stale(result);
    const int64_t now_ms = clock_now_ms();

    if (kind == PG_STALE_NOT || pool->is_closing || query->internal.again != NULL)
        return false;
    if (!conn->is_stale && pg_stale_is_due(&pool->pauses[kind], kind, now_ms)) {
        tell(pool, pg_error_text(result), now_ms);
        renew_all(pool);
    }
    if (!conn->is_stale || conn->is_held || query->deadline_ms <= now_ms)
        return false;
    query->internal.again = &pool->pauses[kind];
    pg_pool_enqueue(pool, query, true);
    return true;
}
