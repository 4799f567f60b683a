/* Sends queries to one Postgres connection in libpq's pipeline mode, and says what became of each.
 *
 * Each query has a Sync of its own, so it is a transaction of its own, fails alone, and has its
 * outcome when that Sync is answered. A statement that this connection does not know yet is parsed
 * before the same Sync; those sent behind rely on it, and are refused (26000) when it fails.
 *
 * A request to cancel strikes whatever the server runs when it arrives, so it is made only for the
 * first query that is unanswered, and then nothing more is sent: what it may strike late is known.
 * Once all is answered the connection is closed, because the request may still be under way. */
#include "pg_internal.h"

#include "clock.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define SQLSTATE_CANCELLED "57014"

static struct pg_slot *slot_at(const struct pg_conn *conn, unsigned i) {
    return &conn->slots[(conn->slot_first + i) % conn->pool->in_flight];
}

bool pg_pipeline_is_stalled(const struct pg_conn *conn) {
    return !pg_conn_is_open(conn) || conn->is_cancelled || conn->is_stalled || conn->is_stale;
}

bool pg_pipeline_has_room(const struct pg_conn *conn) {
    return conn->slot_count < conn->pool->in_flight && !pg_pipeline_is_stalled(conn);
}

static void make_due(struct pg_conn *conn, int64_t due_ms) {
    if (due_ms < conn->due_ms)
        conn->due_ms = due_ms;
    pg_pool_arm(conn->pool, conn->due_ms);
}

static int64_t later(int64_t one, int64_t other) {
    return one > other ? one : other;
}

/* When the connection is given up unless its first query is answered. */
static int64_t gives_up_ms(const struct pg_conn *conn) {
    return later(slot_at(conn, 0)->deadline_ms, conn->head_ms) + conn->pool->answer_ms;
}

/* The clock runs for what is now the first one. */
static void begin_first(struct pg_conn *conn) {
    conn->head_ms = clock_now_ms();
    conn->is_stalled = false;
    make_due(conn, conn->head_ms + conn->pool->stall_ms);
    make_due(conn, slot_at(conn, 0)->deadline_ms);
}

/* False: libpq has not taken it, and without its Sync it has no effect. */
static bool hand_over(PGconn *pg, const struct pg_query *query, bool is_parsed) {
    const struct pg_statement *statement = query->statement;

    if (statement == NULL)
        return PQsendQueryParams(pg, query->sql, 0, NULL, NULL, NULL, NULL, 0) != 0;
    return (!is_parsed || PQsendPrepare(pg, statement->name, statement->sql, 0, NULL) != 0) &&
           PQsendQueryPrepared(pg, statement->name, statement->params, query->params, NULL, NULL,
                               0) != 0;
}

static int send_sync(PGconn *pg) {
#ifdef LIBPQ_HAS_SEND_PIPELINE_SYNC
    return PQsendPipelineSync(pg);
#else
    return PQpipelineSync(pg); /* flushes */
#endif
}

void pg_pipeline_send(struct pg_conn *conn, struct pg_query *query) {
    const struct pg_statement *statement = query->statement;
    bool is_parsed = statement != NULL && !pg_run_is_prepared(conn, statement);
    struct pg_slot *slot = slot_at(conn, conn->slot_count);
    PGconn *pg = conn->link->pg;

    assert(pg_pipeline_has_room(conn) &&
           (conn->state == PG_CONN_PIPELINING) == (conn->slot_count > 0));
    if (PQstatus(pg) != CONNECTION_OK || !hand_over(pg, query, is_parsed)) {
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
        pg_run_learn(conn, statement);
    make_due(conn, query->deadline_ms);
    if (conn->slot_count++ == 0)
        begin_first(conn);
    pg_link_sent(conn->link, send_sync(pg));
}

/* Is a query still to be answered that parses it again? */
static bool is_parsed_again(const struct pg_conn *conn, const struct pg_statement *statement) {
    for (unsigned i = 0; i < conn->slot_count; i++)
        if (slot_at(conn, i)->statement == statement && slot_at(conn, i)->is_parsed)
            return true;
    return false;
}

static void forget_unknown(struct pg_conn *conn, const struct pg_slot *slot,
                           const PGresult *result) {
    bool is_lost = slot->is_parsed ? pg_is_error(result) && conn->link->nth == 0
                                   : pg_run_is_lost(result, slot->statement);

    if (is_lost && !is_parsed_again(conn, slot->statement))
        pg_run_forget(conn, slot->statement);
}

/* Did a request to cancel another strike it? */
static bool is_struck(const struct pg_conn *conn, const struct pg_slot *slot,
                      const PGresult *result) {
    return conn->is_cancelled && !slot->is_cancelled && slot->deadline_ms > clock_now_ms() &&
           pg_has_state(result, SQLSTATE_CANCELLED);
}

static void end_slot(struct pg_conn *conn, const struct pg_slot *slot, PGresult *result) {
    if (slot->query != NULL && !is_struck(conn, slot, result)) {
        pg_run_end(conn, slot->query, result);
        return;
    }
    if (slot->query != NULL)
        pg_pool_enqueue(conn->pool, slot->query, true);
    PQclear(result);
}

void pg_pipeline_finish(struct pg_conn *conn, PGresult *result) {
    const struct pg_slot slot = *slot_at(conn, 0);

    assert(conn->slot_count > 0);
    conn->slot_first = (conn->slot_first + 1) % conn->pool->in_flight;
    conn->slot_count--;
    conn->is_stalled = false;
    forget_unknown(conn, &slot, result);
    end_slot(conn, &slot, result);
    if (conn->slot_count == 0 && conn->is_cancelled)
        pg_conn_fail(conn, "a query was cancelled");
    else if (conn->slot_count == 0)
        pg_run_settle(conn);
    else
        begin_first(conn);
}

/* Those that have waited for their answer for too long. */
static void give_up_late(struct pg_conn *conn, int64_t now_ms) {
    for (unsigned i = 0; i < conn->slot_count; i++) {
        struct pg_slot *slot = slot_at(conn, i);

        if (slot->query == NULL)
            continue;
        if (slot->deadline_ms + conn->pool->answer_ms > now_ms) {
            make_due(conn, slot->deadline_ms + conn->pool->answer_ms);
            continue;
        }
        pg_pool_end(conn->pool, slot->query, PG_UNKNOWN, "no answer by the deadline");
        slot->query = NULL;
    }
}

static void watch_first(struct pg_conn *conn, int64_t now_ms) {
    struct pg_slot *first = slot_at(conn, 0);

    if (first->deadline_ms <= now_ms && !first->is_cancelled) {
        first->is_cancelled = conn->is_cancelled = true;
        pg_link_cancel(conn->link, false);
    }
    make_due(conn, first->is_cancelled ? gives_up_ms(conn) : first->deadline_ms);
    conn->is_stalled = conn->head_ms + conn->pool->stall_ms <= now_ms;
    if (!conn->is_stalled)
        make_due(conn, conn->head_ms + conn->pool->stall_ms);
}

void pg_pipeline_expire(struct pg_conn *conn) {
    int64_t now_ms = clock_now_ms();

    pg_link_read(conn->link); /* see fail_unless_answered() */
    if (conn->state != PG_CONN_PIPELINING)
        return;
    conn->due_ms = PG_NEVER;
    if (gives_up_ms(conn) <= now_ms) {
        pg_conn_fail(conn, "no answer by the deadline");
        return;
    }
    give_up_late(conn, now_ms);
    watch_first(conn, now_ms);
}

void pg_pipeline_abandon(struct pg_conn *conn, const char *why) {
    const PGresult *result = conn->link->result;

    for (unsigned i = 0; i < conn->slot_count; i++) {
        struct pg_query *query = slot_at(conn, i)->query;

        if (query == NULL)
            continue;
        if (i == 0 && pg_is_refused(result))
            pg_run_end_refused(conn, query, result);
        else
            pg_pool_end(conn->pool, query, PG_UNKNOWN, why);
    }
    conn->slot_count = 0;
}
