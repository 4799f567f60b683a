/* Brings one Postgres connection of the pool up and down, and up again after a pause. */
#include "pg_internal.h"

#include "backoff.h"
#include "clock.h"

#include <assert.h>
#include <string.h>

#define PAUSE_FIRST_MS                 50
#define PAUSE_MOST_MS                  2000

#define VERSION_OF_TRANSACTION_TIMEOUT 170000

bool pg_conn_is_open(const struct pg_conn *conn) {
    return conn->state >= PG_CONN_IDLE;
}

bool pg_pool_is_up(const struct pg_pool *pool) {
    for (unsigned i = 0; i < pool->size; i++)
        if (pg_conn_is_open(&pool->conns[i]))
            return true;
    return false;
}

/* With its session goes what belonged to it. */
static void become_down(struct pg_conn *conn, int64_t due_ms) {
    conn->state = PG_CONN_DOWN;
    conn->link = NULL;
    conn->prepared_count = 0;
    conn->slot_count = 0;
    conn->is_cancelled = conn->is_stalled = conn->is_stale = false;
    conn->due_ms = due_ms;
    pg_pool_arm(conn->pool, due_ms);
}

/* Its link ends; open another one after a pause, unless it is held or the pool closes. */
static void end_session(struct pg_conn *conn, const char *why) {
    struct pg_pool *pool = conn->pool;
    char reason[sizeof(pool->error)];
    int64_t due_ms = PG_NEVER;

    assert(conn->state != PG_CONN_DOWN);
    pg_first_line(reason, sizeof(reason), why); /* `why` may be the PGconn's */
    if (conn->state == PG_CONN_RUNNING)
        pg_link_cancel(conn->link, true);
    if (conn->state == PG_CONN_PIPELINING)
        pg_pipeline_abandon(conn, reason);
    else
        pg_run_abandon(conn, reason);
    if (!conn->is_held && !pool->is_closing)
        due_ms =
            clock_now_ms() + (int64_t)backoff_ms(conn->failures++, PAUSE_FIRST_MS, PAUSE_MOST_MS);
    become_down(conn, due_ms);
    memcpy(pool->error, reason, sizeof(reason));
    pg_pool_tell_down(pool);
}

static void on_end(void *conn, enum pg_link_end end, const char *why) {
    (void)end;
    end_session(conn, why);
}

void pg_conn_fail(struct pg_conn *conn, const char *why) {
    struct pg_link *link = conn->link;

    end_session(conn, why);
    pg_link_close(link);
}

void pg_conn_renew(struct pg_conn *conn) {
    assert(conn->query == NULL && conn->slot_count == 0 && !conn->is_held);
    pg_link_close(conn->link);
    become_down(conn, 0);
}

/* An older server refuses a session with an option that it does not know. */
void pg_conn_set_up(struct pg_link *link, const PGresult *result) {
    const struct pg_pool *pool = link->links->data;

    if (result != NULL && pg_is_error(result))
        pg_link_refuse(link, pg_error_text(result));
    else if (result == NULL && !pool->is_pooled &&
             PQserverVersion(link->pg) >= VERSION_OF_TRANSACTION_TIMEOUT)
        pg_link_run(link, "SET transaction_timeout = 0", 0, NULL);
    else
        pg_link_settled(link);
}

static void on_open(void *data) {
    struct pg_conn *conn = data;

    if (conn->slots != NULL && PQenterPipelineMode(conn->link->pg) == 0) {
        pg_conn_fail(conn, "cannot enter pipeline mode");
        return;
    }
    conn->state = PG_CONN_IDLE;
    conn->failures = 0;
    if (conn->was_open)
        conn->pool->stats.reconnects++;
    conn->was_open = true;
    pg_pool_tell_up(conn->pool);
}

static void on_result(void *data, PGresult *result) {
    struct pg_conn *conn = data;

    if (conn->state == PG_CONN_PIPELINING)
        pg_pipeline_finish(conn, result);
    else
        pg_run_finish(conn, result);
}

/* Failing is noted, and tried again later. */
static void open_link(struct pg_conn *conn) {
    static const struct pg_link_events events = {
        .on_open = on_open, .on_result = on_result, .on_end = on_end};

    assert(conn->link == NULL && !conn->is_held);
    conn->state = PG_CONN_OPENING;
    conn->due_ms = PG_NEVER;
    conn->link = pg_link_open(&conn->pool->links, &events, conn);
    if (conn->link == NULL)
        end_session(conn, "out of memory");
}

/* A loop that was busy, or stopped, looks at its clock before its sockets: the answer may have come
 * in time. */
static void fail_unless_answered(struct pg_conn *conn, const char *why) {
    enum pg_conn_state state = conn->state;

    pg_link_read(conn->link);
    if (conn->state == state)
        pg_conn_fail(conn, why);
}

void pg_conn_expire(struct pg_conn *conn) {
    switch (conn->state) {
    case PG_CONN_DOWN:
        open_link(conn);
        return;
    case PG_CONN_OPENING:
    case PG_CONN_IDLE:
        return;
    case PG_CONN_PREPARING:
        fail_unless_answered(conn, "the statement was not prepared by the deadline");
        return;
    case PG_CONN_RUNNING:
    case PG_CONN_ROLLING_BACK:
        fail_unless_answered(conn, "no answer by the deadline");
        return;
    case PG_CONN_PIPELINING:
        pg_pipeline_expire(conn);
        return;
    }
}
