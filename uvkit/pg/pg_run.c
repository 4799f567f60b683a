/* Runs one query on one Postgres connection, and says what became of it.
 *
 * Prepare the statement if this connection does not know it yet (nothing of the query is sent
 * then; and that is all when it is but a preparation), send the query, collect results until libpq
 * has no more, and take the first error or else the last result. Only then is the outcome known:
 * with the extended protocol the server commits after it has reported the command complete, and
 * that may still fail. */
#include "pg_internal.h"

#include "clock.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define SQLSTATE_NO_SUCH_STATEMENT  "26000"
#define SQLSTATE_COMPLETION_UNKNOWN "40003"
#define SQLSTATE_CONNECTION_CLASS   "08"

enum progress { INCOMPLETE, COMPLETE, BROKEN };

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

    assert(conn->state == PG_CONN_PREPARING && !query->internal.is_preparation);
    if (PQstatus(conn->pg) != CONNECTION_OK) {
        pg_conn_fail(conn, PQerrorMessage(conn->pg));
        return;
    }
    conn->state = PG_CONN_RUNNING;
    if (statement == NULL)
        pg_conn_flush(conn, PQsendQuery(conn->pg, query->sql));
    else
        pg_conn_flush(conn, PQsendQueryPrepared(conn->pg, statement->name, statement->params,
                                                query->params, NULL, NULL, 0));
}

static void send_prepare(struct pg_conn *conn) {
    const struct pg_statement *statement = conn->query->statement;

    pg_conn_flush(conn, PQsendPrepare(conn->pg, statement->name, statement->sql, 0, NULL));
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
    conn->due_ms = clock_now_ms() + (int64_t)conn->pool->connect_timeout_ms;
    pg_pool_arm(conn->pool, conn->due_ms);
    pg_conn_flush(conn, PQsendQuery(conn->pg, "ROLLBACK"));
}

void pg_run_settle(struct pg_conn *conn) {
    PGTransactionStatusType status = PQtransactionStatus(conn->pg);

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

static bool is_error(const PGresult *result) {
    ExecStatusType status = PQresultStatus(result);

    return status == PGRES_FATAL_ERROR || status == PGRES_BAD_RESPONSE;
}

/* Did the server say that the statement is rolled back? An ERROR does. A FATAL does not: it may
 * come between the commit and its confirmation. Nor do the codes that say so themselves. */
static bool is_rolled_back(const PGresult *result) {
    const char *severity = PQresultErrorField(result, PG_DIAG_SEVERITY_NONLOCALIZED);
    const char *sqlstate = PQresultErrorField(result, PG_DIAG_SQLSTATE);

    return severity != NULL && strcmp(severity, "ERROR") == 0 && sqlstate != NULL &&
           strcmp(sqlstate, SQLSTATE_COMPLETION_UNKNOWN) != 0 &&
           strncmp(sqlstate, SQLSTATE_CONNECTION_CLASS, 2) != 0;
}

bool pg_run_is_doubtful(const PGresult *result) {
    return is_error(result) && !is_rolled_back(result);
}

bool pg_run_is_refused(const PGresult *result) {
    return result != NULL && is_error(result) && is_rolled_back(result);
}

const char *pg_run_error_text(const PGresult *result) {
    const char *text = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);

    return text != NULL ? text : PQresultErrorMessage(result);
}

static void end_rejected(struct pg_conn *conn, struct pg_query *query) {
    const char *sqlstate = PQresultErrorField(conn->result, PG_DIAG_SQLSTATE);

    (void)strncpy(query->sqlstate, sqlstate, sizeof(query->sqlstate) - 1);
    pg_pool_end(conn->pool, query, PG_REJECTED, pg_run_error_text(conn->result));
}

static void end_ok(struct pg_conn *conn, struct pg_query *query) {
    query->result = conn->result;
    conn->result = NULL;
    if (query->internal.again != NULL)
        *query->internal.again = (struct pg_pause){0}; /* the new session has helped */
    if (PQresultStatus(query->result) == PGRES_TUPLES_OK)
        query->affected = PQntuples(query->result);
    else
        query->affected = strtoll(PQcmdTuples(query->result), NULL, 10);
    pg_pool_end(conn->pool, query, PG_OK, NULL);
}

void pg_run_end(struct pg_conn *conn, struct pg_query *query) {
    conn->pool->stats.queries++;
    if (!is_error(conn->result))
        end_ok(conn, query);
    else if (!pg_renew_resends(conn, query))
        end_rejected(conn, query);
}

bool pg_run_is_lost(const PGresult *result, const struct pg_statement *statement) {
    const char *sqlstate = PQresultErrorField(result, PG_DIAG_SQLSTATE);

    return statement != NULL && sqlstate != NULL &&
           strcmp(sqlstate, SQLSTATE_NO_SUCH_STATEMENT) == 0;
}

static void drop_result(struct pg_conn *conn) {
    PQclear(conn->result);
    conn->result = NULL;
}

/* The server is ready for what comes next. */
static void finish(struct pg_conn *conn) {
    bool is_failed = is_error(conn->result);
    struct pg_query *query = conn->query;

    assert((conn->query == NULL) ==
           (conn->state == PG_CONN_ROLLING_BACK || conn->state == PG_CONN_SETTING));
    if (is_failed && (pg_run_is_doubtful(conn->result) || conn->query == NULL)) {
        pg_conn_fail(conn, pg_run_error_text(conn->result));
        return;
    }
    if (conn->state == PG_CONN_PREPARING && !is_failed) {
        pg_run_learn(conn, query->statement);
        if (query->internal.is_preparation) {
            pg_pool_end(conn->pool, query, PG_OK, NULL);
        } else if (query->deadline_ms > clock_now_ms()) {
            drop_result(conn);
            send_query(conn);
            return;
        } else {
            pg_pool_end(conn->pool, query, PG_NOT_SENT, "prepared too late to be sent");
        }
    } else if (query != NULL) {
        if (pg_run_is_lost(conn->result, query->statement))
            pg_run_forget(conn, query->statement);
        pg_run_end(conn, query);
    }
    drop_result(conn);
    if (conn->state == PG_CONN_SETTING)
        pg_conn_opened(conn);
    else
        pg_run_settle(conn);
}

static bool is_copy(const PGresult *result) {
    ExecStatusType status = PQresultStatus(result);

    return status == PGRES_COPY_IN || status == PGRES_COPY_OUT || status == PGRES_COPY_BOTH;
}

bool pg_run_keep(struct pg_conn *conn, PGresult *result) {
    if (is_copy(result)) { /* would come again for ever */
        PQclear(result);
        return false;
    }
    if (conn->result != NULL && is_error(conn->result)) {
        PQclear(result);
    } else {
        PQclear(conn->result);
        conn->result = result;
    }
    return true;
}

/* Take the results that are there, without waiting. Leaves the first error, or else the last. */
static enum progress collect(struct pg_conn *conn) {
    while (PQisBusy(conn->pg) == 0) {
        PGresult *result = PQgetResult(conn->pg);

        if (result == NULL)
            return conn->result != NULL ? COMPLETE : BROKEN;
        if (!pg_run_keep(conn, result))
            return BROKEN;
    }
    return INCOMPLETE;
}

void pg_run_step(struct pg_conn *conn) {
    bool is_alive = PQconsumeInput(conn->pg) != 0;

    switch (collect(conn)) {
    case COMPLETE:
        finish(conn);
        break;
    case BROKEN:
        pg_conn_fail(conn, "COPY is not supported");
        break;
    case INCOMPLETE:
        if (is_alive)
            pg_conn_flush(conn, true);
        break;
    }
    if (!is_alive && conn->state != PG_CONN_DOWN)
        pg_conn_fail(conn, PQerrorMessage(conn->pg));
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
    else if (pg_run_is_refused(conn->result))
        end_rejected(conn, query);
    else
        pg_pool_end(conn->pool, query, PG_UNKNOWN, why);
}
