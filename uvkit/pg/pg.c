/* The Postgres pool: its options, the queue, the clock, and the calls of pg.h.
 *
 * An ended query goes to a list. Its fiber goes on at the end of the loop's present callback, or
 * from the timer if the query ended inside another fiber's call. So no fiber runs inside another.
 */
#include "pg_internal.h"

#include "clock.h"
#include "fiber.h"
#include "pg_conninfo.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_CONNECTIONS            8
#define DEFAULT_QUEUE                  1024
#define DEFAULT_CONNECT_TIMEOUT_MS     2000
#define DEFAULT_IN_FLIGHT              16
#define DEFAULT_ANSWER_MS              200
#define DEFAULT_STALL_MS               20

#define VERSION_OF_TRANSACTION_TIMEOUT 170000

/* The connection string may override these. It alone decides whether a session is read only. */
#define DEFAULTS                                                                                   \
    "-c search_path=\"$user\",public -c synchronous_commit=on -c statement_timeout=0 -c "          \
    "lock_timeout=0"                                                                               \
    " -c idle_in_transaction_session_timeout=0 -c idle_session_timeout=0 "

/* Nothing may override these: the reading of results and the text of statements rely on them. */
#define FIXED                                                                                      \
    " -c default_transaction_isolation=read\\ committed -c default_transaction_deferrable=off"     \
    " -c DateStyle=ISO,MDY -c IntervalStyle=postgres -c TimeZone=UTC -c bytea_output=hex"          \
    " -c extra_float_digits=1 -c standard_conforming_strings=on -c array_nulls=on"                 \
    " -c row_security=on"

static void on_pool_due(uv_timer_t *timer);
static void pool_maybe_closed(struct pg_pool *pool);

void pg_pool_arm(struct pg_pool *pool, int64_t due_ms) {
    int64_t delay_ms = due_ms - (int64_t)uv_now(pool->links.loop);

    if (due_ms >= pool->due_ms || pool->is_closed)
        return;
    pool->due_ms = due_ms;
    (void)uv_timer_start(&pool->timer, on_pool_due, delay_ms > 0 ? (uint64_t)delay_ms : 0, 0);
}

void pg_pool_end(struct pg_pool *pool, struct pg_query *query, enum pg_status status,
                 const char *why) {
    query->status = status;
    query->internal.has_ended = true;
    if (why != NULL)
        pg_first_line(query->message, sizeof(query->message), why);
    TAILQ_INSERT_TAIL(&pool->ended, query, internal.entry);
}

static void pool_run_ended_later(struct pg_pool *pool) {
    if (!TAILQ_EMPTY(&pool->ended))
        pg_pool_arm(pool, 0);
}

static void pool_run_ended(struct pg_pool *pool) {
    struct pg_queries ended = TAILQ_HEAD_INITIALIZER(ended);
    struct pg_query *query;

    /* Only the queries that have ended by now: fibers that run more must not keep the loop here. */
    TAILQ_CONCAT(&ended, &pool->ended, internal.entry);
    while ((query = TAILQ_FIRST(&ended)) != NULL) {
        TAILQ_REMOVE(&ended, query, internal.entry);
        fiber_event_set(query->internal.ended);
    }
    pool_run_ended_later(pool);
    pool_maybe_closed(pool);
}

/* A hold waits for a connection that is not in pipeline mode. */
static struct pg_queries *pool_queue_of(struct pg_pool *pool, const struct pg_query *query) {
    return pool->pipelines > 0 && !query->internal.is_hold ? &pool->pipelined : &pool->queue;
}

void pg_pool_enqueue(struct pg_pool *pool, struct pg_query *query, bool is_first) {
    if (is_first)
        TAILQ_INSERT_HEAD(pool_queue_of(pool, query), query, internal.entry);
    else
        TAILQ_INSERT_TAIL(pool_queue_of(pool, query), query, internal.entry);
    pool->stats.queued++;
    pg_pool_arm(pool, query->deadline_ms);
}

static void pool_dequeue(struct pg_pool *pool, struct pg_query *query) {
    assert(pool->stats.queued > 0);
    TAILQ_REMOVE(pool_queue_of(pool, query), query, internal.entry);
    pool->stats.queued--;
}

static void pool_end_late(struct pg_pool *pool, struct pg_query *query) {
    char why[sizeof(query->message)] = "all connections were busy until the deadline";

    if (!pg_pool_is_up(pool))
        (void)snprintf(why, sizeof(why), "no connection: %.*s", (int)sizeof(why) - 20,
                       pool->error[0] != '\0' ? pool->error : "still connecting");
    pg_pool_end(pool, query, PG_NOT_SENT, why);
}

static void pool_serve(struct pg_conn *conn, struct pg_query *query) {
    struct pg_pool *pool = conn->pool;

    assert(conn->query == NULL);
    if (query->deadline_ms <= clock_now_ms()) {
        pool_end_late(pool, query);
    } else if (query->internal.is_hold) {
        conn->is_held = true;
        query->internal.held = conn;
        pg_pool_end(pool, query, PG_OK, NULL);
    } else {
        pg_conn_run(conn, query);
    }
}

static void pool_dispatch_pipelined(struct pg_pool *pool) {
    struct pg_query *query;
    struct pg_conn *conn;

    while ((query = TAILQ_FIRST(&pool->pipelined)) != NULL &&
           (conn = pg_conn_find(pool, true)) != NULL) {
        pool_dequeue(pool, query);
        pool_serve(conn, query);
    }
}

static unsigned pool_count_held(const struct pg_pool *pool) {
    unsigned count = 0;

    for (unsigned i = 0; i < pool->size; i++)
        count += pool->conns[i].is_held;
    return count;
}

/* The first in the queue. But when all connections except one are held, the first that holds none.
 */
static struct pg_query *pool_find_next(const struct pg_pool *pool) {
    const bool may_hold = pool->size == 1 || pool_count_held(pool) < pool->size - 1;
    struct pg_query *query;

    TAILQ_FOREACH (query, &pool->queue, internal.entry)
        if (may_hold || !query->internal.is_hold)
            break;
    return query;
}

static void pool_dispatch(struct pg_pool *pool) {
    struct pg_query *query;
    struct pg_conn *conn;

    while ((conn = pg_conn_find(pool, false)) != NULL && (query = pool_find_next(pool)) != NULL) {
        pool_dequeue(pool, query);
        pool_serve(conn, query);
    }
    pool_dispatch_pipelined(pool);
}

/* End late queries of a queue, and set the timer for the rest. */
static void pool_expire_queue(struct pg_pool *pool, struct pg_queries *queue, int64_t now_ms) {
    struct pg_query *query = TAILQ_FIRST(queue), *next;

    for (; query != NULL; query = next) {
        next = TAILQ_NEXT(query, internal.entry);
        if (query->deadline_ms > now_ms) {
            pg_pool_arm(pool, query->deadline_ms);
            continue;
        }
        pool_dequeue(pool, query);
        pool_end_late(pool, query);
    }
}

/* The last line of each callback of the loop. */
static void on_pool_turn(void *data) {
    struct pg_pool *pool = data;

    pool_dispatch(pool);
    pool_run_ended(pool);
}

static void on_pool_due(uv_timer_t *timer) {
    struct pg_pool *pool = timer->data;
    int64_t now_ms = clock_now_ms();

    pool->due_ms = PG_NEVER;
    for (unsigned i = 0; i < pool->size; i++) {
        if (pool->conns[i].due_ms <= now_ms)
            pg_conn_expire(&pool->conns[i]);
        pg_pool_arm(pool, pool->conns[i].due_ms);
    }
    pool_expire_queue(pool, &pool->queue, now_ms);
    pool_expire_queue(pool, &pool->pipelined, now_ms);
    on_pool_turn(pool);
}

/* An older server would refuse a session with an option that it does not know. */
static void set_up_session(struct pg_link *link, const PGresult *result) {
    const struct pg_pool *pool = link->links->data;

    if (result != NULL && pg_is_error(result))
        pg_link_refuse(link, pg_error_text(result));
    else if (result == NULL && !pool->is_pooled &&
             PQserverVersion(link->pg) >= VERSION_OF_TRANSACTION_TIMEOUT)
        pg_link_run(link, "SET transaction_timeout = 0", 0, NULL);
    else
        pg_link_settled(link);
}

static void pool_free(struct pg_pool *pool) {
    assert(TAILQ_EMPTY(&pool->queue) && TAILQ_EMPTY(&pool->pipelined) &&
           TAILQ_EMPTY(&pool->ended) && pg_links_are_gone(&pool->links));
    pg_links_free(&pool->links);
    free(pool->conns[0].slots);
    free(pool->name);
    free(pool);
}

/* 0, or UV_ENOMEM. */
static int pool_make_pipelines(struct pg_pool *pool, const struct pg_pool_options *options) {
    struct pg_slot *slots;

    pool->in_flight = options->in_flight != 0 ? options->in_flight : DEFAULT_IN_FLIGHT;
    pool->pipelines = options->pipelines < pool->size ? options->pipelines : pool->size - 1;
    pool->answer_ms = options->answer_ms != 0 ? (int64_t)options->answer_ms : DEFAULT_ANSWER_MS;
    pool->stall_ms = options->stall_ms != 0 ? (int64_t)options->stall_ms : DEFAULT_STALL_MS;
    if (pool->pipelines == 0)
        return 0;
    slots = calloc((size_t)pool->pipelines * pool->in_flight, sizeof *slots);
    if (slots == NULL)
        return UV_ENOMEM;
    for (unsigned i = 0; i < pool->pipelines; i++)
        pool->conns[i].slots = &slots[i * pool->in_flight];
    return 0;
}

/* 0; UV_EINVAL for a string that libpq cannot parse, or UV_ENOMEM; then some may have been made. */
static int pool_make_links(struct pg_pool *pool, uv_loop_t *loop,
                           const struct pg_pool_options *options) {
    const char *settings = options->settings != NULL ? options->settings : "";
    char *after = NULL;
    int rv = UV_ENOMEM;

    pool->is_pooled = options->is_pooled;
    pool->name = strdup(options->name != NULL ? options->name : "postgres");
    pool->links = (struct pg_links){
        .loop = loop,
        .name = pool->name,
        .timeout_ms = options->connect_timeout_ms != 0 ? (int64_t)options->connect_timeout_ms
                                                       : DEFAULT_CONNECT_TIMEOUT_MS,
        .set_up = set_up_session,
        .on_turn = on_pool_turn,
        .data = pool,
    };
    if (pool->name != NULL && asprintf(&after, FIXED " %s", settings) >= 0)
        rv = pg_conninfo_make(&pool->links.conninfo, options->conninfo, "",
                              options->is_pooled ? "" : DEFAULTS, options->is_pooled ? "" : after);
    free(after);
    return rv == 0 ? pg_links_init(&pool->links) : rv;
}

int pg_pool_open(struct pg_pool **result, uv_loop_t *loop, const struct pg_pool_options *options) {
    unsigned size = options->connections != 0 ? options->connections : DEFAULT_CONNECTIONS;
    struct pg_pool *pool = calloc(1, sizeof(*pool) + size * sizeof(pool->conns[0]));
    int rv;

    if (pool == NULL)
        return UV_ENOMEM;
    pool->size = size;
    pool->queue_limit = options->queue != 0 ? options->queue : DEFAULT_QUEUE;
    TAILQ_INIT(&pool->queue);
    TAILQ_INIT(&pool->pipelined);
    TAILQ_INIT(&pool->ended);
    pool->due_ms = PG_NEVER;
    for (unsigned i = 0; i < size; i++)
        pool->conns[i].pool = pool;
    rv = pool_make_links(pool, loop, options);
    if (rv == 0)
        rv = pool_make_pipelines(pool, options);
    if (rv == 0)
        rv = uv_timer_init(loop, &pool->timer);
    if (rv != 0) {
        pool_free(pool);
        return rv;
    }
    pool->timer.data = pool;
    pg_pool_arm(pool, 0);
    *result = pool;
    return 0;
}

static void on_pool_timer_closed(uv_handle_t *handle) {
    struct pg_pool *pool = handle->data;
    pg_pool_cb on_closed = pool->on_closed;
    void *data = pool->close_data;

    while (!TAILQ_EMPTY(&pool->ended)) /* started after the close */
        pool_run_ended(pool);
    pool_free(pool);
    on_closed(data);
}

static void pool_maybe_closed(struct pg_pool *pool) {
    if (!pool->is_closing || pool->is_closed || !TAILQ_EMPTY(&pool->ended) ||
        !pg_links_are_gone(&pool->links) || pool_count_held(pool) > 0)
        return;
    pool->is_closed = true;
    uv_close((uv_handle_t *)&pool->timer, on_pool_timer_closed);
}

void pg_pool_close(struct pg_pool *pool, pg_pool_cb cb, void *data) {
    struct pg_query *query;

    if (pool->is_closing)
        return;
    pool->is_closing = true;
    pool->on_closed = cb;
    pool->close_data = data;
    for (unsigned i = 0; i < pool->size; i++) {
        pool->conns[i].due_ms = PG_NEVER;
        if (pool->conns[i].state != PG_CONN_DOWN)
            pg_conn_fail(&pool->conns[i], "the pool was closed");
    }
    while ((query = TAILQ_FIRST(&pool->queue)) != NULL ||
           (query = TAILQ_FIRST(&pool->pipelined)) != NULL) {
        pool_dequeue(pool, query);
        pg_pool_end(pool, query, PG_NOT_SENT, "the pool was closed");
    }
    pool_run_ended_later(pool);
    pool_maybe_closed(pool);
}

void pg_pool_stats(const struct pg_pool *pool, struct pg_pool_stats *stats) {
    *stats = pool->stats;
    stats->held = pool_count_held(pool);
    for (unsigned i = 0; i < pool->size; i++) {
        const struct pg_conn *conn = &pool->conns[i];

        stats->connections += conn->state >= PG_CONN_IDLE;
        stats->idle += conn->state == PG_CONN_IDLE && !conn->is_held;
    }
}

static void pool_start(struct pg_pool *pool, struct pg_query *query) {
    query->result = NULL;
    query->affected = 0;
    query->sqlstate[0] = '\0';
    query->message[0] = '\0';
    query->internal.again = NULL;
    query->internal.has_ended = false;
    if (pool->is_closing) {
        pg_pool_end(pool, query, PG_NOT_SENT, "the pool was closed");
    } else if (query->on != NULL && query->on->state == PG_CONN_IDLE) {
        pool_serve(query->on, query);
    } else if (query->on != NULL) {
        pg_pool_end(pool, query, PG_NOT_SENT,
                    query->on->state == PG_CONN_DOWN ? "the held connection broke"
                                                     : "the held connection is busy");
    } else if (pool->stats.queued >= pool->queue_limit) {
        pg_pool_end(pool, query, PG_NOT_SENT, "the queue is full");
    } else {
        pg_pool_enqueue(pool, query, false);
        pool_dispatch(pool);
    }
}

enum pg_status pg_query_await(struct pg_pool *pool, struct pg_query *query) {
    struct fiber_event ended = FIBER_EVENT_INIT;
    bool is_done;

    query->internal.ended = &ended;
    pool_start(pool, query);
    /* A free connection, or a known statement, needs no turn of the loop. A failure takes one, so a
     * fiber that tries again and again does not keep the loop. */
    is_done = query->internal.has_ended && query->status == PG_OK;
    if (is_done)
        TAILQ_REMOVE(&pool->ended, query, internal.entry);
    pool_run_ended_later(pool);
    if (!is_done)
        fiber_event_wait(&ended);
    return query->status;
}

enum pg_status pg_prepare_await(struct pg_pool *pool, struct pg_query *query) {
    assert(query->on != NULL && query->statement != NULL);
    query->internal.is_preparation = true;
    return pg_query_await(pool, query);
}

struct pg_conn *pg_hold(struct pg_pool *pool, int64_t deadline_ms) {
    struct pg_query query = {.deadline_ms = deadline_ms, .internal = {.is_hold = true}};

    return pg_query_await(pool, &query) == PG_OK ? query.internal.held : NULL;
}

void pg_give_back(struct pg_conn *conn) {
    struct pg_pool *pool = conn->pool;

    assert(conn->is_held);
    conn->is_held = false;
    if (pool->is_closing) {
        pool_maybe_closed(pool);
        return;
    }
    if (conn->state == PG_CONN_DOWN) {
        conn->due_ms = 0;
        pg_pool_arm(pool, 0);
    } else if (conn->state == PG_CONN_IDLE) {
        pg_conn_settle(conn);
    } else {
        pg_conn_fail(conn, "given back while a query was running");
    }
    pool_dispatch(pool);
    pool_run_ended_later(pool);
}

void pg_query_clear(struct pg_query *query) {
    PQclear(query->result);
    query->result = NULL;
}

/* Find a reason by the beginning of the SQLSTATE. */
static const char *find_reason(const char *sqlstate) {
    static const struct {
        const char *sqlstate, *text;
    } reasons[] = {
        {"25006", "is read only"},
        {"3F000", "has no schema for its tables"},
        {"42501", "denies rights on its tables"},
        {"42P01", "lacks a table"},
        {"42703", "lacks a column of a table"},
        {"53100", "has a full disk"},
        {"53", "lacks memory or connections"},
        {"57", "shuts down or starts, or took too long"},
    };

    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (strncmp(sqlstate, reasons[i].sqlstate, strlen(reasons[i].sqlstate)) == 0)
            return reasons[i].text;
    return NULL;
}

void pg_query_reason(const struct pg_query *query, char reason[PG_MESSAGE_BYTES]) {
    static const char *const texts[] = {[PG_OK] = "",
                                        [PG_NOT_SENT] = "cannot be reached, or is too busy",
                                        [PG_UNKNOWN] = "did not answer"};
    const char *text =
        query->status == PG_REJECTED ? find_reason(query->sqlstate) : texts[query->status];

    if (text != NULL)
        (void)snprintf(reason, PG_MESSAGE_BYTES, "%s", text);
    else
        (void)snprintf(reason, PG_MESSAGE_BYTES, "refuses a statement, with SQLSTATE %s",
                       query->sqlstate);
}

const char *pg_text(const struct pg_query *query, int row, int column) {
    return PQgetvalue(query->result, row, column);
}

int64_t pg_int(const struct pg_query *query, int row, int column) {
    return strtoll(pg_text(query, row, column), NULL, 10);
}
