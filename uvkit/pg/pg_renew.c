/* Opens new sessions in place of those of which one has answered that it is not what it was: it was
 * set read only, its statements are gone, its role or search_path is another one, or the tables are
 * others than those that it has planned for. A query that was refused for that has had no effect,
 * and is sent once more, to a session that was opened after it came; what that one answers counts.
 *
 * A database that goes on to refuse is not asked for new sessions all the time: after a renewal
 * that helped nobody the next one waits, each time for twice as long, up to RENEW_MOST_MS. */
#include "pg_internal.h"

#include "clock.h"
#include "pg_stale.h"

#define RENEW_FIRST_MS 20
#define RENEW_MOST_MS  1280

/* Those that do nothing at once, the others when they have answered. */
static void renew_all(struct pg_pool *pool) {
    for (unsigned i = 0; i < pool->size; i++) {
        struct pg_conn *conn = &pool->conns[i];

        conn->is_stale = conn->state != PG_CONN_DOWN;
        if (conn->state == PG_CONN_CONNECTING || (conn->state == PG_CONN_IDLE && !conn->is_held))
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

static void renew_unless_new(struct pg_pool *pool, const char *why) {
    const int64_t now_ms = clock_now_ms();

    if (now_ms < pool->renew_at_ms)
        return;
    if (pool->renew_pause_ms == 0)
        pool->renew_pause_ms = RENEW_FIRST_MS;
    else if (pool->renew_pause_ms < RENEW_MOST_MS)
        pool->renew_pause_ms *= 2;
    pool->renew_at_ms = now_ms + pool->renew_pause_ms;
    tell(pool, why, now_ms);
    renew_all(pool);
}

void pg_renew_note_success(struct pg_pool *pool) {
    pool->renew_at_ms = pool->renew_pause_ms = 0;
}

bool pg_renew_resends(struct pg_conn *conn, struct pg_query *query) {
    if (pg_stale(conn->result) == PG_STALE_NOT || conn->pool->is_closing ||
        query->internal.is_again)
        return false;
    if (!conn->is_stale)
        renew_unless_new(conn->pool, pg_run_error_text(conn->result));
    if (!conn->is_stale || conn->is_held || query->deadline_ms <= clock_now_ms())
        return false;
    query->internal.is_again = true;
    pg_pool_enqueue(conn->pool, query, true);
    return true;
}
