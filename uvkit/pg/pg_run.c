/* Runs one query on one Postgres connection, and says what became of it.
 *
 * Prepare the statement if this connection does not know it yet (nothing of the query is sent
 * then; and that is all when it is but a preparation), send the query, and take its result. */
#include "pg_internal.h"

#include "clock.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define SQLSTATE_NO_SUCH_STATEMENT "26000"

bool pg_run_is_prepared(const struct pg_conn *conn, const struct pg_statement *statement) {
    for (unsigned i = 0; i < conn->prepared_count; i++)
        if (conn->prepared[i] == statement)
            return true;
    return false;
}

void pg_run_learn(struct pg_conn *conn, const struct pg_statement *statement) {
    assert(conn->prepared_count < PG_STATEMENTS_MAX);
    conn->prepared[conn->prepared_count++] = statement;
}

void pg_run_forget(struct pg_conn *conn, const struct pg_statement *statement) {
    for (unsigned i = 0; i < conn->prepared_count; i++)
        if (conn->prepared[i] == statement) {
            conn->prepared[i] = conn->prepared[--conn->prepared_count];
            return;
        }
}

static void send_query(struct pg_conn *conn) {
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
        pg_link_sent(conn->link, PQsendQueryPrepared(pg, statement->name, statement->params,
                                                     query->params, NULL, NULL, 0));
}

static void send_prepare(struct pg_conn *conn) {
    const struct pg_statement *statement = conn->query->statement;

    pg_link_sent(conn->link,
                 PQsendPrepare(conn->link->pg, statement->name, statement->sql, 0, NULL));
}

void pg_run_start(struct pg_conn *conn, struct pg_query *query) {
    bool must_prepare = query->statement != NULL && !pg_run_is_prepared(conn, query->statement);

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
        send_prepare(conn);
    else
        send_query(conn);
}

static void send_rollback(struct pg_conn *conn) {
    conn->state = PG_CONN_ROLLING_BACK;
    conn->due_ms = clock_now_ms() + conn->pool->links.timeout_ms;
    pg_pool_arm(conn->pool, conn->due_ms);
    pg_link_run(conn->link, "ROLLBACK", 0, NULL);
}

void pg_run_settle(struct pg_conn *conn) {
    PGTransactionStatusType status = PQtransactionStatus(conn->link->pg);

    conn->state = PG_CONN_IDLE;
    conn->query = NULL;
    conn->due_ms = PG_NEVER;
    if (conn->is_stale && !conn->is_held)
        pg_conn_renew(conn);
    else if (conn->is_held || status == PQTRANS_IDLE)
        return;
    else if (status == PQTRANS_INTRANS || status == PQTRANS_INERROR)
        send_rollback(conn);
    else
        pg_conn_fail(conn, "the connection is in a state that cannot be rolled back");
}

static void end_rejected(struct pg_conn *conn, struct pg_query *query, const PGresult *result) {
    const char *sqlstate = PQresultErrorField(result, PG_DIAG_SQLSTATE);

    (void)strncpy(query->sqlstate, sqlstate, sizeof(query->sqlstate) - 1);
    pg_pool_end(conn->pool, query, PG_REJECTED, pg_error_text(result));
}

static void end_ok(struct pg_conn *conn, struct pg_query *query, PGresult *result) {
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

void pg_run_end_refused(struct pg_conn *conn, struct pg_query *query, const PGresult *result) {
    conn->pool->stats.queries++;
    if (!pg_renew_resends(conn, query, result))
        end_rejected(conn, query, result);
}

void pg_run_end(struct pg_conn *conn, struct pg_query *query, PGresult *result) {
    if (pg_is_error(result)) {
        pg_run_end_refused(conn, query, result);
        PQclear(result);
    } else {
        end_ok(conn, query, result);
    }
}

bool pg_run_is_lost(const PGresult *result, const struct pg_statement *statement) {
    return statement != NULL && pg_has_state(result, SQLSTATE_NO_SUCH_STATEMENT);
}

static void prepared(struct pg_conn *conn) {
    struct pg_query *query = conn->query;

    pg_run_learn(conn, query->statement);
    if (!query->internal.is_preparation && query->deadline_ms > clock_now_ms()) {
        send_query(conn);
        return;
    }
    if (query->internal.is_preparation)
        pg_pool_end(conn->pool, query, PG_OK, NULL);
    else
        pg_pool_end(conn->pool, query, PG_NOT_SENT, "prepared too late to be sent");
    pg_run_settle(conn);
}

void pg_run_finish(struct pg_conn *conn, PGresult *result) {
    struct pg_query *query = conn->query;
    bool is_failed = pg_is_error(result);

    assert((query == NULL) == (conn->state == PG_CONN_ROLLING_BACK));
    if (query != NULL && (is_failed || conn->state == PG_CONN_RUNNING)) {
        if (pg_run_is_lost(result, query->statement))
            pg_run_forget(conn, query->statement);
        pg_run_end(conn, query, result);
        pg_run_settle(conn);
        return;
    }
    if (query != NULL)
        prepared(conn);
    else if (is_failed)
        pg_conn_fail(conn, pg_error_text(result));
    else
        pg_run_settle(conn);
    PQclear(result);
}

static void abandon_unsent(struct pg_conn *conn, struct pg_query *query, const char *why) {
    if (conn->is_held || conn->pool->is_closing || query->deadline_ms <= clock_now_ms())
        pg_pool_end(conn->pool, query, PG_NOT_SENT, why);
    else
        pg_pool_enqueue(conn->pool, query, true);
}

void pg_run_abandon(struct pg_conn *conn, const char *why) {
    struct pg_query *query = conn->query;

    conn->query = NULL;
    if (query == NULL)
        return;
    if (conn->state == PG_CONN_PREPARING)
        abandon_unsent(conn, query, why);
    else if (pg_is_refused(conn->link->result))
        end_rejected(conn, query, conn->link->result);
    else
        pg_pool_end(conn->pool, query, PG_UNKNOWN, why);
}
