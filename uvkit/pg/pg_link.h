/* One connection to Postgres on the loop, below any pool. It opens by itself, runs statements, and
 * tells its user their results and its end.
 *
 * It runs one statement at a time. Once its user has entered libpq's pipeline mode it runs several,
 * each with its own Sync. Its only deadline is for opening: its user has deadlines for statements.
 *
 * Some errors leave open whether a statement took effect, and end the link: a FATAL one, one that
 * is not the server's, SQLSTATE 40003, class 08. A COPY ends it, too. */
#ifndef UVKIT_PG_LINK_H
#define UVKIT_PG_LINK_H

#include "addresses.h"

#include <libpq-fe.h>
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#define PG_LINK_WHY_SIZE 200

struct pg_link;

enum pg_link_end {
    PG_LINK_CUT,     /* the connection broke, or was never made: the server may not know yet */
    PG_LINK_ENDED,   /* the server ended the session: everything that it held is free */
    PG_LINK_REFUSED, /* set_up() refused it; nothing was run */
};

struct pg_link_events {
    void (*on_open)(void *data);
    /* The first unanswered statement has ended. `result` is its first error, or else its last
     * result. The receiver clears it. Another statement may be run at once. */
    void (*on_result)(void *data, PGresult *result);
    void (*on_notice)(void *data, const char *payload); /* by NOTIFY; or NULL */
    /* The last event. The link closes itself when this returns. */
    void (*on_end)(void *data, enum pg_link_end end, const char *why);
};

/* Shared by all links to one place. The opener of the links fills in the first part. */
struct pg_links {
    uv_loop_t *loop;
    char *conninfo;     /* pg_conninfo_make()'s; pg_links_free() frees it */
    const char *name;   /* application_name, unless the conninfo has one */
    int64_t timeout_ms; /* to open a link */
    /* Make a session ready. Called with NULL once the link is connected, then with the result of
     * each statement that it runs, until it calls pg_link_settled() or pg_link_refuse(). */
    void (*set_up)(struct pg_link *link, const PGresult *result);
    /* Links may have had events, or one is gone. Called in the last line of the loop's callback. */
    void (*on_turn)(void *data);
    void *data;

    char *host;                       /* the name to look up; NULL: libpq finds the server */
    struct sockaddr_storage answered; /* the last address that accepted us: tried first */
    unsigned count, lookups;          /* not yet gone: a lookup may outlive its link */
};

enum pg_link_state {
    PG_LINK_TRYING,  /* its addresses, in turn */
    PG_LINK_REACHED, /* the server accepts it, or not */
    PG_LINK_SETTING, /* set_up() runs statements */
    PG_LINK_OPEN,
};

/* Users may read the first part. */
struct pg_link {
    PGconn *pg;       /* NULL while its host is looked up, and once it is closed */
    PGresult *result; /* of the first unanswered statement: its first error, or else its last
                         result so far; or NULL */
    unsigned nth;     /* number of that result, from 0; in on_result() of the given one */
    enum pg_link_state state;
    unsigned running; /* unanswered statements */
    bool is_direct;   /* set by set_up(): no pooler lends its session to others */

    struct pg_links *links;
    const struct pg_link_events *events;
    void *data;
    bool is_closed;           /* no more events; freed when the last handle is closed */
    struct pg_lookup *lookup; /* NULL when none is under way */
    struct addresses addresses;
    int64_t until_ms; /* limit for opening */
    struct pg_watch *watch;
    uv_timer_t timer;                /* until it is open; and for failures inside a call */
    unsigned handles;                /* not yet closed */
    char farewell[PG_LINK_WHY_SIZE]; /* the server's reason for ending the session */
};

/* 0 or UV_ENOMEM. Free it when no link and no lookup is left. */
__attribute__((warn_unused_result)) int pg_links_init(struct pg_links *links);
bool pg_links_are_gone(const struct pg_links *links);
void pg_links_free(struct pg_links *links);

/* NULL without memory. No event comes inside a call, except inside pg_link_read(). */
struct pg_link *pg_link_open(struct pg_links *links, const struct pg_link_events *events,
                             void *data);
/* For set_up(), in its last line. */
void pg_link_settled(struct pg_link *link);
void pg_link_refuse(struct pg_link *link, const char *why);
/* Run a statement on a link that runs none. `sql` may have $1 ..., in text format. Several
 * statements are possible only without `params`. */
void pg_link_run(struct pg_link *link, const char *sql, int count, const char *const *params);
/* The same for a statement that went to libpq: `is_taken` is the result of PQsend...(). */
void pg_link_sent(struct pg_link *link, int is_taken);
/* Take everything that has arrived. The events come inside this call. */
void pg_link_read(struct pg_link *link);
/* Ask the server, in a while, to stop the running statement. `is_often`: again after 100 ms and 1
 * s, because a server that has not begun the statement ignores the request. */
void pg_link_cancel(struct pg_link *link, bool is_often);
/* No event follows this call. */
void pg_link_close(struct pg_link *link);

/* The first line of `text`, printable (utf8.h), cut between characters. */
void pg_first_line(char *line, size_t size, const char *text);
bool pg_is_error(const PGresult *result); /* NULL, too */
/* An error after which it is certain that the statement had no effect. */
bool pg_is_refused(const PGresult *result);
bool pg_has_state(const PGresult *result, const char *sqlstate);
const char *pg_error_text(const PGresult *result);

/* ---- Errors of a session that has changed since it was opened. The refused statement had no
 * effect; a new session may run it. */

/* By SQLSTATE. Not whole classes: a new session mends no syntax error and no damaged index. */
#define PG_STALES(X)                                                                               \
    X(RESULT, "0A000")    /* ALTER TABLE has changed the type of a plan's result */                \
    X(READ_ONLY, "25006") /* the database was read only when the session was opened */             \
    X(STATEMENT, "26000") /* no such prepared statement */                                         \
    X(SCHEMA, "3F000")    /* no such schema */                                                     \
    X(RIGHT, "42501")     /* the session has another role */                                       \
    X(COLUMN, "42703")    /* no such column: the search_path finds another table */                \
    X(OBJECT, "42704")    /* no such type */                                                       \
    X(FUNCTION, "42883")  /* no such function */                                                   \
    X(TABLE, "42P01")     /* no such table */                                                      \
    X(PREPARED, "42P05")  /* a statement of that name is prepared already */                       \
    X(CACHE, "XX000")     /* its caches have lost an entry */

#define X(name, sqlstate) PG_STALE_##name,
enum pg_stale { PG_STALE_NOT, PG_STALES(X) PG_STALE_KINDS };
#undef X

/* PG_STALE_NOT for a success, and for any other error. */
enum pg_stale pg_stale(const PGresult *result);

/* No session is renewed before `until_ms`. The next pause is longer than `length_ms`. */
struct pg_pause {
    int64_t until_ms, length_ms;
};

/* True when a renewal for this kind of error is due; then the next pause begins. */
bool pg_stale_is_due(struct pg_pause *pause, enum pg_stale kind, int64_t now_ms);

#endif
