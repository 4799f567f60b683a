/* mode=session: a lock is an advisory lock of a session. Each lease and each waiter has a session
 * of its own, because Postgres grants a lock again to the session that has it.
 *
 * Happy path: an idle session tries. If another session holds the lock, the same session waits for
 * it in a statement that stays under way. The server keeps the line of waiters: it is fair, and
 * grants without a poll. The server also keeps the TTL: it ends a session that was idle for so
 * long, even if its client is stopped or cut off. A renewal is a statement of the session.
 *
 *   nobody's --TRY--> held --UNLOCK--> nobody's        CHECK: a renewal
 *        ^      \--WAIT--/    |
 *        +-------CLEAN---------+  after a cancel request has ended its wait
 *
 * If a session breaks while it may hold or wait, it is a ghost, until the server says on another
 * connection that the session has ended. */
#include "clock.h"
#include "postgres_mode.h"
#include "session_sql.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define IDLE_MOST    64
#define IDLE_MOST_MS 50000 /* the server ends idle sessions after 60 s */
#define TAG_SIZE     64    /* Postgres cuts longer ones */

enum statement { NOTHING, TRY, WAIT, CHECK, UNLOCK, CLEAN };

struct session {
    struct pg_backend *backend;
    LIST_ENTRY(session) entry;
    struct pg_link *link; /* NULL: a ghost */
    bool is_open;
    char owner[OWNER_SIZE]; /* "": nobody's */
    char tag[TAG_SIZE];
    char name[NAME_MAX_BYTES + 1];
    char key[PG_NUMBER_SIZE], pid[PG_NUMBER_SIZE];
    enum lk_mode mode;
    enum statement statement; /* the statement under way */
    struct pg_sent *running;  /* the command behind it, if it still waits */
    struct pg_line line;      /* commands to serve after it */
    bool is_used;             /* a statement was run for its owner */
    bool is_held;
    bool is_given_up; /* its owner does not want it any more */
    uint64_t fence;
    struct pg_call call; /* on another connection: cancels its wait, or ends a ghost */
    bool is_called, is_cancelled;
    int64_t idle_since_ms;
};

static void on_session_called(struct pg_call *call, PGresult *result, enum lk_status status);
static void session_serve(struct session *session);

/* ---- Statements */

static unsigned hex_digit(char c) {
    return (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
}

/* 40 hex digits into 27 characters, without the padding. A text that is no owner token gives a
 * value that no owner has. */
static void session_encode(char *base64, const char *owner) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    unsigned bits = 0, count = 0;

    for (size_t i = 0; i < OWNER_SIZE - 1 && owner[i]; i++) {
        bits = (bits << 4 | (hex_digit(owner[i]) & 15)) & 0xffff;
        count += 4;
        if (count >= 6) {
            count -= 6;
            *base64++ = digits[bits >> count & 63];
        }
    }
    if (count > 0)
        *base64++ = digits[bits << (6 - count) & 63];
    *base64 = '\0';
}

/* The application_name of a session: lockkit:<owner in base64>:<label, cut>. It ends with the
 * session, so nobody must clean it up. */
static void session_tag(char tag[TAG_SIZE], const char *owner, const char *label) {
    char base64[OWNER_SIZE];

    session_encode(base64, owner);
    (void)snprintf(tag, TAG_SIZE, "lockkit:%s:%s", base64, label);
}

static void session_run(struct session *session, enum statement statement, struct pg_sent *sent,
                        const char *sql, int count, const char *const *params) {
    assert(session->statement == NOTHING && session->is_open);
    session->statement = statement;
    session->running = sent;
    if (sent != NULL)
        sent->command->round_trips++;
    pg_link_run(session->link, sql, count, params);
}

/* No command waits for the end of a WAIT: its answer came before. */
static void session_take(struct session *session, enum statement statement, struct pg_sent *sent) {
    const struct lk_command *command = sent->command;
    const char *const *sql = statement == WAIT ? pg_session_wait_sql : pg_session_try_sql;
    const char *const params[SESSION_TAKE_PARAMS] = {session->key,
                                                     session->name,
                                                     command->mode == LK_SHARED ? NULL
                                                                                : session->owner,
                                                     session->backend->config.label,
                                                     sent->ttl,
                                                     session->tag,
                                                     sent->above,
                                                     sent->reserved};

    assert(!session->is_held && session->owner[0] != '\0'); /* Postgres counts grants */
    session->is_used = true;
    session->is_cancelled = false;
    session_run(session, statement, statement == WAIT ? NULL : sent, sql[session->mode],
                SESSION_TAKE_PARAMS, params);
}

static void session_check(struct session *session, struct pg_sent *sent) {
    const char *const params[] = {session->key, sent->ttl};

    session_run(session, CHECK, sent, pg_session_check_sql, 2, params);
}

/* For the first release in the session's line, if there is one. */
static void session_give_back(struct session *session) {
    const char *const params[] = {session->key};
    struct pg_sent *sent = TAILQ_FIRST(&session->line);

    if (sent != NULL)
        TAILQ_REMOVE(&session->line, sent, line);
    if (session->is_held)
        session_run(session, UNLOCK, sent, pg_session_unlock_sql[session->mode], 1, params);
    else
        session_run(session, CLEAN, sent, pg_session_clean_sql, 0, NULL);
}

static void session_call(struct session *session, const char *sql) {
    if (session->is_called)
        return;
    assert(session->pid[0] != '\0');
    session->is_called = true;
    session->call = (struct pg_call){.sql = sql,
                                     .count = sql == pg_session_end_sql ? 2 : 1,
                                     .params = {session->pid, session->tag},
                                     .on_end = on_session_called,
                                     .data = session};
    pg_call(session->backend, &session->call);
}

/* ---- Its owner */

static void session_remove(struct session *session) {
    assert(!session->link && !session->is_called && TAILQ_EMPTY(&session->line));
    LIST_REMOVE(session, entry);
    free(session);
}

static void session_close(struct session *session) {
    pg_link_close(session->link);
    session->link = NULL;
    session_remove(session);
}

static bool session_is_idle(const struct session *session) {
    return session->link != NULL && !session->owner[0];
}

static void session_become_nobodys(struct session *session) {
    struct pg_backend *backend = session->backend;
    const struct session *other;
    unsigned idle = 0;

    assert(TAILQ_EMPTY(&session->line) && !session->is_called);
    session->owner[0] = '\0';
    session->is_used = session->is_held = session->is_given_up = false;
    session->idle_since_ms = clock_now_ms();
    LIST_REMOVE(session, entry);
    LIST_INSERT_HEAD(&backend->sessions, session, entry);
    LIST_FOREACH (other, &backend->sessions, entry)
        idle += session_is_idle(other);
    if (idle > IDLE_MOST)
        session_close(session);
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

/* The connection is gone. `is_gone`: the session is gone, too; else it is a ghost until the server
 * says that it has ended. Make this the last line of the calling function. `unsent`: the answer to
 * an acquire that was not sent. */
static void session_drop(struct session *session, bool is_gone, enum lk_status unsent) {
    const struct lk_backend_config *config = &session->backend->config;
    bool was_held = session->is_held && !session->is_given_up;
    bool was_waiting = session->statement == WAIT && !session->is_given_up;
    char owner[OWNER_SIZE], name[NAME_MAX_BYTES + 1];
    struct pg_sent *sent;

    assert(session->link == NULL);
    memcpy(owner, session->owner, sizeof owner);
    memcpy(name, session->name, sizeof name);
    session->is_used = session->is_used && !is_gone;
    if (session->running != NULL)
        TAILQ_INSERT_HEAD(&session->line, session->running, line);
    while ((sent = TAILQ_FIRST(&session->line)) != NULL) {
        TAILQ_REMOVE(&session->line, sent, line);
        pg_answer(sent, status_of_lost(session, sent->command->verb, unsent));
    }
    session->running = NULL;
    session->statement = NOTHING;
    session->is_open = session->is_held = false;
    if (session->is_used)
        session_call(session, pg_session_end_sql);
    else if (session->is_called)
        session->owner[0] = '\0';
    else
        session_remove(session);
    if (was_held)
        config->push(config->data, LK_PUSH_LOST, name, owner, "the session that held it has ended");
    else if (was_waiting)
        config->push(config->data, LK_PUSH_FREE, name, owner, NULL);
}

static void session_cut(struct session *session, bool is_gone, enum lk_status unsent) {
    pg_link_close(session->link);
    session->link = NULL;
    session_drop(session, is_gone, unsent);
}

static void session_answer_line(struct session *session, enum lk_status status) {
    struct pg_sent *sent;

    while ((sent = TAILQ_FIRST(&session->line)) != NULL) {
        TAILQ_REMOVE(&session->line, sent, line);
        pg_answer(sent, status);
    }
}

static void ghost_called(struct session *session, const PGresult *result) {
    bool is_ended = result != NULL && session->call.sql == pg_session_end_sql;
    bool is_gone = is_ended && !pg_is_error(result) && *PQgetvalue(result, 0, 0) == 't';

    if (session->call.sql != pg_session_end_sql && session->is_used) {
        session_call(session, pg_session_end_sql);
        return;
    }
    session_answer_line(session, is_gone ? LK_LOST : LK_UNKNOWN);
    if (is_gone || !session->owner[0])
        session_remove(session);
}

static void on_session_called(struct pg_call *ended, PGresult *result, enum lk_status status) {
    struct session *session = ended->data;

    (void)status;
    assert(session->is_called && ended == &session->call);
    session->is_called = false;
    if (session->link == NULL) {
        ghost_called(session, result);
    } else if (result == NULL || pg_is_error(result)) {
        /* The client could not ask the server to cancel the wait: close the connection instead. */
        session_cut(session, false, LK_UNAVAILABLE);
    } else {
        session->is_cancelled = PQntuples(result) > 0;
        session_serve(session);
    }
    PQclear(result);
}

/* ---- The next statement */

/* While the session waits at the server. */
static void session_serve_waiting(struct session *session, struct pg_sent *sent) {
    if (session->is_given_up) {
        if (!session->is_cancelled)
            session_call(session, pg_session_cancel_sql);
        return;
    }
    TAILQ_REMOVE(&session->line, sent, line);
    sent->command->is_queued = sent->command->verb == LK_ACQUIRE;
    pg_answer(sent, sent->command->is_queued ? LK_BUSY : LK_LOST);
}

static void session_serve_idle(struct session *session, struct pg_sent *sent) {
    TAILQ_REMOVE(&session->line, sent, line);
    if (session->is_held) {
        session_check(session, sent);
    } else if (sent->command->verb == LK_ACQUIRE) {
        session_take(session, TRY, sent);
    } else {
        pg_answer(sent, LK_LOST);
        session_serve(session);
    }
}

/* While a cancel request is under way nothing else may run: the request could hit that statement.
 */
static void session_serve(struct session *session) {
    struct pg_sent *sent = TAILQ_FIRST(&session->line);

    if (!session->is_open)
        return;
    if (session->statement == WAIT && sent != NULL)
        session_serve_waiting(session, sent);
    else if (session->statement != NOTHING || session->is_called)
        return;
    else if (session->is_given_up)
        session_give_back(session);
    else if (sent != NULL)
        session_serve_idle(session, sent);
}

/* ---- The end of a statement */

static bool is_true(const PGresult *result) {
    return PQntuples(result) > 0 && *PQgetvalue(result, 0, 0) == 't';
}

/* The server has granted the lock, but the table gave no fencing token: a trigger skipped the row.
 */
static bool is_without_token(enum statement statement, const PGresult *result) {
    return (statement == TRY || statement == WAIT) && is_true(result) && PQgetisnull(result, 0, 1);
}

/* An acquire that only tries leaves nothing behind. With patience the same session waits. */
static void session_tried(struct session *session, struct pg_sent *sent, const PGresult *result) {
    session->is_held = is_true(result);
    if (session->is_held)
        session->fence = (uint64_t)pg_integer(result, 0, 1);
    if (sent == NULL) {
        session_serve(session);
        return;
    }
    sent->command->fence = session->fence;
    if (!session->is_held && sent->command->patience_ms > 0) {
        sent->command->is_queued = true;
        sent->command->round_trips++;
        session_take(session, WAIT, sent);
    }
    pg_answer(sent, session->is_held ? LK_OK : LK_BUSY);
    if (!session->is_held && !sent->command->is_queued)
        session_become_nobodys(session);
    else
        session_serve(session);
}

static void session_waited(struct session *session, const PGresult *result) {
    const struct lk_backend_config *config = &session->backend->config;

    session->is_held = is_true(result);
    if (session->is_held)
        session->fence = (uint64_t)pg_integer(result, 0, 1);
    session_serve(session);
    if (!session->is_given_up)
        config->push(config->data, LK_PUSH_FREE, session->name, session->owner, NULL);
}

static void session_checked(struct session *session, struct pg_sent *sent, const PGresult *result) {
    session->is_held = is_true(result);
    if (sent != NULL) {
        sent->command->fence = session->fence;
        /* an acquire of a lock that is no longer held tries again */
        if (!session->is_held && sent->command->verb == LK_ACQUIRE)
            TAILQ_INSERT_HEAD(&session->line, sent, line);
        else
            pg_answer(sent, session->is_held ? LK_OK : LK_LOST);
    }
    session_serve(session);
}

static void session_given_back(struct session *session, struct pg_sent *sent, bool was_held) {
    if (sent != NULL)
        pg_answer(sent, was_held ? LK_OK : LK_LOST);
    session_answer_line(session, LK_LOST);
    session_become_nobodys(session);
}

/* A session's settings have changed: the idle sessions are no better. */
static void sessions_close_idle(struct pg_backend *backend) {
    struct session *session, *next;

    for (session = LIST_FIRST(&backend->sessions); session != NULL; session = next) {
        next = LIST_NEXT(session, entry);
        if (session_is_idle(session))
            session_close(session);
    }
}

/* After an error a session may have the lock, which ends with its connection. If an acquire failed
 * only because of the session, it tries another session. */
static void session_failed(struct session *session, struct pg_sent *sent, const PGresult *result) {
    bool is_collision = pg_has_state(result, "23505");
    bool is_acquire = sent != NULL && sent->command->verb == LK_ACQUIRE;
    bool is_stale = pg_stale(result) != PG_STALE_NOT;
    bool is_again = is_acquire && is_stale && !sent->is_again;

    if (is_again)
        sent->is_again = true;
    else if (sent != NULL)
        pg_refuse(sent, is_collision ? "another name has the same 64-bit key: choose another name"
                        : pg_is_error(result) ? PQresultErrorMessage(result)
                                              : "the table lockkit_lock gave no fencing token");
    if (is_stale)
        sessions_close_idle(session->backend);
    if (is_acquire)
        session->owner[0] = '\0'; /* it sends no release */
    session_cut(session, false, LK_UNAVAILABLE);
    if (is_again)
        sent->backend->mode->run(sent);
}

static void session_take_result(struct session *session, const PGresult *result) {
    enum statement statement = session->statement;
    struct pg_sent *sent = session->running;

    session->running = NULL;
    if ((pg_is_error(result) && !(statement == WAIT && session->is_given_up)) ||
        is_without_token(statement, result)) {
        session_failed(session, sent, result);
        return;
    }
    session->statement = NOTHING;
    switch (statement) {
    case TRY:
        session_tried(session, sent, result);
        return;
    case WAIT:
        session_waited(session, result);
        return;
    case CHECK:
        session_checked(session, sent, result);
        return;
    case UNLOCK:
        session_given_back(session, sent, is_true(result));
        return;
    case CLEAN:
        session_given_back(session, sent, false);
        return;
    case NOTHING:
        return;
    }
}

static void on_session_result(void *data, PGresult *result) {
    session_take_result(data, result);
    PQclear(result);
}

static void session_refuse_line(struct session *session, const char *why) {
    struct pg_sent *sent, *next;

    for (sent = TAILQ_FIRST(&session->line); sent != NULL; sent = next) {
        next = TAILQ_NEXT(sent, line);
        if (sent->command->verb != LK_ACQUIRE)
            continue;
        TAILQ_REMOVE(&session->line, sent, line);
        pg_refuse(sent, why);
    }
}

static void on_session_open(void *data) {
    struct session *session = data;

    if (session->link->is_direct) {
        session->is_open = true;
        (void)snprintf(session->pid, sizeof session->pid, "%d", PQbackendPID(session->link->pg));
        session->idle_since_ms = clock_now_ms();
        session_serve(session);
        return;
    }
    session_refuse_line(session,
                        "a pooler stands in between, and would lend a session's lock to others: "
                        "connect to the server itself, or use mode=table");
    session_cut(session, true, LK_REFUSED);
}

static void on_session_end(void *data, enum pg_link_end end, const char *why) {
    struct session *session = data;
    struct pg_backend *backend = session->backend;
    char quoted[2 * PG_LINK_WHY_SIZE];

    session->link = NULL;
    if (end == PG_LINK_REFUSED)
        session_refuse_line(session, why);
    else if (!session->is_open)
        pg_tell_down(backend, why);
    else if (session->is_held && !session->is_given_up)
        log_warn("the session of a held lock has ended", "error=%s",
                 log_quote(quoted, sizeof quoted, why));
    session_drop(session, end != PG_LINK_CUT || !session->is_open, LK_UNAVAILABLE);
}

static const struct pg_link_events session_events = {
    .on_open = on_session_open, .on_result = on_session_result, .on_end = on_session_end};

/* ---- All sessions of a client */

static struct session *sessions_find(struct pg_backend *backend, const char *owner) {
    struct session *session;

    LIST_FOREACH (session, &backend->sessions, entry)
        if (strcmp(session->owner, owner) == 0)
            return session;
    return NULL;
}

static struct session *session_open(struct pg_backend *backend) {
    struct session *session = calloc(1, sizeof *session);

    if (session == NULL)
        return NULL;
    session->backend = backend;
    TAILQ_INIT(&session->line);
    session->link = pg_link_open(&backend->links, &session_events, session);
    if (session->link == NULL) {
        free(session);
        return NULL;
    }
    LIST_INSERT_HEAD(&backend->sessions, session, entry);
    return session;
}

/* Take an idle session, which may still be opening, or open a new one. NULL: out of memory. */
static struct session *session_adopt(struct pg_backend *backend, const struct pg_sent *sent) {
    const struct lk_command *command = sent->command;
    int64_t too_old_ms = clock_now_ms() - IDLE_MOST_MS;
    struct session *session, *next;

    for (session = LIST_FIRST(&backend->sessions); session != NULL; session = next) {
        next = LIST_NEXT(session, entry);
        if (!session_is_idle(session))
            continue;
        if (!session->is_open || session->idle_since_ms > too_old_ms)
            break;
        session_close(session); /* the server may be about to end it */
    }
    if (session == NULL)
        session = session_open(backend);
    if (session == NULL)
        return NULL;
    session->mode = command->mode;
    (void)snprintf(session->name, sizeof session->name, "%s", command->name);
    (void)snprintf(session->owner, sizeof session->owner, "%s", command->owner);
    session_tag(session->tag, command->owner, backend->config.label);
    memcpy(session->key, sent->key, sizeof session->key);
    return session;
}

/* ---- Commands */

/* Take the answer to a BREAK. */
static void sessions_take(struct pg_sent *sent, const PGresult *result) {
    if (pg_integer(result, 0, 0) == 0)
        pg_answer(sent, LK_LOST);
    else
        pg_answer(sent, *PQgetvalue(result, 0, 1) == 't' ? LK_OK : LK_UNKNOWN);
}

static void sessions_ask(struct pg_sent *sent) {
    const struct lk_command *command = sent->command;
    bool is_break = command->verb == LK_BREAK;

    session_tag(sent->tag, command->owner != NULL ? command->owner : "", "");
    sent->call = (struct pg_call){
        .sql = is_break ? pg_session_break_sql : pg_session_inspect_sql,
        .count = is_break ? 3 : 2,
        .params = {sent->key, is_break ? command->owner : command->name, sent->tag}};
    pg_ask(sent);
}

static void sessions_run(struct pg_sent *sent) {
    struct pg_backend *backend = sent->backend;
    const struct lk_command *command = sent->command;
    struct session *session =
        command->owner != NULL ? sessions_find(backend, command->owner) : NULL;

    if (command->verb == LK_INSPECT || command->verb == LK_BREAK) {
        sessions_ask(sent);
        return;
    }
    if (session != NULL && session->link == NULL && command->verb == LK_RELEASE) {
        sent->session = session;
        TAILQ_INSERT_TAIL(&session->line, sent, line);
        session_call(session, pg_session_end_sql);
        return;
    }
    if (session != NULL && session->link == NULL && command->verb == LK_ACQUIRE) {
        session->owner[0] = '\0'; /* end this session, and begin another */
        session_call(session, pg_session_end_sql);
        session = NULL;
    }
    if (session == NULL && command->verb == LK_ACQUIRE)
        session = session_adopt(backend, sent);
    if (session == NULL || session->link == NULL) {
        pg_answer(sent, command->verb == LK_ACQUIRE ? LK_NOMEM : LK_LOST);
        return;
    }
    sent->session = session;
    TAILQ_INSERT_TAIL(&session->line, sent, line);
    if (command->verb == LK_RELEASE)
        session->is_given_up = true;
    session_serve(session);
}

/* The session cleans up later after the command. */
static enum lk_status sessions_expire(struct pg_sent *sent) {
    struct session *session = sent->session;
    enum lk_verb verb = sent->command->verb;

    if (session->running == sent) {
        session->running = NULL;
        return LK_UNKNOWN;
    }
    TAILQ_REMOVE(&session->line, sent, line);
    if (verb != LK_ACQUIRE || session->is_used)
        return LK_UNKNOWN;
    if (TAILQ_EMPTY(&session->line))
        session_become_nobodys(session); /* it goes on opening, for the next owner */
    return LK_UNAVAILABLE;
}

static void sessions_close(struct pg_backend *backend) {
    struct session *session;

    while ((session = LIST_FIRST(&backend->sessions)) != NULL) {
        if (session->link != NULL)
            pg_link_close(session->link);
        LIST_REMOVE(session, entry);
        free(session);
    }
}

const struct pg_mode pg_session_mode = {
    .name = "session",
    .caps = LK_CAP_TTL | LK_CAP_SESSION | LK_CAP_FAIR | LK_CAP_EVENTS | LK_CAP_FENCE_LINEAR |
            LK_CAP_CROSS_PROCESS | LK_CAP_SHARED | LK_CAP_BREAK | LK_CAP_WAITERS | LK_CAP_HANDOVER,
    .connections = 1,
    .acquires_most = 32, /* each may open a session, and needs none once it is answered */
    .run = sessions_run,
    .take = sessions_take,
    .expire = sessions_expire,
    .close = sessions_close,
};
