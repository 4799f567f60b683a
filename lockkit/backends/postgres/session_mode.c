/* mode=session: which session does what. */
#include "clock.h"
#include "session_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define IDLE_MOST_MS 50000 /* the server ends them after 60 s */

static struct session *find(struct sessions *all, const char *owner) {
    struct session *session;

    TAILQ_FOREACH (session, &all->list, entry)
        if (strcmp(session->owner, owner) == 0)
            return session;
    return NULL;
}

static struct session *open_session(struct sessions *all) {
    struct session *session = calloc(1, sizeof *session);

    if (!session)
        return NULL;
    session->all = all;
    TAILQ_INIT(&session->line);
    session->link = pg_link_open(&all->backend.links, &pg_session_events, session);
    if (!session->link) {
        free(session);
        return NULL;
    }
    TAILQ_INSERT_HEAD(&all->list, session, entry);
    return session;
}

/* One that is idle, be it still opening, or a new one. NULL without memory. */
static struct session *adopt(struct sessions *all, const struct lk_command *command) {
    int64_t too_old_ms = clock_now_ms() - IDLE_MOST_MS;
    struct session *session, *next;

    for (session = TAILQ_FIRST(&all->list); session; session = next) {
        next = TAILQ_NEXT(session, entry);
        if (!pg_session_is_idle(session))
            continue;
        if (!session->is_open || session->idle_since_ms > too_old_ms)
            break;
        pg_session_close(session); /* the server may be about to end it */
    }
    if (!session)
        session = open_session(all);
    if (!session)
        return NULL;
    session->mode = command->mode;
    (void)snprintf(session->name, sizeof session->name, "%s", command->name);
    (void)snprintf(session->owner, sizeof session->owner, "%s", command->owner);
    pg_session_tag(session->tag, command->owner, all->backend.config.label);
    (void)snprintf(session->key, sizeof session->key, "%lld",
                   (long long)pg_advisory_key(command->name));
    return session;
}

/* ---- Commands */

static void on_answered(struct pg_call *ended, PGresult *result, enum lk_status status) {
    struct pg_sent *sent = ended->data;

    sent->is_called = false;
    if (!result) {
        pg_answer(sent, status);
        return;
    }
    if (pg_is_error(result)) {
        pg_refuse(sent, PQresultErrorMessage(result));
    } else if (sent->command->verb == LK_INSPECT) {
        pg_answer_holders(sent, result);
        return;
    } else if (pg_integer(result, 0, 0) == 0) {
        pg_answer(sent, LK_LOST);
    } else {
        pg_answer(sent, *PQgetvalue(result, 0, 1) == 't' ? LK_OK : LK_UNKNOWN);
    }
    PQclear(result);
}

static void ask(struct sessions *all, struct pg_sent *sent) {
    const struct lk_command *command = sent->command;
    bool is_break = command->verb == LK_BREAK;

    sent->is_called = true;
    pg_session_tag(sent->tag, command->owner ? command->owner : "", "");
    sent->call = (struct pg_call){
        .sql = is_break ? pg_session_break_sql : pg_session_inspect_sql,
        .count = is_break ? 3 : 2,
        .params = {sent->key, is_break ? command->owner : command->name, sent->tag},
        .round_trips = &sent->command->round_trips,
        .on_end = on_answered,
        .data = sent};
    pg_calls_run(&all->calls, &sent->call);
}

static void run_on_ghost(struct session *session, struct pg_sent *sent) {
    TAILQ_INSERT_TAIL(&session->line, sent, line);
    pg_session_call(session, pg_session_end_sql);
}

static void run(struct pg_backend *backend, struct pg_sent *sent) {
    struct sessions *all = (struct sessions *)backend;
    const struct lk_command *command = sent->command;
    struct session *session = command->owner ? find(all, command->owner) : NULL;

    if (command->verb == LK_INSPECT || command->verb == LK_BREAK) {
        ask(all, sent);
        return;
    }
    if (session && !session->link && command->verb == LK_RELEASE) {
        sent->session = session;
        run_on_ghost(session, sent);
        return;
    }
    if (session && !session->link && command->verb == LK_ACQUIRE) {
        session->owner[0] = '\0'; /* it is ended, and another begun */
        pg_session_call(session, pg_session_end_sql);
        session = NULL;
    }
    if (!session && command->verb == LK_ACQUIRE)
        session = adopt(all, command);
    if (!session || !session->link) {
        pg_answer(sent, command->verb == LK_ACQUIRE ? LK_NOMEM : LK_LOST);
        return;
    }
    sent->session = session;
    TAILQ_INSERT_TAIL(&session->line, sent, line);
    if (command->verb == LK_RELEASE)
        session->is_given_up = true;
    pg_session_serve(session);
}

/* What it leaves is cleared away when its session has time. */
static enum lk_status expire(struct pg_backend *backend, struct pg_sent *sent) {
    struct sessions *all = (struct sessions *)backend;
    struct session *session = sent->session;
    enum lk_verb verb = sent->command->verb;

    if (sent->is_called)
        return pg_calls_forget(&all->calls, &sent->call) ? LK_UNKNOWN : LK_UNAVAILABLE;
    if (session->running == sent) {
        session->running = NULL;
        return LK_UNKNOWN;
    }
    TAILQ_REMOVE(&session->line, sent, line);
    if (verb != LK_ACQUIRE || session->is_used)
        return LK_UNKNOWN;
    if (TAILQ_EMPTY(&session->line))
        pg_session_become_nobodys(session); /* it goes on opening, for the next */
    return LK_UNAVAILABLE;
}

static void init(struct pg_backend *backend) {
    struct sessions *all = (struct sessions *)backend;

    pg_calls_init(&all->calls, backend, 1);
    TAILQ_INIT(&all->list);
}

static void close_all(struct pg_backend *backend) {
    struct sessions *all = (struct sessions *)backend;
    struct session *session;

    pg_calls_close(&all->calls);
    while ((session = TAILQ_FIRST(&all->list))) {
        if (session->link)
            pg_link_close(session->link);
        TAILQ_REMOVE(&all->list, session, entry);
        free(session);
    }
}

const struct pg_mode pg_session_mode = {
    .name = "session",
    .caps = LK_CAP_TTL | LK_CAP_SESSION | LK_CAP_FAIR | LK_CAP_EVENTS | LK_CAP_FENCE_LINEAR |
            LK_CAP_CROSS_PROCESS | LK_CAP_SHARED | LK_CAP_BREAK | LK_CAP_WAITERS | LK_CAP_HANDOVER,
    .size = sizeof(struct sessions),
    .init = init,
    .run = run,
    .expire = expire,
    .close = close_all,
};
