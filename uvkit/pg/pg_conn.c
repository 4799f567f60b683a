/* One connection of the Postgres pool: opens and closes it, runs queries on it, and reports the
 * outcome of each.
 *
 * One query at a time: prepare its statement if the session does not know it yet (nothing of the
 * query is sent then), send the query, and take its result.
 *
 * In pipeline mode a statement that the session does not know is parsed before the Sync of its
 * query. Queries behind it rely on it, and are refused (26000) if it fails. A cancel request
 * strikes the query that the server runs when it arrives. So it is made only for the first
 * unanswered query, and then nothing more is sent: then it is known which queries it may strike
 * late.
 *
 * A query that was refused because its session is lost is sent once more, to a session that was
 * opened after it came. A renewal costs the whole pool, and a statement that is always refused asks
 * for it again and again. So after a renewal that did not help, the next one waits, each time twice
 * as long. Each kind of error has its own pause. A database that was read only refuses all sales
 * until its sessions are new, so its pause stays short. */
#include "pg_internal.h"

#include "backoff.h"
#include "clock.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define PAUSE_FIRST_MS             50
#define PAUSE_MOST_MS              2000

#define SQLSTATE_NO_SUCH_STATEMENT "26000"
#define SQLSTATE_CANCELLED         "57014"

static bool conn_is_open(const struct pg_conn *conn) {
    return conn->state >= PG_CONN_IDLE;
}

bool pg_pool_is_up(const struct pg_pool *pool) {
    for (unsigned i = 0; i < pool->size; i++)
        if (conn_is_open(&pool->conns[i]))
            return true;
    return false;
}

/* ---- The statements that the session has prepared */

static bool conn_knows(const struct pg_conn *conn, const struct pg_statement *statement) {
    for (unsigned i = 0; i < conn->prepared_count; i++)
        if (conn->prepared[i] == statement)
            return true;
    return false;
}

static void conn_learns(struct pg_conn *conn, const struct pg_statement *statement) {
    assert(conn->prepared_count < PG_STATEMENTS_MAX);
    conn->prepared[conn->prepared_count++] = statement;
}

static void conn_forgets(struct pg_conn *conn, const struct pg_statement *statement) {
    for (unsigned i = 0; i < conn->prepared_count; i++)
        if (conn->prepared[i] == statement) {
            conn->prepared[i] = conn->prepared[--conn->prepared_count];
            return;
        }
}

static bool is_statement_lost(const PGresult *result, const struct pg_statement *statement) {
    return statement != NULL && pg_has_state(result, SQLSTATE_NO_SUCH_STATEMENT);
}

/* ---- New sessions */

/* Its prepared statements and slots go with its session. */
static void conn_become_down(struct pg_conn *conn, int64_t due_ms) {
    conn->state = PG_CONN_DOWN;
    conn->link = NULL;
    conn->prepared_count = 0;
    conn->slot_count = 0;
    conn->is_cancelled = conn->is_stalled = conn->is_stale = false;
    conn->due_ms = due_ms;
    pg_pool_arm(conn->pool, due_ms);
}

static void conn_renew(struct pg_conn *conn) {
    assert(conn->query == NULL && conn->slot_count == 0 && !conn->is_held);
    pg_link_close(conn->link);
    conn_become_down(conn, 0);
}

/* Renew idle sessions at once, and the others when they have answered. */
static void renew_sessions(struct pg_pool *pool) {
    for (unsigned i = 0; i < pool->size; i++) {
        struct pg_conn *conn = &pool->conns[i];

        conn->is_stale = conn->state != PG_CONN_DOWN;
        if (conn->state == PG_CONN_OPENING || (conn->state == PG_CONN_IDLE && !conn->is_held))
            conn_renew(conn);
    }
}

static void tell_renewal(struct pg_pool *pool, const char *why, int64_t now_ms) {
    char line[PG_MESSAGE_BYTES], quoted[2 * PG_MESSAGE_BYTES];
    unsigned left_out;

    pg_first_line(line, sizeof line, why);
    if (log_limit_pass(&pool->renewals, now_ms, &left_out))
        log_warn("postgres sessions are opened anew", "pool=%s left_out=%u why=%s", pool->name,
                 left_out, log_quote(quoted, sizeof quoted, line));
}

static bool query_is_resent(struct pg_conn *conn, struct pg_query *query, const PGresult *result) {
    struct pg_pool *pool = conn->pool;
    const enum pg_stale kind = pg_stale(result);
    const int64_t now_ms = clock_now_ms();

    if (kind == PG_STALE_NOT || pool->is_closing || query->internal.again != NULL)
        return false;
    if (!conn->is_stale && pg_stale_is_due(&pool->pauses[kind], kind, now_ms)) {
        tell_renewal(pool, pg_error_text(result), now_ms);
        renew_sessions(pool);
    }
    if (!conn->is_stale || conn->is_held || query->deadline_ms <= now_ms)
        return false;
    query->internal.again = &pool->pauses[kind];
    pg_pool_enqueue(pool, query, true);
    return true;
}

/* ---- The end of a query */

static void query_reject(struct pg_conn *conn, struct pg_query *query, const PGresult *result) {
    const char *sqlstate = PQresultErrorField(result, PG_DIAG_SQLSTATE);

    (void)strncpy(query->sqlstate, sqlstate, sizeof(query->sqlstate) - 1);
    pg_pool_end(conn->pool, query, PG_REJECTED, pg_error_text(result));
}

static void query_succeed(struct pg_conn *conn, struct pg_query *query, PGresult *result) {
    conn->pool->stats.queries++;
    query->result = result;
    if (query->internal.again != NULL)
        *query->internal.again = (struct pg_pause){0}; /* the new session has helped */
    if (PQresultStatus(result) == PGRES_TUPLES_OK)
        query->affected = PQntuples(result);
    else
        query->affected = strtoll(PQcmdTuples(result), NULL, 10);
    pg_pool_end(conn->pool, query, PG_OK, NULL);
}

static void query_refuse(struct pg_conn *conn, struct pg_query *query, const PGresult *result) {
    conn->pool->stats.queries++;
    if (!query_is_resent(conn, query, result))
        query_reject(conn, query, result);
}

static void query_end(struct pg_conn *conn, struct pg_query *query, PGresult *result) {
    if (pg_is_error(result)) {
        query_refuse(conn, query, result);
        PQclear(result);
    } else {
        query_succeed(conn, query, result);
    }
}

/* ---- The end of a session */

static struct pg_slot *slot_at(const struct pg_conn *conn, unsigned i) {
    return &conn->slots[(conn->slot_first + i) % conn->pool->in_flight];
}

static void query_abandon(struct pg_conn *conn, const char *why) {
    struct pg_query *query = conn->query;

    conn->query = NULL;
    if (query == NULL)
        return;
    if (conn->state == PG_CONN_PREPARING && !conn->is_held && !conn->pool->is_closing &&
        query->deadline_ms > clock_now_ms())
        pg_pool_enqueue(conn->pool, query, true);
    else if (conn->state == PG_CONN_PREPARING)
        pg_pool_end(conn->pool, query, PG_NOT_SENT, why);
    else if (pg_is_refused(conn->link->result))
        query_reject(conn, query, conn->link->result);
    else
        pg_pool_end(conn->pool, query, PG_UNKNOWN, why);
}

static void slots_abandon(struct pg_conn *conn, const char *why) {
    const PGresult *result = conn->link->result;

    for (unsigned i = 0; i < conn->slot_count; i++) {
        struct pg_query *query = slot_at(conn, i)->query;

        if (query != NULL && i == 0 && pg_is_refused(result))
            query_refuse(conn, query, result);
        else if (query != NULL)
            pg_pool_end(conn->pool, query, PG_UNKNOWN, why);
    }
    conn->slot_count = 0;
}

/* Log it once when no connection is open any more. */
static void pool_tell_down(struct pg_pool *pool) {
    char quoted[2 * sizeof(pool->error)];

    if (pool->is_told_down || pool->is_closing || pg_pool_is_up(pool))
        return;
    pool->is_told_down = true;
    log_warn("postgres is down", "pool=%s error=%s", pool->name,
             log_quote(quoted, sizeof(quoted), pool->error));
}

/* Its link has ended. Open another one after a pause, unless it is held or the pool closes. */
static void conn_end_session(struct pg_conn *conn, const char *why) {
    struct pg_pool *pool = conn->pool;
    int64_t due_ms = PG_NEVER;

    assert(conn->state != PG_CONN_DOWN);
    pg_first_line(pool->error, sizeof(pool->error), why); /* `why` may belong to the PGconn */
    if (conn->state == PG_CONN_RUNNING)
        pg_link_cancel(conn->link, true);
    if (conn->state == PG_CONN_PIPELINING)
        slots_abandon(conn, pool->error);
    else
        query_abandon(conn, pool->error);
    if (!conn->is_held && !pool->is_closing)
        due_ms =
            clock_now_ms() + (int64_t)backoff_ms(conn->failures++, PAUSE_FIRST_MS, PAUSE_MOST_MS);
    conn_become_down(conn, due_ms);
    pool_tell_down(pool);
}

static void on_conn_end(void *conn, enum pg_link_end end, const char *why) {
    (void)end;
    conn_end_session(conn, why);
}

void pg_conn_fail(struct pg_conn *conn, const char *why) {
    struct pg_link *link = conn->link;

    conn_end_session(conn, why);
    pg_link_close(link);
}

/* ---- One query at a time */

static int conn_send_prepared(PGconn *pg, const struct pg_query *query) {
    const struct pg_statement *statement = query->statement;
    int formats[PG_PARAMS_MAX];

    for (int i = 0; i < statement->params; i++)
        formats[i] = query->lengths[i] > 0;
    return PQsendQueryPrepared(pg, statement->name, statement->params, query->params,
                               query->lengths, formats, 0);
}

static void conn_send_query(struct pg_conn *conn) {
    struct pg_query *query = conn->query;
    const struct pg_statement *statement = query->statement;
    PGconn *pg = conn->link->pg;

    assert(conn->state == PG_CONN_PREPARING && !query->internal.is_preparation);
    if (PQstatus(pg) != CONNECTION_OK) {
        pg_conn_fail(conn, PQerrorMessage(pg));
        return;
    }
    conn->state = PG_CONN_RUNNING;
    if (statement == NULL)
        pg_link_run(conn->link, query->sql, 0, NULL);
    else
        pg_link_sent(conn->link, conn_send_prepared(pg, query));
}

static void conn_start(struct pg_conn *conn, struct pg_query *query) {
    const struct pg_statement *statement = query->statement;
    bool must_prepare = statement != NULL && !conn_knows(conn, statement);

    assert(conn->state == PG_CONN_IDLE && conn->query == NULL);
    if (query->internal.is_preparation && !must_prepare) {
        pg_pool_end(conn->pool, query, PG_OK, NULL);
        return;
    }
    conn->state = PG_CONN_PREPARING;
    conn->query = query;
    conn->due_ms = query->deadline_ms;
    pg_pool_arm(conn->pool, conn->due_ms);
    if (must_prepare)
        pg_link_sent(conn->link,
                     PQsendPrepare(conn->link->pg, statement->name, statement->sql, 0, NULL));
    else
        conn_send_query(conn);
}

static void conn_roll_back(struct pg_conn *conn) {
    conn->state = PG_CONN_ROLLING_BACK;
    conn->due_ms = clock_now_ms() + conn->pool->links.timeout_ms;
    pg_pool_arm(conn->pool, conn->due_ms);
    pg_link_run(conn->link, "ROLLBACK", 0, NULL);
}

void pg_conn_settle(struct pg_conn *conn) {
    PGTransactionStatusType status = PQtransactionStatus(conn->link->pg);

    conn->state = PG_CONN_IDLE;
    conn->query = NULL;
    conn->due_ms = PG_NEVER;
    if (conn->is_stale && !conn->is_held)
        conn_renew(conn);
    else if (conn->is_held || status == PQTRANS_IDLE)
        return;
    else if (status == PQTRANS_INTRANS || status == PQTRANS_INERROR)
        conn_roll_back(conn);
    else
        pg_conn_fail(conn, "the connection is in a state that cannot be rolled back");
}

static void conn_prepared(struct pg_conn *conn) {
    struct pg_query *query = conn->query;

    conn_learns(conn, query->statement);
    if (!query->internal.is_preparation && query->deadline_ms > clock_now_ms()) {
        conn_send_query(conn);
        return;
    }
    if (query->internal.is_preparation)
        pg_pool_end(conn->pool, query, PG_OK, NULL);
    else
        pg_pool_end(conn->pool, query, PG_NOT_SENT, "prepared too late to be sent");
    pg_conn_settle(conn);
}

static void conn_finish(struct pg_conn *conn, PGresult *result) {
    struct pg_query *query = conn->query;
    bool is_failed = pg_is_error(result);

    assert((query == NULL) == (conn->state == PG_CONN_ROLLING_BACK));
    if (query != NULL && (is_failed || conn->state == PG_CONN_RUNNING)) {
        if (is_statement_lost(result, query->statement))
            conn_forgets(conn, query->statement);
        query_end(conn, query, result);
        pg_conn_settle(conn);
        return;
    }
    if (query != NULL)
        conn_prepared(conn);
    else if (is_failed)
        pg_conn_fail(conn, pg_error_text(result));
    else
        pg_conn_settle(conn);
    PQclear(result);
}

/* ---- Pipeline mode */

/* True: it gets nothing for now, because it is down, or its first query is slow. */
static bool slots_are_stalled(const struct pg_conn *conn) {
    return !conn_is_open(conn) || conn->is_cancelled || conn->is_stalled || conn->is_stale;
}

static bool slots_have_room(const struct pg_conn *conn) {
    return conn->slot_count < conn->pool->in_flight && !slots_are_stalled(conn) &&
           conn->link->watch != NULL; /* without a watch it fails in the next turn */
}

/* The connection in pipeline mode with the fewest in flight, and room for more; or NULL. */
static struct pg_conn *find_pipeline(struct pg_pool *pool) {
    struct pg_conn *found = NULL;

    for (unsigned i = 0; i < pool->pipelines; i++) {
        struct pg_conn *conn = &pool->conns[i];

        if (slots_have_room(conn) && (found == NULL || conn->slot_count < found->slot_count))
            found = conn;
    }
    return found;
}

/* In that case a query would have to stand behind a slow one. */
static bool are_pipelines_stalled(const struct pg_pool *pool) {
    for (unsigned i = 0; i < pool->pipelines; i++)
        if (!slots_are_stalled(&pool->conns[i]))
            return false;
    return true;
}

static struct pg_conn *find_idle_conn(struct pg_pool *pool) {
    for (unsigned i = pool->pipelines; i < pool->size; i++)
        if (pool->conns[i].state == PG_CONN_IDLE && !pool->conns[i].is_held)
            return &pool->conns[i];
    return NULL;
}

struct pg_conn *pg_conn_find(struct pg_pool *pool, bool is_pipelined) {
    struct pg_conn *found = is_pipelined ? find_pipeline(pool) : NULL;

    return found == NULL && (!is_pipelined || are_pipelines_stalled(pool)) ? find_idle_conn(pool)
                                                                           : found;
}

static void conn_make_due(struct pg_conn *conn, int64_t due_ms) {
    if (due_ms < conn->due_ms)
        conn->due_ms = due_ms;
    pg_pool_arm(conn->pool, conn->due_ms);
}

/* When to give up the connection, unless its first query is answered. */
static int64_t slots_give_up_ms(const struct pg_conn *conn) {
    int64_t deadline_ms = slot_at(conn, 0)->deadline_ms;

    return (deadline_ms > conn->head_ms ? deadline_ms : conn->head_ms) + conn->pool->answer_ms;
}

/* Start the clock of the query that is now the first. */
static void slots_begin_first(struct pg_conn *conn) {
    conn->head_ms = clock_now_ms();
    conn->is_stalled = false;
    conn_make_due(conn, conn->head_ms + conn->pool->stall_ms);
    conn_make_due(conn, slot_at(conn, 0)->deadline_ms);
}

/* False: libpq did not take it. Without its Sync it has no effect. */
static bool slot_hand_over(PGconn *pg, const struct pg_query *query, bool is_parsed) {
    const struct pg_statement *statement = query->statement;

    if (statement == NULL)
        return PQsendQueryParams(pg, query->sql, 0, NULL, NULL, NULL, NULL, 0) != 0;
    return (!is_parsed || PQsendPrepare(pg, statement->name, statement->sql, 0, NULL) != 0) &&
           conn_send_prepared(pg, query) != 0;
}

static int send_sync(PGconn *pg) {
#ifdef LIBPQ_HAS_SEND_PIPELINE_SYNC
    return PQsendPipelineSync(pg);
#else
    return PQpipelineSync(pg); /* flushes */
#endif
}

static void slots_send(struct pg_conn *conn, struct pg_query *query) {
    const struct pg_statement *statement = query->statement;
    bool is_parsed = statement != NULL && !conn_knows(conn, statement);
    struct pg_slot *slot = slot_at(conn, conn->slot_count);
    PGconn *pg = conn->link->pg;

    assert(slots_have_room(conn) && (conn->state == PG_CONN_PIPELINING) == (conn->slot_count > 0));
    if (PQstatus(pg) != CONNECTION_OK || !slot_hand_over(pg, query, is_parsed)) {
        pg_pool_enqueue(conn->pool, query, true);
        pg_conn_fail(conn, PQerrorMessage(pg));
        return;
    }
    *slot = (struct pg_slot){.query = query,
                             .statement = statement,
                             .deadline_ms = query->deadline_ms,
                             .is_parsed = is_parsed};
    conn->state = PG_CONN_PIPELINING;
    if (is_parsed)
        conn_learns(conn, statement);
    conn_make_due(conn, query->deadline_ms);
    if (conn->slot_count++ == 0)
        slots_begin_first(conn);
    pg_link_sent(conn->link, send_sync(pg));
}

/* Will an unanswered query parse it again? */
static bool is_slot_parsing(const struct pg_conn *conn, const struct pg_statement *statement) {
    for (unsigned i = 0; i < conn->slot_count; i++)
        if (slot_at(conn, i)->statement == statement && slot_at(conn, i)->is_parsed)
            return true;
    return false;
}

static void slot_forget_statement(struct pg_conn *conn, const struct pg_slot *slot,
                                  const PGresult *result) {
    bool is_lost = slot->is_parsed ? pg_is_error(result) && conn->link->nth == 0
                                   : is_statement_lost(result, slot->statement);

    if (is_lost && !is_slot_parsing(conn, slot->statement))
        conn_forgets(conn, slot->statement);
}

/* Did the cancel request of another query strike it? */
static bool slot_is_struck(const struct pg_conn *conn, const struct pg_slot *slot,
                           const PGresult *result) {
    return conn->is_cancelled && !slot->is_cancelled && slot->deadline_ms > clock_now_ms() &&
           pg_has_state(result, SQLSTATE_CANCELLED);
}

static void slot_end(struct pg_conn *conn, const struct pg_slot *slot, PGresult *result) {
    if (slot->query != NULL && !slot_is_struck(conn, slot, result)) {
        query_end(conn, slot->query, result);
        return;
    }
    if (slot->query != NULL)
        pg_pool_enqueue(conn->pool, slot->query, true);
    PQclear(result);
}

/* After a cancel request, which may still be under way, the connection serves no later query. */
static void slots_finish_first(struct pg_conn *conn, PGresult *result) {
    const struct pg_slot slot = *slot_at(conn, 0);

    assert(conn->slot_count > 0);
    conn->slot_first = (conn->slot_first + 1) % conn->pool->in_flight;
    conn->slot_count--;
    conn->is_stalled = false;
    slot_forget_statement(conn, &slot, result);
    slot_end(conn, &slot, result);
    if (conn->slot_count == 0 && conn->is_cancelled)
        pg_conn_fail(conn, "a query was cancelled");
    else if (conn->slot_count == 0)
        pg_conn_settle(conn);
    else
        slots_begin_first(conn);
}

/* Give up the queries that have waited too long for their answer. */
static void slots_give_up_late(struct pg_conn *conn, int64_t now_ms) {
    for (unsigned i = 0; i < conn->slot_count; i++) {
        struct pg_slot *slot = slot_at(conn, i);

        if (slot->query == NULL)
            continue;
        if (slot->deadline_ms + conn->pool->answer_ms > now_ms) {
            conn_make_due(conn, slot->deadline_ms + conn->pool->answer_ms);
            continue;
        }
        pg_pool_end(conn->pool, slot->query, PG_UNKNOWN, "no answer by the deadline");
        slot->query = NULL;
    }
}

static void slots_watch_first(struct pg_conn *conn, int64_t now_ms) {
    struct pg_slot *first = slot_at(conn, 0);

    if (first->deadline_ms <= now_ms && !first->is_cancelled) {
        first->is_cancelled = conn->is_cancelled = true;
        pg_link_cancel(conn->link, false);
    }
    conn_make_due(conn, first->is_cancelled ? slots_give_up_ms(conn) : first->deadline_ms);
    conn->is_stalled = conn->head_ms + conn->pool->stall_ms <= now_ms;
    if (!conn->is_stalled)
        conn_make_due(conn, conn->head_ms + conn->pool->stall_ms);
}

static void slots_expire(struct pg_conn *conn) {
    int64_t now_ms = clock_now_ms();

    pg_link_read(conn->link); /* see conn_fail_unless_answered() */
    if (conn->state != PG_CONN_PIPELINING)
        return;
    conn->due_ms = PG_NEVER;
    if (slots_give_up_ms(conn) <= now_ms) {
        pg_conn_fail(conn, "no answer by the deadline");
        return;
    }
    slots_give_up_late(conn, now_ms);
    slots_watch_first(conn, now_ms);
}

void pg_conn_run(struct pg_conn *conn, struct pg_query *query) {
    if (conn->slots != NULL)
        slots_send(conn, query);
    else
        conn_start(conn, query);
}

/* ---- Opening, and moments that are due */

static void on_conn_open(void *data) {
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
    if (conn->pool->is_told_down)
        log_info("postgres is up", "pool=%s", conn->pool->name);
    conn->pool->is_told_down = false;
}

static void on_conn_result(void *data, PGresult *result) {
    struct pg_conn *conn = data;

    if (conn->state == PG_CONN_PIPELINING)
        slots_finish_first(conn, result);
    else
        conn_finish(conn, result);
}

/* A failure is noted, and tried again later. */
static void conn_open(struct pg_conn *conn) {
    static const struct pg_link_events events = {
        .on_open = on_conn_open, .on_result = on_conn_result, .on_end = on_conn_end};

    assert(conn->link == NULL && !conn->is_held);
    conn->state = PG_CONN_OPENING;
    conn->due_ms = PG_NEVER;
    conn->link = pg_link_open(&conn->pool->links, &events, conn);
    if (conn->link == NULL)
        conn_end_session(conn, "out of memory");
}

/* A loop that was busy or stopped looks at its clock before its sockets. The answer may have come
 * in time. */
static void conn_fail_unless_answered(struct pg_conn *conn, const char *why) {
    enum pg_conn_state state = conn->state;

    pg_link_read(conn->link);
    if (conn->state == state)
        pg_conn_fail(conn, why);
}

void pg_conn_expire(struct pg_conn *conn) {
    switch (conn->state) {
    case PG_CONN_DOWN:
        conn_open(conn);
        return;
    case PG_CONN_OPENING:
    case PG_CONN_IDLE:
        return;
    case PG_CONN_PREPARING:
        conn_fail_unless_answered(conn, "the statement was not prepared by the deadline");
        return;
    case PG_CONN_RUNNING:
    case PG_CONN_ROLLING_BACK:
        conn_fail_unless_answered(conn, "no answer by the deadline");
        return;
    case PG_CONN_PIPELINING:
        slots_expire(conn);
        return;
    }
}
