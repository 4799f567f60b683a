/* What the files of the Postgres pool share: pg.c has the queue and the clock, pg_options.c the
 * texts, pg_conn.c brings one connection up and down, pg_run.c runs one query on it, pg_pipeline.c
 * several; pg_renew.c knows a session that is not what it was. Below them is pg_link.h. */
#ifndef UVKIT_PG_INTERNAL_H
#define UVKIT_PG_INTERNAL_H

#include "log.h"
#include "pg.h"
#include "pg_link.h"
#include "pg_stale.h"

#define PG_NEVER          INT64_MAX
#define PG_STATEMENTS_MAX 256 /* that a program has */

/*
 *    DOWN --(pause over)--> OPENING -----> IDLE <------------------------+
 *      ^                        |          |  ^                          |
 *      |                        |          |  +-- ROLLING_BACK <-(give_back, transaction open)
 *      +------(any failure)-----+          +--> PREPARING --> RUNNING ---+
 *                                          +-------------------^
 * One in pipeline mode goes IDLE -> PIPELINING -> IDLE, and is never held. A held connection goes
 * IDLE -> PREPARING -> RUNNING -> IDLE with `is_held` set
 * throughout; when it breaks it stays DOWN until it is given back. */
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
    bool is_stale;     /* see pg_renew.c: it is sent nothing new, and closed once it is idle */
};

TAILQ_HEAD(pg_queries, pg_query);

struct pg_pool {
    uv_loop_t *loop;
    uv_timer_t timer; /* the one clock: for all that is due, and to run what ended */
    int64_t due_ms;   /* what the timer is set to */
    char *conninfo, *name;
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
    struct pg_slot *slots;
    struct pg_conn conns[];
};

/* pg.c */

/* The query has ended: its fiber goes on when the loop comes by. `why` may be NULL. */
void pg_pool_end(struct pg_pool *pool, struct pg_query *query, enum pg_status status,
                 const char *why);
/* To the front or the end of the queue; nothing of it may have been sent. */
void pg_pool_enqueue(struct pg_pool *pool, struct pg_query *query, bool is_first);
/* See to it that the timer fires at `due_ms` or before. */
void pg_pool_arm(struct pg_pool *pool, int64_t due_ms);
/* Give idle connections to the queue. */
void pg_pool_dispatch(struct pg_pool *pool);
/* Let the fibers go on whose queries ended. The last line of whatever the loop calls. */
void pg_pool_run_ended(struct pg_pool *pool);
/* Fire the close callback once nothing is left. */
void pg_pool_maybe_closed(struct pg_pool *pool);
/* pg_reason.c: log it once that no connection is open any more, or that one is again. */
void pg_pool_tell_down(struct pg_pool *pool);
void pg_pool_tell_up(struct pg_pool *pool);

/* pg_options.c */

/* 0; UV_EINVAL for what libpq cannot parse, or UV_ENOMEM, and then some may be copied. */
int pg_options_copy(struct pg_pool *pool, const struct pg_pool_options *options);

/* pg_conn.c */

/* Of pg_links. */
void pg_conn_set_up(struct pg_link *link, const PGresult *result);
bool pg_conn_is_open(const struct pg_conn *conn);
/* `due_ms` has come. */
void pg_conn_expire(struct pg_conn *conn);
/* Close it, end its query, and open it again after a pause unless it is held or the pool closes. */
void pg_conn_fail(struct pg_conn *conn, const char *why);
/* Close it, which does nothing or is still opening, and open it again at once. */
void pg_conn_renew(struct pg_conn *conn);

/* pg_run.c */

/* Run `query` on an idle connection. It may end, or go back to the queue, at once. */
void pg_run_start(struct pg_conn *conn, struct pg_query *query);
/* Make the connection ready for the next query: IDLE, after a ROLLBACK if it is not held and a
 * transaction is open. */
void pg_run_settle(struct pg_conn *conn);
/* What was sent has ended. Takes `result`. */
void pg_run_finish(struct pg_conn *conn, PGresult *result);
/* The connection is gone, or no longer waited for: end its query, as is right for its state. */
void pg_run_abandon(struct pg_conn *conn, const char *why);
/* End `query`, as `result` says, which is taken. */
void pg_run_end(struct pg_conn *conn, struct pg_query *query, PGresult *result);
void pg_run_end_refused(struct pg_conn *conn, struct pg_query *query, const PGresult *result);
/* An error: the statement is not prepared. */
bool pg_run_is_lost(const PGresult *result, const struct pg_statement *statement);
/* What this connection has prepared. */
bool pg_run_is_prepared(const struct pg_conn *conn, const struct pg_statement *statement);
void pg_run_learn(struct pg_conn *conn, const struct pg_statement *statement);
void pg_run_forget(struct pg_conn *conn, const struct pg_statement *statement);

/* pg_renew.c */

/* `result` refuses `query`. True when it was for a session that is not what it was: then the
 * query is in the queue again, and the session is closed once it is idle. */
bool pg_renew_resends(struct pg_conn *conn, struct pg_query *query, const PGresult *result);

/* pg_pipeline.c */

/* Nothing to be sent for now, because it is down, or its first query takes long. */
bool pg_pipeline_is_stalled(const struct pg_conn *conn);
bool pg_pipeline_has_room(const struct pg_conn *conn);
/* Send `query` on a connection that has room. */
void pg_pipeline_send(struct pg_conn *conn, struct pg_query *query);
/* The first one is answered. Takes `result`. */
void pg_pipeline_finish(struct pg_conn *conn, PGresult *result);
/* `due_ms` has come. */
void pg_pipeline_expire(struct pg_conn *conn);
/* The connection is gone: end its queries. */
void pg_pipeline_abandon(struct pg_conn *conn, const char *why);

#endif
