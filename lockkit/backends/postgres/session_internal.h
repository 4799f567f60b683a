/* One session of mode=session, and all of a client: session.c is the life of one, session_mode.c
 * gives them their work. */
#ifndef LOCKKIT_SESSION_INTERNAL_H
#define LOCKKIT_SESSION_INTERNAL_H

#include "postgres_internal.h"
#include "session_sql.h"

enum statement { NOTHING, TRY, WAIT, CHECK, UNLOCK, CLEAN };

struct session {
    struct sessions *all;
    TAILQ_ENTRY(session) entry;
    struct pg_link *link; /* NULL: a ghost */
    bool is_open;
    char owner[OWNER_SIZE]; /* "": nobody's */
    char tag[SESSION_TAG_SIZE];
    char name[NAME_MAX_BYTES + 1];
    char key[PG_NUMBER_SIZE], pid[PG_NUMBER_SIZE];
    enum lk_mode mode;
    enum statement statement; /* that is under way */
    struct pg_sent *running;  /* for which, if that is still waited for */
    struct pg_line line;      /* what is to be done after it */
    bool is_used;             /* something was run for its owner */
    bool is_held;
    bool is_given_up; /* its owner wants it no more */
    uint64_t fence;
    struct pg_call call; /* on another connection: to cancel its wait, or to end a ghost */
    bool is_called, is_cancelled;
    int64_t idle_since_ms;
};

struct sessions {
    struct pg_backend backend;
    struct pg_calls calls;
    TAILQ_HEAD(, session) list; /* those that were used last come first */
};

/* Of its connection. */
extern const struct pg_link_events pg_session_events;

/* Whatever is to be done next. */
void pg_session_serve(struct session *session);
/* Of its pid and tag, once on another connection, unless something is. */
void pg_session_call(struct session *session, const char *sql);
/* It has no work, and waits for another owner; too many that do are closed. */
void pg_session_become_nobodys(struct session *session);
bool pg_session_is_idle(const struct session *session);
void pg_session_close(struct session *session); /* that is idle */

#endif
