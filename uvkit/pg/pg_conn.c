/* Brings one Postgres connection up and down, and up again after a pause.
 *
 * PQconnectStart() and PQconnectPoll() read password files synchronously, and look several hosts
 * up; pg_host.c looks up a single one. While it connects, libpq closes and replaces its socket when
 * it likes, and the new one often gets the old number. So libuv polls a duplicate, which stays
 * valid whatever libpq does, and each step of connecting makes a new one. */
#include "pg_internal.h"

#include "backoff.h"
#include "clock.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PAUSE_FIRST_MS                 50
#define PAUSE_MOST_MS                  2000
#define CANCELS_MOST                   16
#define CANCEL_STACK                   (256 * 1024)

#define VERSION_OF_TRANSACTION_TIMEOUT 170000

struct pg_watch {
    uv_poll_t poll;
    struct pg_pool *pool;
    struct pg_conn *conn; /* NULL once closing */
    int fd;
    int events;
};

static atomic_uint cancels;

static void on_poll_closed(uv_handle_t *handle) {
    struct pg_watch *watch = handle->data;
    struct pg_pool *pool = watch->pool;

    (void)close(watch->fd);
    free(watch);
    assert(pool->watches > 0);
    pool->watches--;
    pg_pool_maybe_closed(pool);
}

/* Go on: the socket is ready. */
static void step(struct pg_conn *conn);

static void on_socket_ready(uv_poll_t *poll, int status, int events) {
    struct pg_watch *watch = poll->data;
    struct pg_pool *pool = watch->pool;

    (void)events;
    if (status < 0)
        watch->events = 0; /* libuv has stopped polling; libpq finds the error */
    step(watch->conn);
    pg_pool_dispatch(pool);
    pg_pool_run_ended(pool);
}

static int open_watch(struct pg_conn *conn) {
    struct pg_watch *watch = malloc(sizeof(*watch));
    int rv;

    if (watch == NULL)
        return UV_ENOMEM;
    *watch = (struct pg_watch){.pool = conn->pool, .conn = conn};
    watch->fd = fcntl(PQsocket(conn->pg), F_DUPFD_CLOEXEC, 0);
    rv = watch->fd < 0 ? uv_translate_sys_error(errno)
                       : uv_poll_init(conn->pool->loop, &watch->poll, watch->fd);
    if (rv != 0) {
        (void)close(watch->fd); /* -1, too */
        free(watch);
        return rv;
    }
    watch->poll.data = watch;
    conn->pool->watches++;
    conn->watch = watch;
    return 0;
}

static void close_watch(struct pg_conn *conn) {
    struct pg_watch *watch = conn->watch;

    if (watch == NULL)
        return;
    conn->watch = NULL;
    watch->conn = NULL;
    uv_close((uv_handle_t *)&watch->poll, on_poll_closed);
}

static int watch_events(struct pg_conn *conn, int events) {
    struct pg_watch *watch = conn->watch;

    assert(watch->conn == conn);
    /* uv_poll_start() costs two system calls even when nothing changes. */
    if (watch->events == events)
        return 0;
    watch->events = events;
    return uv_poll_start(&watch->poll, events, on_socket_ready);
}

/* Its socket may be another one than at the last call. */
static int watch_socket(struct pg_conn *conn, int events) {
    int rv;

    close_watch(conn);
    rv = open_watch(conn);
    return rv != 0 ? rv : watch_events(conn, events);
}

bool pg_conn_is_open(const struct pg_conn *conn) {
    return conn->state >= PG_CONN_IDLE;
}

bool pg_pool_is_up(const struct pg_pool *pool) {
    for (unsigned i = 0; i < pool->size; i++)
        if (pg_conn_is_open(&pool->conns[i]))
            return true;
    return false;
}

/* More than once: a request that arrives before the server has begun with the query is ignored, and
 * then the query would run on with nobody there. */
static void *send_cancels(void *cancel) {
    static const useconds_t pauses_us[] = {0, 100000, 900000};
    char error[256];

    for (unsigned i = 0; i < sizeof(pauses_us) / sizeof(*pauses_us); i++) {
        (void)usleep(pauses_us[i]);
        (void)PQcancel(cancel, error, sizeof(error));
    }
    PQfreeCancel(cancel);
    atomic_fetch_sub(&cancels, 1);
    return NULL;
}

static void *send_cancel(void *cancel) {
    char error[256];

    (void)PQcancel(cancel, error, sizeof(error));
    PQfreeCancel(cancel);
    atomic_fetch_sub(&cancels, 1);
    return NULL;
}

/* Ask the server to stop what this connection runs. PQcancel() blocks, for as long as a server that
 * hangs likes, so it gets a thread that nobody waits for: work in libuv's pool would keep the loop
 * from closing. A courtesy to the server, so failing to send it is no error. */
static void cancel_query(PGconn *pg, void *(*send)(void *cancel)) {
    PGcancel *cancel = PQgetCancel(pg);
    pthread_attr_t attributes;
    pthread_t thread;
    int rv = -1;

    if (cancel == NULL)
        return;
    if (atomic_fetch_add(&cancels, 1) < CANCELS_MOST && pthread_attr_init(&attributes) == 0) {
        (void)pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
        (void)pthread_attr_setstacksize(&attributes, CANCEL_STACK);
        rv = pthread_create(&thread, &attributes, send, cancel);
        (void)pthread_attr_destroy(&attributes);
    }
    if (rv != 0) {
        PQfreeCancel(cancel);
        atomic_fetch_sub(&cancels, 1);
    }
}

void pg_conn_cancel_once(struct pg_conn *conn) {
    cancel_query(conn->pg, send_cancel);
}

static void close_socket(struct pg_conn *conn) {
    pg_dial_end(&conn->dial);
    close_watch(conn);
    PQclear(conn->result);
    conn->result = NULL;
    if ((conn->state == PG_CONN_RUNNING || conn->slot_count > 0) &&
        PQstatus(conn->pg) == CONNECTION_OK)
        cancel_query(conn->pg, send_cancels);
    PQfinish(conn->pg);
    conn->pg = NULL;
    conn->prepared_count = 0;
    conn->slot_count = 0;
    conn->is_cancelled = conn->is_stalled = conn->is_stale = false;
    conn->farewell[0] = '\0';
}

void pg_conn_fail(struct pg_conn *conn, const char *why) {
    struct pg_pool *pool = conn->pool;
    char reason[sizeof(pool->error)];

    assert(conn->state != PG_CONN_DOWN);
    pg_first_line(reason, sizeof(reason), why); /* `why` may be the PGconn's */
    if (conn->state == PG_CONN_PIPELINING)
        pg_pipeline_abandon(conn, reason);
    else
        pg_run_abandon(conn, reason);
    close_socket(conn);
    conn->state = PG_CONN_DOWN;
    conn->due_ms = PG_NEVER;
    memcpy(pool->error, reason, sizeof(reason));
    pg_pool_tell_down(pool);
    if (conn->is_held || pool->is_closing)
        return;
    conn->due_ms =
        clock_now_ms() + (int64_t)backoff_ms(conn->failures++, PAUSE_FIRST_MS, PAUSE_MOST_MS);
    pg_pool_arm(pool, conn->due_ms);
}

void pg_conn_renew(struct pg_conn *conn) {
    assert(conn->query == NULL && conn->slot_count == 0 && !conn->is_held);
    close_socket(conn);
    conn->state = PG_CONN_DOWN;
    conn->due_ms = 0;
    pg_pool_arm(conn->pool, 0);
}

/* Wait for `events` on its socket, which has not changed since; or fail. */
static void watch(struct pg_conn *conn, int events) {
    if (watch_events(conn, events) != 0)
        pg_conn_fail(conn, "cannot watch the socket");
}

void pg_conn_flush(struct pg_conn *conn, int is_taken) {
    int left = is_taken != 0 ? PQflush(conn->pg) : -1;

    if (left < 0)
        pg_conn_fail(conn, PQerrorMessage(conn->pg));
    else
        watch(conn, left > 0 ? UV_READABLE | UV_WRITABLE : UV_READABLE);
}

void pg_conn_opened(struct pg_conn *conn) {
    if (conn->slots != NULL && PQenterPipelineMode(conn->pg) == 0) {
        pg_conn_fail(conn, "cannot enter pipeline mode");
        return;
    }
    conn->state = PG_CONN_IDLE;
    conn->due_ms = PG_NEVER;
    conn->failures = 0;
    pg_dial_succeed(&conn->dial);
    if (conn->was_open)
        conn->pool->stats.reconnects++;
    conn->was_open = true;
    pg_pool_tell_up(conn->pool);
}

/* An older server refuses a session with an option that it does not know. */
static void become_open(struct pg_conn *conn) {
    if (PQsetnonblocking(conn->pg, 1) != 0 || watch_socket(conn, UV_READABLE) != 0) {
        pg_conn_fail(conn, "cannot watch the socket");
    } else if (PQserverVersion(conn->pg) >= VERSION_OF_TRANSACTION_TIMEOUT &&
               !conn->pool->is_pooled) {
        conn->state = PG_CONN_SETTING;
        pg_conn_flush(conn, PQsendQuery(conn->pg, "SET transaction_timeout = 0"));
    } else {
        pg_conn_opened(conn);
    }
}

static void watch_connecting(struct pg_conn *conn, int events) {
    int rv = watch_socket(conn, events);

    if (rv != 0)
        pg_conn_fail(conn, uv_strerror(rv));
}

static void try_address(struct pg_conn *conn);

/* The address refuses, or stays silent. */
static void leave_address(struct pg_conn *conn, bool is_silent, const char *why) {
    if (!pg_dial_next(&conn->dial, is_silent, clock_now_ms())) {
        pg_conn_fail(conn, why);
        return;
    }
    close_watch(conn);
    PQfinish(conn->pg);
    try_address(conn);
}

static void step_connecting(struct pg_conn *conn) {
    PostgresPollingStatusType polled = PQconnectPoll(conn->pg);

    if (pg_dial_reaches(&conn->dial, conn->pg))
        conn->due_ms = pg_dial_due_ms(&conn->dial, clock_now_ms());
    switch (polled) {
    case PGRES_POLLING_OK:
        become_open(conn);
        return;
    case PGRES_POLLING_READING:
        watch_connecting(conn, UV_READABLE);
        return;
    case PGRES_POLLING_WRITING:
    case PGRES_POLLING_ACTIVE: /* no longer returned */
        watch_connecting(conn, UV_WRITABLE);
        return;
    case PGRES_POLLING_FAILED:
        leave_address(conn, false, PQerrorMessage(conn->pg));
        return;
    }
}

/* Also sees the error with which a server closes a connection that runs nothing. */
static void on_notice(void *data, const PGresult *notice) {
    struct pg_conn *conn = data;
    const char *severity = PQresultErrorField(notice, PG_DIAG_SEVERITY_NONLOCALIZED);
    const char *text = PQresultErrorField(notice, PG_DIAG_MESSAGE_PRIMARY);
    char quoted[320];

    if (severity == NULL || text == NULL)
        return; /* libpq's own */
    if (strcmp(severity, "FATAL") == 0 || strcmp(severity, "PANIC") == 0)
        pg_first_line(conn->farewell, sizeof(conn->farewell), text);
    log_debug("postgres notice", "pool=%s severity=%s text=%s", conn->pool->name, severity,
              log_quote(quoted, sizeof(quoted), text));
}

static void try_address(struct pg_conn *conn) {
    struct pg_pool *pool = conn->pool;
    char address[ADDRESS_TEXT];
    /* What stands before dbname is a default, what stands after it wins over the conninfo. GSS
     * encryption costs a round trip and several MB where Kerberos is installed but not used. */
    const char *const names[] = {"gssencmode",      "application_name", "dbname",
                                 "client_encoding", "hostaddr",         NULL};
    const char *const values[] = {"disable", pool->name, pool->conninfo, "UTF8", address, NULL};

    pg_dial_address(&conn->dial, address);
    conn->due_ms = pg_dial_due_ms(&conn->dial, clock_now_ms());
    pg_pool_arm(pool, conn->due_ms);
    conn->pg = PQconnectStartParams(names, values, 1);
    if (PQstatus(conn->pg) == CONNECTION_BAD) { /* NULL, too */
        leave_address(conn, false, conn->pg == NULL ? "out of memory" : PQerrorMessage(conn->pg));
        return;
    }
    (void)PQsetNoticeReceiver(conn->pg, on_notice, conn);
    watch_connecting(conn, UV_WRITABLE);
}

static void on_found(struct pg_dial *dial, const char *why) {
    struct pg_conn *conn = dial->data;

    if (why != NULL)
        pg_conn_fail(conn, why);
    else
        try_address(conn);
}

void pg_conn_init(struct pg_conn *conn, struct pg_pool *pool) {
    conn->pool = pool;
    conn->dial = (struct pg_dial){.host = &pool->host, .on_found = on_found, .data = conn};
}

/* Start to connect. Failing is noted, and tried again later. */
static void start_connecting(struct pg_conn *conn) {
    struct pg_pool *pool = conn->pool;
    int rv;

    assert(conn->state == PG_CONN_DOWN && conn->pg == NULL && !conn->is_held);
    conn->state = PG_CONN_CONNECTING;
    rv = pg_dial_begin(&conn->dial, clock_now_ms(), (int64_t)pool->connect_timeout_ms);
    conn->due_ms = conn->dial.until_ms;
    pg_pool_arm(pool, conn->due_ms);
    if (rv != 0)
        pg_conn_fail(conn, uv_strerror(rv));
    else if (conn->dial.lookup == NULL)
        try_address(conn);
}

/* Nobody is served, but a server that goes away is noticed. */
static void step_idle(struct pg_conn *conn) {
    bool is_alive = PQconsumeInput(conn->pg) != 0;

    (void)PQisBusy(conn->pg); /* parses, and so reports notices */
    if (!is_alive)
        pg_conn_fail(conn, PQerrorMessage(conn->pg));
    else if (conn->farewell[0] != '\0')
        pg_conn_fail(conn, conn->farewell);
    else
        watch(conn, UV_READABLE);
}

static void step(struct pg_conn *conn) {
    switch (conn->state) {
    case PG_CONN_DOWN:
        return;
    case PG_CONN_CONNECTING:
        step_connecting(conn);
        return;
    case PG_CONN_IDLE:
        step_idle(conn);
        return;
    case PG_CONN_SETTING:
    case PG_CONN_PREPARING:
    case PG_CONN_RUNNING:
    case PG_CONN_ROLLING_BACK:
        pg_run_step(conn);
        return;
    case PG_CONN_PIPELINING:
        pg_pipeline_step(conn);
        return;
    }
}

/* A loop that was busy, or stopped, looks at its clock before its sockets: the answer may have come
 * in time. */
static void fail_unless_answered(struct pg_conn *conn, const char *why) {
    enum pg_conn_state state = conn->state;

    pg_run_step(conn);
    if (conn->state == state)
        pg_conn_fail(conn, why);
}

void pg_conn_expire(struct pg_conn *conn) {
    switch (conn->state) {
    case PG_CONN_DOWN:
        start_connecting(conn);
        return;
    case PG_CONN_CONNECTING:
        leave_address(conn, true, "the server did not let us in in time");
        return;
    case PG_CONN_SETTING:
        pg_conn_fail(conn, "the server did not let us in in time");
        return;
    case PG_CONN_IDLE:
        return;
    case PG_CONN_PREPARING:
        fail_unless_answered(conn, "the statement was not prepared by the deadline");
        return;
    case PG_CONN_RUNNING:
    case PG_CONN_ROLLING_BACK:
        fail_unless_answered(conn, "no answer by the deadline");
        return;
    case PG_CONN_PIPELINING:
        pg_pipeline_expire(conn);
        return;
    }
}
