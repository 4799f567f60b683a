/* What the two files of the Postgres pool share: pg.c has the queue and the clock, pg_conn.c one
 * connection. */
#ifndef UVKIT_PG_INTERNAL_H
#define UVKIT_PG_INTERNAL_H

#include "log.h"
#include "pg.h"
#include "pg_link.h"

#define PG_NEVER          INT64_MAX
#define PG_STATEMENTS_MAX 256 /* that a program has */

/*
 *    DOWN --(pause over)--> OPENING -----> IDLE <------------------------+
 *      ^                        |          |  ^                          |
 *      |                        |          |  +-- ROLLING_BACK <-(give_back, transaction open)
 *      +------(any failure)-----+          +--> PREPARING --> RUNNING ---+
 *                                          +-------------------^
 * One in pipeline mode goes IDLE -> PIPELINING -> IDLE, and is never held. A held connection goes
 * IDLE -> PREPARING -> RUNNING -> IDLE with `is_held` set throughout; when it breaks it stays DOWN
 * until it is given back. */
enum pg_conn_state {
    PG_CONN_DOWN,
    PG_CONN_OPENING,
    PG_CONN_IDLE,
    PG_CONN_PREPARING, /* of `query` nothing is sent yet */
    PG_CONN_RUNNING,   /* `query` was handed to libpq */
    PG_CONN_ROLLING_BACK,
    PG_CONN_PIPELINING, /* queries in its slots were handed to libpq */
};

/* A query that was sent in pipeline mode and is not answered. */
struct pg_slot {
    struct pg_query *query; /* NULL: it has ended, and its answer is dropped */
    const struct pg_statement *statement;
    int64_t deadline_ms;
    bool is_parsed;    /* its statement is parsed first */
    bool is_cancelled; /* the server was asked to */
};

struct pg_conn {
    struct pg_pool *pool;
    enum pg_conn_state state;
    struct pg_link *link;   /* NULL when DOWN */
    struct pg_query *query; /* when PREPARING or RUNNING */
    int64_t due_ms;         /* when the pause, the query or the roll-back ends */
    const struct pg_statement *prepared[PG_STATEMENTS_MAX];
    unsigned prepared_count;
    unsigned failures; /* to connect, in a row */
    bool was_open;
    bool is_held;
    struct pg_slot *slots; /* a ring of `in_flight`; NULL when not in pipeline mode */
    unsigned slot_first, slot_count;
    int64_t head_ms;   /* since when the first one is the first */
    bool is_cancelled; /* a request to cancel was made: nothing more is sent */
    bool is_stalled;   /* the first one takes long */
    bool is_stale;     /* its session is lost: it is sent nothing new, and closed once it is idle */
};

TAILQ_HEAD(pg_queries, pg_query);

struct pg_pool {
    uv_timer_t timer; /* the one clock: for all that is due, and to run what ended */
    int64_t due_ms;   /* what the timer is set to */
    char *name;
    struct pg_links links;
    struct pg_queries queue, ended; /* those that wait, those whose fibers are still to go on */
    struct pg_queries pipelined;    /* those that wait for a connection in pipeline mode */
    unsigned queue_limit;
    struct pg_pool_stats stats; /* of the connections, pg_pool_stats() counts */
    char error[160];            /* why the last connection failed */
    bool is_told_down, is_pooled;
    struct pg_pause pauses[PG_STALE_KINDS]; /* between renewals, for each kind of error */
    struct log_limit renewals;
    bool is_closing, is_closed;
    pg_pool_cb on_closed;
    void *close_data;
    unsigned size, pipelines; /* connections; those in pipeline mode, which come first */
    unsigned in_flight;
    int64_t answer_ms, stall_ms;
    struct pg_conn conns[]; /* the first has the slots of all */
};

/* pg.c */

/* The query has ended: its fiber goes on when the loop comes by. `why` may be NULL. */
void pg_pool_end(struct pg_pool *pool, struct pg_query *query, enum pg_status status,
                 const char *why);
/* To the front or the end of the queue; nothing of it may have been sent. */
void pg_pool_enqueue(struct pg_pool *pool, struct pg_query *query, bool is_first);
/* See to it that the timer fires at `due_ms` or before. */
void pg_pool_arm(struct pg_pool *pool, int64_t due_ms);

/* pg_conn.c */

/* The connection for the next query: an idle one, or one in pipeline mode with the fewest in flight
 * and room for more, and an idle one only while all of those stall. NULL: there is none. */
struct pg_conn *pg_conn_find(struct pg_pool *pool, bool is_pipelined);
/* Run `query` on an idle connection, or on one in pipeline mode that has room. It may end, or go
 * back to the queue, at once. */
void pg_conn_run(struct pg_conn *conn, struct pg_query *query);
/* Make it ready for the next query: IDLE, after a ROLLBACK if it is not held and a transaction is
 * open. */
void pg_conn_settle(struct pg_conn *conn);
/* `due_ms` has come. */
void pg_conn_expire(struct pg_conn *conn);
/* Close it, end its queries, and open it again after a pause unless it is held or the pool closes.
 */
void pg_conn_fail(struct pg_conn *conn, const char *why);

#endif
