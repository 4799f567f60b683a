/* Postgres on libuv: a pool of libpq connections with prepared statements and a deadline per query.
 *
 * Each connection runs one query at a time. Further queries wait in a bounded queue, first come
 * first served. A statement is prepared on a connection at its first use there. A broken connection
 * is opened again after a growing, jittered pause. While none is open, queries wait in the queue
 * until their deadline, so nobody notices a restart of the server that is shorter.
 *
 * Only the conninfo and the pool's options decide where it connects and how its sessions are set,
 * and no variable of the environment (pg_conninfo.h). No setting of server, database or role
 * changes the effect of a statement or the form of its result: pg.c has the list. But a database
 * that is read only stays so.
 *
 * A query takes effect at most once. A query that was sent and not answered is UNKNOWN: it may have
 * committed, or may still commit. Its connection is then closed, after a cancel request to the
 * server.
 *
 * Some connections may be in libpq's pipeline mode. Each then has up to `in_flight` queries sent
 * and unanswered. The server runs them one after another, each as a transaction of its own that
 * fails alone. This serves a row that all want: few connections contend for it, and none of them
 * waits for us. All queries go there, to the connection with the fewest in flight, except queries
 * on a held connection. Holds get the other connections. When a connection breaks, all its queries
 * in flight are UNKNOWN, and the rest waits on.
 *
 * A slow query holds up the queries that were sent behind it. So a connection gets no more once its
 * first query has run for `stall_ms`. While all are in that state, queries go to the connections
 * without pipeline mode, one on each.
 *
 * A query in pipeline mode may take `answer_ms` beyond its deadline. At its deadline, or later when
 * it becomes the first unanswered one, the server is asked to cancel it, and the answer tells the
 * result: 57014 is REJECTED. Without an answer it is UNKNOWN. Then its connection is closed if it
 * was the first; otherwise its answer is dropped when it comes. A late cancel request strikes the
 * next query. So the connection gets nothing more, and is closed when all is answered. A struck
 * query had no effect: it goes back to the queue and is sent again.
 *
 * A session can be lost although its connection stands. One that was opened while the database was
 * read only stays read only. A pooler or an administrator may take its statements, its role or its
 * tables. When an answer shows that, all sessions are opened anew, and the query, which had no
 * effect, is sent once more. On a held connection it is REJECTED, because it is part of a whole. */
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
    PG_UNKNOWN,  /* sent, but not answered: it may or may not have taken effect */
};

#define PG_PARAMS_MAX    16
#define PG_MESSAGE_BYTES 160

/* A statement, static const, in a service's *_sql.c file. A program has 256 at most. Results are in
 * text format, and so are parameters without a length. */
struct pg_statement {
    const char *name; /* unique in the program */
    const char *sql;  /* with $1 ... */
    int params;
};

struct pg_pool;
struct pg_conn; /* a connection held by one fiber or request chain, for a transaction */
struct pg_query;
struct pg_pause;
struct fiber_event;

/* One query. The caller owns it, zeroes it, fills in the first part, and calls pg_query_clear()
 * after it has used the result. NULL among the parameters is SQL NULL. */
struct pg_query {
    const struct pg_statement
        *statement;  /* or NULL: then `sql` runs, unprepared, without parameters */
    const char *sql; /* one command, when the pool has pipelines */
    const char *params[PG_PARAMS_MAX];
    int lengths[PG_PARAMS_MAX]; /* bytes of a parameter in binary format (pg_array.h); 0: text */
    struct pg_conn *on;         /* the held connection to run on, or NULL for any of the pool */
    int64_t deadline_ms;        /* a moment, clock_now_ms() */

    /* Filled in when it has ended. */
    enum pg_status status;
    PGresult *result;               /* when OK, else NULL; pg_query_clear() frees it */
    int64_t affected;               /* rows touched or returned, when OK */
    char sqlstate[6];               /* when REJECTED, such as "23505"; else "" */
    char message[PG_MESSAGE_BYTES]; /* why it is not OK, in one line */

    struct {
        TAILQ_ENTRY(pg_query) entry; /* in the queue, or in the list of ended queries */
        struct fiber_event *ended;   /* its fiber waits for it */
        struct pg_conn *held;        /* the connection that a hold got */
        bool is_hold, is_preparation, has_ended;
        struct pg_pause *again; /* it was sent before, to a session that was lost */
    } internal;
};

/* Zero means the default in brackets. */
struct pg_pool_options {
    const char *conninfo; /* libpq connection string or URL; copied; never logged */
    const char *name;     /* application_name, and the name in logs */
    const char *settings; /* "-c name=value ..." of each session: they win over those of
                             the conninfo; or NULL */
    bool is_pooled;       /* behind a pooler, which takes no settings: sessions belong to others */
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

/* Open a pool. It connects by itself, in the background. libpq blocks the loop only while it looks
 * up a host name, so prefer an address. 0; or a negative libuv code (UV_EINVAL for a conninfo that
 * libpq cannot parse), and then there is nothing to undo. */
__attribute__((warn_unused_result)) int pg_pool_open(struct pg_pool **pool, uv_loop_t *loop,
                                                     const struct pg_pool_options *options);
/* Close. Pending queries end (NOT_SENT or UNKNOWN), and held connections count as broken from now
 * on. Then `cb` runs exactly once, later, on the loop, with the pool freed. Every hold must have
 * been given back by then. */
typedef void (*pg_pool_cb)(void *data);
void pg_pool_close(struct pg_pool *pool, pg_pool_cb cb, void *data);

/* True when at least one connection is open. */
bool pg_pool_is_up(const struct pg_pool *pool);
void pg_pool_stats(const struct pg_pool *pool, struct pg_pool_stats *stats);

/* In a fiber: run a query. Returns when it has ended. */
enum pg_status pg_query_await(struct pg_pool *pool, struct pg_query *query);
void pg_query_clear(struct pg_query *query);
/* Why the query did not succeed, in words about the database: "is read only". Unlike `message`,
 * which may name hosts, users and tables, it may be shown to everybody. */
void pg_query_reason(const struct pg_query *query, char reason[PG_MESSAGE_BYTES]);

/* In a fiber: hold a connection for several queries, such as a transaction. NULL when there was
 * none by the deadline. If there are several connections, one is never held, so queries without a
 * hold go on while holds wait. A free one is held at once, without a turn of the loop.
 * pg_give_back() rolls back an open transaction before others use the connection. */
struct pg_conn *pg_hold(struct pg_pool *pool, int64_t deadline_ms);
void pg_give_back(struct pg_conn *conn);

/* In a fiber: prepare `query->statement` on the held connection `query->on`, so that its next query
 * there is sent at once. Sends nothing else, and is never UNKNOWN. A statement that the session
 * knows takes no turn of the loop. */
enum pg_status pg_prepare_await(struct pg_pool *pool, struct pg_query *query);

/* Results: text of a field ("" for NULL), and as a number (0 for NULL). */
const char *pg_text(const struct pg_query *query, int row, int column);
int64_t pg_int(const struct pg_query *query, int row, int column);

#endif
