/* One connection to Postgres on the loop: it opens by itself, runs one statement at a time, and
 * says when it is over.
 *
 * It has no deadlines: who uses it has them, and closes it. Opening it sets what locks need for the
 * session, and makes the table when it is missing; but changes nothing of a session that a pooler
 * lends (`is_direct`), since others get it next. */
#ifndef LOCKKIT_PG_LINK_H
#define LOCKKIT_PG_LINK_H

#include "pg_host.h"

#include <libpq-fe.h>
#include <stdbool.h>
#include <uv.h>

#define PG_LINK_WHY_SIZE 200

enum pg_link_end {
    PG_LINK_CUT,     /* the connection broke, or was never made: the server may not know yet */
    PG_LINK_ENDED,   /* the server ended the session: what it held is free */
    PG_LINK_REFUSED, /* let in, but no place for locks, and then nothing was run */
};

struct pg_link;

struct pg_link_events {
    void (*on_open)(void *data);
    /* What was run has ended: the first error, or else the last result, to be cleared by who gets
     * it. Another statement may be run at once. */
    void (*on_result)(void *data, PGresult *result);
    void (*on_notice)(void *data, const char *payload); /* by NOTIFY; or NULL */
    /* Nothing follows, and the link is gone. */
    void (*on_end)(void *data, enum pg_link_end end, const char *why);
};

/* Where links lead to, and how many there are: set up by whoever opens them. */
struct pg_links {
    uv_loop_t *loop;
    const char *conninfo;
    struct pg_host host; /* of `conninfo`; its lookups may outlive the links */
    unsigned count;
    void (*on_none)(void *data); /* the last one is gone */
    void *data;
};

/* NULL without memory. No event comes inside a call. */
struct pg_link *pg_link_open(struct pg_links *links, const struct pg_link_events *events,
                             void *data);
/* Of one that is open and runs nothing. `sql` with $1 ..., in text; several statements only when
 * there are no `params`. */
void pg_link_run(struct pg_link *link, const char *sql, int count, const char *const *params);
/* Once open. False: a pooler stands between, and each statement may find another session. */
bool pg_link_is_direct(const struct pg_link *link);
int pg_link_pid(const struct pg_link *link);
/* No event follows. */
void pg_link_close(struct pg_link *link);

/* The message of an error, in one line. */
void pg_link_why(char why[PG_LINK_WHY_SIZE], const char *message);

#endif
