/* One connection to Postgres on the loop: it opens by itself, runs one statement at a time, and
 * tells its end.
 *
 * It has a deadline for opening alone. Its user has those of statements, and closes it. */
#ifndef LOCKKIT_PG_LINK_H
#define LOCKKIT_PG_LINK_H

#include "pg_host.h"

#include <libpq-fe.h>
#include <stdbool.h>
#include <uv.h>

#define PG_LINK_WHY_SIZE 200

struct pg_link;

enum pg_link_end {
    PG_LINK_CUT,     /* the connection broke, or was never made: the server may not know yet */
    PG_LINK_ENDED,   /* the server ended the session: what it held is free */
    PG_LINK_REFUSED, /* set_up() has refused it, and then nothing was run */
};

struct pg_link_events {
    void (*on_open)(void *data);
    /* The statement has ended. `result` is the first error, or else the last result; the receiver
     * clears it. Another statement may be run at once. */
    void (*on_result)(void *data, PGresult *result);
    void (*on_notice)(void *data, const char *payload); /* by NOTIFY; or NULL */
    /* Nothing follows, and the link is gone. */
    void (*on_end)(void *data, enum pg_link_end end, const char *why);
};

/* What the links to one place share. The opener of the links fills in the first part. */
struct pg_links {
    uv_loop_t *loop;
    const char *conninfo; /* pg_conninfo_make()'s */
    const char *name;     /* application_name, unless the conninfo has one */
    int64_t timeout_ms;   /* to open a link */
    /* Make a session ready. It is called with NULL once the link is connected, then with the result
     * of each statement that it has run, until it calls pg_link_settled() or pg_link_refuse(). */
    void (*set_up)(struct pg_link *link, const PGresult *result);
    void (*on_none)(void *data); /* the last one is gone */
    void *data;

    struct pg_host host; /* of `conninfo`; its lookups may outlive the links */
    unsigned count;
};

enum pg_link_state { PG_LINK_CONNECTING, PG_LINK_SETTING, PG_LINK_OPEN };

/* Users read the first part. */
struct pg_link {
    PGconn *pg;     /* NULL while its host is looked up */
    bool is_direct; /* set_up() says so: no pooler lends its session to others */

    struct pg_links *links;
    const struct pg_link_events *events;
    void *data;
    enum pg_link_state state;
    bool is_running;     /* a statement */
    bool is_closed;      /* no event any more; freed when the last handle has gone */
    struct pg_dial dial; /* when CONNECTING */
    PGresult *result;    /* the first error, or else the last, of what runs */
    struct pg_watch *watch;
    uv_timer_t timer;                /* until it is open; and for what failed inside a call */
    unsigned handles;                /* not yet closed */
    char farewell[PG_LINK_WHY_SIZE]; /* with which the server ended the session */
};

/* NULL without memory. No event comes inside a call. */
struct pg_link *pg_link_open(struct pg_links *links, const struct pg_link_events *events,
                             void *data);
/* For set_up(), as its last line. */
void pg_link_settled(struct pg_link *link);
void pg_link_refuse(struct pg_link *link, const char *why);
/* Run a statement on a link that runs none. `sql` with $1 ..., in text; several statements only
 * without `params`. */
void pg_link_run(struct pg_link *link, const char *sql, int count, const char *const *params);
/* No event follows. */
void pg_link_close(struct pg_link *link);

/* The message of an error, in one line. */
void pg_link_why(char why[PG_LINK_WHY_SIZE], const char *message);

#endif
