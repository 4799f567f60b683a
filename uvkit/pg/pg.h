/* Postgres on libuv: a pool of libpq connections with prepared statements and a deadline per query.
 *
 * Each connection runs one query at a time; queries beyond the pool wait in a bounded queue, first
 * come first served. A statement is prepared on a connection the first time it is used there. A
 * connection that breaks is opened again with a growing, jittered pause; while none is open,
 * queries wait in the queue until their deadline, so that a restart of the server shorter than that
 * goes unnoticed.
 *
 * Where it connects, and what its sessions are set to, the conninfo and the pool's options say, and
 * no variable of the environment (pg_conninfo.h). No setting of server, database or role changes
 * what a statement does, or how its result reads: pg.c has the list. What the database says
 * of being read only holds.
 *
 * A query takes effect at most once. What was sent and not answered is UNKNOWN: it may have
 * committed, or may still commit; the connection is then closed, after a cancel request to the
 * server.
 *
 * Some of the connections may be in libpq's pipeline mode: each has up to `in_flight` queries sent
 * and unanswered, which the server runs one after another, each a transaction of its own that fails
 * alone. That serves a row that all want: few connections contend for it, and none of them waits
 * for us. All queries go there, to the connection with the fewest in flight, but for those on a
 * held connection; holds get the other connections. When a connection breaks, all that it has in
 * flight is UNKNOWN, the rest waits on.
 *
 * One that takes long holds up those that were sent behind it. So no more are sent to a connection
 * whose first query has been running for `stall_ms`; while all are such, queries go to connections
 * that are not in pipeline mode, one on each.
 *
 * A query in pipeline mode may take `answer_ms` beyond its deadline. At its deadline, or later when
 * it becomes the first that is unanswered, the server is asked to cancel it, and the answer tells
 * what became of it: 57014 is REJECTED. Without an answer it is UNKNOWN; its connection is closed
 * if it was the first, else its answer is dropped when it comes. A cancel request that comes late
 * strikes the next query; so the connection is sent nothing more, and closed when all is answered,
 * and what was struck goes back to the queue, as it had no effect, and is sent again.
 *
 * A session can be lost although its connection stands: one that was opened while the database was
 * read only stays so, and a pooler or an administrator may take its statements, its role or its
 * tables from it. When one answers so, all sessions are opened anew, and the query, which had no
 * effect, is sent once more; on a held connection it is REJECTED, as it is part of a whole. */
#ifndef UVKIT_PG_H
#define UVKIT_PG_H

#include <libpq-fe.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <uv.h>

enum pg_status {
    PG_OK,
    PG_REJECTED, /* the server refused it: see `sqlstate`; it had no effect */
    PG_NOT_SENT, /* never sent: no connection in time, queue full, or closing; it had no effect */
    PG_UNKNOWN,  /* sent, not answered: it may or may not have taken effect */
};

#define PG_PARAMS_MAX    16
#define PG_MESSAGE_BYTES 160

/* A statement, static const; those of a service are in a *_sql.c file. A program has 256 at most.
 * Parameters and results are in text format. */
struct pg_statement {
    const char *name; /* unique in the program */
    const char *sql;  /* with $1 ... */
    int params;
};

struct pg_pool;
struct pg_conn; /* a connection that one fiber or request chain holds, for a transaction */
struct pg_query;
struct pg_pause;
struct fiber_event;

/* One query: the caller owns it, zeroes it, fills in the first part, and calls pg_query_clear()
 * when it is done with the result. NULL among the parameters is SQL NULL. */
struct pg_query {
    const struct pg_statement
        *statement;  /* or NULL, and then `sql`, unprepared, without parameters */
    const char *sql; /* one command, when the pool has pipelines */
    const char *params[PG_PARAMS_MAX];
    struct pg_conn *on;  /* the held connection to run on, or NULL for any of the pool */
    int64_t deadline_ms; /* a moment, clock_now_ms() */

    /* Filled in when it has ended. */
    enum pg_status status;
    PGresult *result;               /* when OK, else NULL; pg_query_clear() frees it */
    int64_t affected;               /* rows touched or returned, when OK */
    char sqlstate[6];               /* when REJECTED, such as "23505"; else "" */
    char message[PG_MESSAGE_BYTES]; /* when not OK: why, in one line */

    struct {
        TAILQ_ENTRY(pg_query) entry; /* in the queue, or among the ended */
        struct fiber_event *ended;   /* what its fiber waits for */
        struct pg_conn *held;        /* what a hold was given */
        bool is_hold, is_preparation;
        struct pg_pause *again; /* it was sent before, to a session that was not what it was */
    } internal;
};

/* Zero means the default in brackets. */
struct pg_pool_options {
    const char *conninfo; /* libpq connection string or URL; copied; never logged */
    const char *name;     /* application_name, and the name in logs */
    const char *settings; /* "-c name=value ..." of each session: they win over those of
                             the conninfo; or NULL */
    bool is_pooled;       /* by a pooler, which takes no settings: the sessions are others' */
    unsigned connections; /* [8] */
    unsigned pipelines;   /* of these, in pipeline mode; at least one is not [0] */
    unsigned in_flight;   /* queries on each of those [16] */
    unsigned queue;       /* queries and holds that may wait [1,024] */
    uint64_t answer_ms;   /* see above [200] */
    uint64_t stall_ms;    /* see above [20] */
    uint64_t connect_timeout_ms; /* [2,000] */
};

struct pg_pool_stats {
    unsigned connections, idle, held, queued; /* now */
    uint64_t queries;                         /* answered since the start */
    uint64_t reconnects;
};

/* Open a pool: it connects by itself, in the background; libpq blocks the loop only while it looks
 * a host name up, so prefer an address. 0, or a negative libuv code (UV_EINVAL for a conninfo that
 * libpq cannot parse), and then there is nothing to undo. */
__attribute__((warn_unused_result)) int pg_pool_open(struct pg_pool **pool, uv_loop_t *loop,
                                                     const struct pg_pool_options *options);
/* Pending queries end (NOT_SENT or UNKNOWN); held connections count as broken from now on; then
 * `cb` runs exactly once, later, on the loop, with the pool freed. Every hold must have been given
 * back by then. */
typedef void (*pg_pool_cb)(void *data);
void pg_pool_close(struct pg_pool *pool, pg_pool_cb cb, void *data);

/* True when at least one connection is open. */
bool pg_pool_is_up(const struct pg_pool *pool);
void pg_pool_stats(const struct pg_pool *pool, struct pg_pool_stats *stats);

/* In a fiber: run a query; returns when it has ended. */
enum pg_status pg_query_await(struct pg_pool *pool, struct pg_query *query);
void pg_query_clear(struct pg_query *query);
/* Why it did not succeed, as what a database does: "is read only". Unlike `message`, which may name
 * hosts, users and tables, it is fit for everybody. */
void pg_query_reason(const struct pg_query *query, char reason[PG_MESSAGE_BYTES]);

/* In a fiber, too: hold a connection for several queries, such as a transaction. NULL when there
 * was none by the deadline. Of several connections one is never held, so that queries that need no
 * hold go on, whatever those that do wait for. pg_give_back() rolls back what is still open on it
 * before others use it. */
struct pg_conn *pg_hold(struct pg_pool *pool, int64_t deadline_ms);
void pg_give_back(struct pg_conn *conn);

/* In a fiber: see to it that the held connection `query->on` knows `query->statement`, so that a
 * query of it that follows is sent at once. Sends nothing else, and is never UNKNOWN. */
enum pg_status pg_prepare_await(struct pg_pool *pool, struct pg_query *query);

/* Results: text of a field ("" for NULL), and as a number (0 for NULL). */
const char *pg_text(const struct pg_query *query, int row, int column);
int64_t pg_int(const struct pg_query *query, int row, int column);

#endif
