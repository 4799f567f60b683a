/* Shared by the two files of the Postgres pool: pg.c has the queue and the clock, pg_conn.c one
 * connection. */
#ifndef UVKIT_PG_INTERNAL_H
#define UVKIT_PG_INTERNAL_H

#include "log.h"
#include "pg.h"
#include "pg_link.h"

#define PG_NEVER          INT64_MAX
#define PG_STATEMENTS_MAX 256 /* of a program */

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
    PG_CONN_PREPARING, /* nothing of `query` is sent yet */
    PG_CONN_RUNNING,   /* `query` was handed to libpq */
    PG_CONN_ROLLING_BACK,
    PG_CONN_PIPELINING, /* queries in its slots were handed to libpq */
};

/* A query that was sent in pipeline mode and is not answered yet. */
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
    int64_t due_ms;         /* end of the pause, the query or the roll-back */
    const struct pg_statement *prepared[PG_STATEMENTS_MAX];
    unsigned prepared_count;
    unsigned failures; /* to connect, in a row */
    bool was_open;
    bool is_held;
    struct pg_slot *slots; /* a ring of `in_flight`; NULL when not in pipeline mode */
    unsigned slot_first, slot_count;
    int64_t head_ms;   /* when the first one became the first */
    bool is_cancelled; /* a cancel request was made: nothing more is sent */
    bool is_stalled;   /* the first one is slow */
    bool is_stale;     /* its session is lost: it gets nothing new, and is closed once idle */
};

TAILQ_HEAD(pg_queries, pg_query);

struct pg_pool {
    uv_timer_t timer; /* the one clock, for all deadlines and for ended queries */
    int64_t due_ms;   /* the timer fires then */
    char *name;
    struct pg_links links;
    struct pg_queries queue, ended; /* waiting queries; ended ones with a fiber that must go on */
    struct pg_queries pipelined;    /* waiting for a connection in pipeline mode */
    unsigned queue_limit;
    struct pg_pool_stats stats; /* pg_pool_stats() counts the connections */
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
    struct pg_conn conns[]; /* the first points to the slots of all */
};

/* pg.c */

/* End the query: its fiber goes on when the loop comes by. `why` may be NULL. */
void pg_pool_end(struct pg_pool *pool, struct pg_query *query, enum pg_status status,
                 const char *why);
/* Put it at the front or the end of the queue. Nothing of it may have been sent. */
void pg_pool_enqueue(struct pg_pool *pool, struct pg_query *query, bool is_first);
/* Make the timer fire at `due_ms` or before. */
void pg_pool_arm(struct pg_pool *pool, int64_t due_ms);

/* pg_conn.c */

/* The connection for the next query: an idle one, or one in pipeline mode with the fewest in flight
 * and room for more. With pipelines, an idle one only while all of them stall. NULL: there is none.
 */
struct pg_conn *pg_conn_find(struct pg_pool *pool, bool is_pipelined);
/* Run `query` on an idle connection, or on one in pipeline mode with room. It may end, or go back
 * to the queue, at once. */
void pg_conn_run(struct pg_conn *conn, struct pg_query *query);
/* Make it ready for the next query: IDLE, after a ROLLBACK if it is not held and has an open
 * transaction. */
void pg_conn_settle(struct pg_conn *conn);
/* `due_ms` has come. */
void pg_conn_expire(struct pg_conn *conn);
/* Close it and end its queries. Open it again after a pause, unless it is held or the pool closes.
 */
void pg_conn_fail(struct pg_conn *conn, const char *why);

#endif
