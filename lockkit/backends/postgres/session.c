/* mode=session: a lock is an advisory lock of a session, and each lease and each waiter has a
 * session of its own, as Postgres grants a lock again to the session that has it.
 *
 * Happy path: an idle session tries. When the lock is held, the same session waits for it in a
 * statement that stays under way: the server's line of waiters is ours, fair, and grants without a
 * poll. The TTL is the server's, too: it ends a session that was idle for so long, be its client
 * stopped or cut off, and each renewal is a statement on it.
 *
 *   nobody's --TRY--> held --UNLOCK--> nobody's        CHECK: what a renewal is
 *        ^      \--WAIT--/    |
 *        +-------CLEAN---------+  after it was withdrawn, by a cancel request
 *
 * A session that breaks while it may hold or wait is a ghost, until the server said on another
 * connection that it has ended. */
#include "session_internal.h"

#include "clock.h"
#include "pg_stale.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define IDLE_MOST 64

static void on_called(struct pg_call *call, PGresult *result, enum lk_status status);

/* ---- Statements */

static void run_statement(struct session *session, enum statement statement, struct pg_sent *sent,
                          const char *sql, int count, const char *const *params) {
    assert(session->statement == NOTHING && session->is_open);
    session->statement = statement;
    session->running = sent;
    if (sent)
        sent->command->round_trips++;
    pg_link_run(session->link, sql, count, params);
}

/* A wait is nobody's statement: its command is answered before it ends. */
static void take(struct session *session, enum statement statement, struct pg_sent *sent) {
    const struct lk_command *command = sent->command;
    const char *const *sql = statement == WAIT ? pg_session_wait_sql : pg_session_try_sql;
    const char *const params[SESSION_TAKE_PARAMS] = {session->key,
                                                     session->name,
                                                     command->mode == LK_SHARED ? NULL
                                                                                : session->owner,
                                                     session->all->backend.config.label,
                                                     sent->ttl,
                                                     session->tag,
                                                     sent->above,
                                                     sent->reserved};

    session->is_used = true;
    session->is_cancelled = false;
    run_statement(session, statement, statement == WAIT ? NULL : sent, sql[session->mode],
                  SESSION_TAKE_PARAMS, params);
}

static void check(struct session *session, struct pg_sent *sent) {
    const char *const params[] = {session->key, sent->ttl};

    run_statement(session, CHECK, sent, pg_session_check_sql, 2, params);
}

/* For the release that waits for it, if one still does. */
static void give_back(struct session *session) {
    const char *const params[] = {session->key};
    struct pg_sent *sent = TAILQ_FIRST(&session->line);

    if (sent)
        TAILQ_REMOVE(&session->line, sent, line);
    if (session->is_held)
        run_statement(session, UNLOCK, sent, pg_session_unlock_sql[session->mode], 1, params);
    else
        run_statement(session, CLEAN, sent, pg_session_clean_sql, 0, NULL);
}

void pg_session_call(struct session *session, const char *sql) {
    if (session->is_called)
        return;
    session->is_called = true;
    session->call = (struct pg_call){.sql = sql,
                                     .count = sql == pg_session_end_sql ? 2 : 1,
                                     .params = {session->pid, session->tag},
                                     .on_end = on_called,
                                     .data = session};
    pg_calls_run(&session->all->calls, &session->call);
}

/* ---- Whose it is */

static void remove_session(struct session *session) {
    assert(!session->link && !session->is_called && TAILQ_EMPTY(&session->line));
    TAILQ_REMOVE(&session->all->list, session, entry);
    free(session);
}

void pg_session_close(struct session *session) {
    pg_link_close(session->link);
    session->link = NULL;
    remove_session(session);
}

bool pg_session_is_idle(const struct session *session) {
    return session->link && !session->owner[0];
}

void pg_session_become_nobodys(struct session *session) {
    struct sessions *all = session->all;
    const struct session *other;
    unsigned idle = 0;

    assert(TAILQ_EMPTY(&session->line) && !session->is_called);
    session->owner[0] = '\0';
    session->is_used = session->is_held = session->is_given_up = false;
    session->idle_since_ms = clock_now_ms();
    TAILQ_REMOVE(&all->list, session, entry);
    TAILQ_INSERT_HEAD(&all->list, session, entry);
    TAILQ_FOREACH (other, &all->list, entry)
        idle += pg_session_is_idle(other);
    if (idle > IDLE_MOST)
        pg_session_close(session);
}

/* ---- The end of a session */

static enum lk_status status_of_lost(const struct session *session, enum lk_verb verb,
                                     enum lk_status unsent) {
    if (verb == LK_RENEW)
        return LK_LOST;
    if (session->is_used)
        return LK_UNKNOWN;
    return verb == LK_ACQUIRE ? unsent : LK_LOST;
}

/* Its connection is gone, and `is_gone`, the session with it; else it is a ghost until the server
 * says so. Last line of what calls it. `unsent`: what to answer to an acquire that was not sent. */
static void drop(struct session *session, bool is_gone, enum lk_status unsent) {
    const struct lk_backend_config *config = &session->all->backend.config;
    bool was_held = session->is_held && !session->is_given_up;
    bool was_waiting = session->statement == WAIT && !session->is_given_up;
    char owner[OWNER_SIZE], name[NAME_MAX_BYTES + 1];
    struct pg_sent *sent;

    memcpy(owner, session->owner, sizeof owner);
    memcpy(name, session->name, sizeof name);
    session->is_used = session->is_used && !is_gone;
    if (session->running)
        TAILQ_INSERT_HEAD(&session->line, session->running, line);
    while ((sent = TAILQ_FIRST(&session->line))) {
        TAILQ_REMOVE(&session->line, sent, line);
        pg_answer(sent, status_of_lost(session, sent->command->verb, unsent));
    }
    session->running = NULL;
    session->statement = NOTHING;
    session->is_open = session->is_held = false;
    if (session->is_used)
        pg_session_call(session, pg_session_end_sql);
    else if (session->is_called)
        session->owner[0] = '\0';
    else
        remove_session(session);
    if (was_held)
        config->push(config->data, LK_PUSH_LOST, name, owner, "the session that held it has ended");
    else if (was_waiting)
        config->push(config->data, LK_PUSH_FREE, name, owner, NULL);
}

static void called_for_ghost(struct session *session, const PGresult *result) {
    bool is_ended = result && session->call.sql == pg_session_end_sql;
    bool is_gone = is_ended && !pg_is_error(result) && *PQgetvalue(result, 0, 0) == 't';
    struct pg_sent *sent;

    if (session->call.sql != pg_session_end_sql && session->is_used) {
        pg_session_call(session, pg_session_end_sql);
        return;
    }
    while ((sent = TAILQ_FIRST(&session->line))) {
        TAILQ_REMOVE(&session->line, sent, line);
        pg_answer(sent, is_gone ? LK_LOST : LK_UNKNOWN);
    }
    if (is_gone || !session->owner[0])
        remove_session(session);
}

static void on_called(struct pg_call *ended, PGresult *result, enum lk_status status) {
    struct session *session = ended->data;

    (void)status;
    session->is_called = false;
    if (!session->link) {
        called_for_ghost(session, result);
    } else if (!result || pg_is_error(result)) {
        /* Nobody could be asked to cancel its wait: it goes with its connection. */
        pg_link_close(session->link);
        session->link = NULL;
        drop(session, false, LK_UNAVAILABLE);
    } else {
        session->is_cancelled = PQntuples(result) > 0;
        pg_session_serve(session);
    }
    PQclear(result);
}

/* ---- What is to be done next */

/* While it waits at the server. */
static void serve_waiting(struct session *session, struct pg_sent *sent) {
    if (session->is_given_up) {
        if (!session->is_cancelled)
            pg_session_call(session, pg_session_cancel_sql);
        return;
    }
    TAILQ_REMOVE(&session->line, sent, line);
    sent->command->is_queued = sent->command->verb == LK_ACQUIRE;
    pg_answer(sent, sent->command->is_queued ? LK_BUSY : LK_LOST);
}

static void serve_idle(struct session *session, struct pg_sent *sent) {
    TAILQ_REMOVE(&session->line, sent, line);
    if (session->is_held) {
        check(session, sent);
    } else if (sent->command->verb == LK_ACQUIRE) {
        take(session, TRY, sent);
    } else {
        pg_answer(sent, LK_LOST);
        pg_session_serve(session);
    }
}

/* A cancel request that is under way may hit whatever runs by then. */
void pg_session_serve(struct session *session) {
    struct pg_sent *sent = TAILQ_FIRST(&session->line);

    if (!session->is_open)
        return;
    if (session->statement == WAIT && sent)
        serve_waiting(session, sent);
    else if (session->statement != NOTHING || session->is_called)
        return;
    else if (session->is_given_up)
        give_back(session);
    else if (sent)
        serve_idle(session, sent);
}

/* ---- What came of a statement */

static bool is_true(const PGresult *result) {
    return PQntuples(result) > 0 && *PQgetvalue(result, 0, 0) == 't';
}

/* The server has given the lock, and the table no fencing token: a trigger has skipped the row. */
static bool is_without_token(enum statement statement, const PGresult *result) {
    return (statement == TRY || statement == WAIT) && is_true(result) && PQgetisnull(result, 0, 1);
}

/* Of one who tries nothing stays behind; for one who waits the same session waits on. */
static void tried(struct session *session, struct pg_sent *sent, const PGresult *result) {
    session->is_held = is_true(result);
    if (session->is_held)
        session->fence = (uint64_t)pg_integer(result, 0, 1);
    if (!sent) {
        pg_session_serve(session);
        return;
    }
    sent->command->fence = session->fence;
    if (!session->is_held && sent->command->patience_ms > 0) {
        sent->command->is_queued = true;
        sent->command->round_trips++;
        take(session, WAIT, sent);
    }
    pg_answer(sent, session->is_held ? LK_OK : LK_BUSY);
    if (!session->is_held && !sent->command->is_queued)
        pg_session_become_nobodys(session);
    else
        pg_session_serve(session);
}

static void waited(struct session *session, const PGresult *result) {
    const struct lk_backend_config *config = &session->all->backend.config;

    session->is_held = is_true(result);
    if (session->is_held)
        session->fence = (uint64_t)pg_integer(result, 0, 1);
    pg_session_serve(session);
    if (!session->is_given_up)
        config->push(config->data, LK_PUSH_FREE, session->name, session->owner, NULL);
}

static void checked(struct session *session, struct pg_sent *sent, const PGresult *result) {
    session->is_held = is_true(result);
    if (sent) {
        sent->command->fence = session->fence;
        /* One that acquires what is not held any more tries again. */
        if (!session->is_held && sent->command->verb == LK_ACQUIRE)
            TAILQ_INSERT_HEAD(&session->line, sent, line);
        else
            pg_answer(sent, session->is_held ? LK_OK : LK_LOST);
    }
    pg_session_serve(session);
}

static void given_back(struct session *session, struct pg_sent *sent, bool was_held) {
    struct pg_sent *other;

    if (sent)
        pg_answer(sent, was_held ? LK_OK : LK_LOST);
    while ((other = TAILQ_FIRST(&session->line))) {
        TAILQ_REMOVE(&session->line, other, line);
        pg_answer(other, LK_LOST);
    }
    pg_session_become_nobodys(session);
}

/* Of one that is not what it was, the idle ones are no better. */
static void close_idle(struct sessions *all) {
    struct session *session, *next;

    for (session = TAILQ_FIRST(&all->list); session; session = next) {
        next = TAILQ_NEXT(session, entry);
        if (pg_session_is_idle(session))
            pg_session_close(session);
    }
}

/* With its connection goes whatever a session has after an error: the lock, perhaps. An acquire
 * that has failed for the session alone tries another one. */
static void failed(struct session *session, struct pg_sent *sent, const PGresult *result) {
    struct pg_backend *backend = &session->all->backend;
    bool is_collision = pg_has_state(result, "23505");
    bool is_acquire = sent && sent->command->verb == LK_ACQUIRE;
    bool is_stale = pg_stale(result) != PG_STALE_NOT;
    bool is_again = is_acquire && is_stale && !sent->is_again;

    if (is_again)
        sent->is_again = true;
    else if (sent)
        pg_refuse(sent, is_collision ? "another name has the same 64-bit key: choose another name"
                        : pg_is_error(result) ? PQresultErrorMessage(result)
                                              : "the table lockkit_lock gave no fencing token");
    if (is_stale)
        close_idle(session->all);
    if (is_acquire)
        session->owner[0] = '\0'; /* who gets no release for it */
    pg_link_close(session->link);
    session->link = NULL;
    drop(session, false, LK_UNAVAILABLE);
    if (is_again)
        backend->mode->run(backend, sent);
}

static void take_result(struct session *session, const PGresult *result) {
    enum statement statement = session->statement;
    struct pg_sent *sent = session->running;

    session->running = NULL;
    if ((pg_is_error(result) && !(statement == WAIT && session->is_given_up)) ||
        is_without_token(statement, result)) {
        failed(session, sent, result);
        return;
    }
    session->statement = NOTHING;
    switch (statement) {
    case TRY:
        tried(session, sent, result);
        return;
    case WAIT:
        waited(session, result);
        return;
    case CHECK:
        checked(session, sent, result);
        return;
    case UNLOCK:
        given_back(session, sent, is_true(result));
        return;
    case CLEAN:
        given_back(session, sent, false);
        return;
    case NOTHING:
        return;
    }
}

static void on_result(void *data, PGresult *result) {
    take_result(data, result);
    PQclear(result);
}

static void refuse_line(struct session *session, const char *why) {
    struct pg_sent *sent, *next;

    for (sent = TAILQ_FIRST(&session->line); sent; sent = next) {
        next = TAILQ_NEXT(sent, line);
        if (sent->command->verb != LK_ACQUIRE)
            continue;
        TAILQ_REMOVE(&session->line, sent, line);
        pg_refuse(sent, why);
    }
}

static void on_open(void *data) {
    struct session *session = data;

    pg_tell_up(&session->all->backend);
    if (session->link->is_direct) {
        session->is_open = true;
        (void)snprintf(session->pid, sizeof session->pid, "%d", PQbackendPID(session->link->pg));
        session->idle_since_ms = clock_now_ms();
        pg_session_serve(session);
        return;
    }
    refuse_line(session, "a pooler stands between, where the lock of a session is none: "
                         "connect to the server itself, or use mode=table");
    pg_link_close(session->link);
    session->link = NULL;
    drop(session, true, LK_REFUSED);
}

static void on_end(void *data, enum pg_link_end end, const char *why) {
    struct session *session = data;
    struct pg_backend *backend = &session->all->backend;
    char quoted[2 * PG_LINK_WHY_SIZE];

    session->link = NULL;
    if (end == PG_LINK_REFUSED)
        refuse_line(session, why);
    else if (!session->is_open)
        pg_tell_down(backend, why);
    else if (session->is_held && !session->is_given_up)
        log_warn("the session of a held lock has ended", "error=%s",
                 log_quote(quoted, sizeof quoted, why));
    drop(session, end != PG_LINK_CUT || !session->is_open, LK_UNAVAILABLE);
}

const struct pg_link_events pg_session_events = {
    .on_open = on_open, .on_result = on_result, .on_end = on_end};
