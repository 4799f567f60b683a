/* The part that both modes share: the URL, connections, statements, deadlines, answers, and the
 * log. */
#include "clock.h"
#include "lockkit_pg.h"
#include "parameter.h"
#include "pg_conninfo.h"
#include "postgres_mode.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A mode for the caller's own connection, not for a client. */
#define TRANSACTION_MODE "transaction"

#define OPENING_MOST_MS  5000

/* They find out that the server is gone while a session waits in its line. */
#define KEEP_ALIVES                                                                                \
    "keepalives_idle=5 keepalives_interval=2 keepalives_count=3 tcp_user_timeout=10000 "

/* If an abandoned statement runs for longer than this, another connection may be better. */
#define STUCK_MOST_MS 2000

extern const char lockkit_schema_text[];

int64_t pg_integer(const PGresult *result, int row, int column) {
    return strtoll(PQgetvalue(result, row, column), NULL, 10);
}

/* ---- The log */

void pg_tell_down(struct pg_backend *backend, const char *why) {
    char quoted[2 * PG_LINK_WHY_SIZE];

    if (backend->is_down || backend->is_closing)
        return;
    backend->is_down = true;
    log_warn("postgres is down for locks", "error=%s", log_quote(quoted, sizeof quoted, why));
}

static void tell_up(struct pg_backend *backend) {
    if (backend->is_down)
        log_info("postgres is up for locks", "mode=%s", backend->mode->name);
    backend->is_down = false;
}

/* In the server's own words, at a bounded rate. */
static void tell_command_refused(struct pg_backend *backend, const char *why) {
    char quoted[2 * PG_LINK_WHY_SIZE];
    unsigned left_out;

    if (log_limit_pass(&backend->refusals, clock_now_ms(), &left_out))
        log_warn("postgres refuses a lock command", "left_out=%u why=%s", left_out,
                 log_quote(quoted, sizeof quoted, why));
}

/* ---- Statements that any connection may run: a few connections, and a queue */

static void calls_dispatch(struct pg_backend *backend);

/* Renewals, releases and session ends first: a lease must not be lost, nor stay taken, because
 * others want to acquire. */
static struct pg_calls *calls_list_of(struct pg_backend *backend, const struct pg_call *call) {
    return call->is_urgent ? &backend->urgent : &backend->waiting;
}

static struct pg_call *calls_first(struct pg_backend *backend) {
    struct pg_call *urgent = TAILQ_FIRST(&backend->urgent);

    return urgent != NULL ? urgent : TAILQ_FIRST(&backend->waiting);
}

static void calls_take_out(struct pg_backend *backend, struct pg_call *call) {
    assert(backend->waiting_count > 0 && call->worker == NULL);
    TAILQ_REMOVE(calls_list_of(backend, call), call, entry);
    backend->waiting_count--;
}

static void worker_start(struct pg_worker *worker, struct pg_call *call) {
    assert(worker->call == NULL && call->worker == NULL);
    worker->call = call;
    call->worker = worker;
    if (call->round_trips != NULL)
        ++*call->round_trips;
    pg_link_run(worker->link, call->sql, call->count, call->params);
}

static void on_worker_open(void *data) {
    calls_dispatch(((struct pg_worker *)data)->backend);
}

/* The statement had no effect, and may succeed a second time: it ran beside another one (a pooler
 * decides the isolation level), or the session's settings had changed. */
static bool call_runs_again(struct pg_call *call, const PGresult *result, bool is_stale) {
    if (call->is_again || (!is_stale && !pg_has_state(result, "40001")))
        return false;
    call->is_again = true;
    return true;
}

static void worker_close(struct pg_worker *worker) {
    pg_link_close(worker->link);
    worker->link = NULL;
    worker->is_stale = false;
}

/* The schema or a session's settings have changed: the other connections are no better. A busy one
 * is closed after its result. */
static void workers_renew(struct pg_backend *backend) {
    for (unsigned i = 0; i < backend->mode->connections; i++) {
        struct pg_worker *worker = &backend->workers[i];

        if (worker->link == NULL || worker->link->state != PG_LINK_OPEN)
            continue;
        worker->is_stale = true;
        if (worker->link->running == 0)
            worker_close(worker);
    }
}

static void on_worker_result(void *data, PGresult *result) {
    struct pg_worker *worker = data;
    struct pg_call *call = worker->call;
    bool is_stale = pg_stale(result) != PG_STALE_NOT;

    worker->call = NULL;
    if (is_stale || worker->is_stale)
        worker_close(worker);
    if (is_stale)
        workers_renew(worker->backend);
    if (call != NULL)
        call->worker = NULL;
    if (call != NULL && call_runs_again(call, result, is_stale)) {
        PQclear(result);
        TAILQ_INSERT_HEAD(calls_list_of(worker->backend, call), call, entry);
        worker->backend->waiting_count++;
    } else if (call != NULL) {
        call->on_end(call, result, LK_OK);
    } else {
        PQclear(result);
    }
    calls_dispatch(worker->backend);
}

/* No connection is left, and none can be opened: end the wait of all calls. */
static void calls_end_waiting(struct pg_backend *backend, enum lk_status status) {
    struct pg_call *call;

    for (unsigned i = 0; i < backend->mode->connections; i++)
        if (backend->workers[i].link != NULL)
            return;
    while ((call = calls_first(backend)) != NULL) {
        calls_take_out(backend, call);
        call->on_end(call, NULL, status);
    }
}

static void on_worker_end(void *data, enum pg_link_end end, const char *why) {
    struct pg_worker *worker = data;
    struct pg_call *call = worker->call;
    bool was_open = worker->link->state == PG_LINK_OPEN;

    worker->link = NULL;
    worker->is_stale = false;
    worker->call = NULL;
    pg_tell_down(worker->backend, why);
    if (call != NULL) {
        call->worker = NULL;
        call->on_end(call, NULL, LK_UNKNOWN);
    }
    if (was_open)
        calls_dispatch(worker->backend);
    else
        calls_end_waiting(worker->backend, end == PG_LINK_REFUSED ? LK_REFUSED : LK_UNAVAILABLE);
}

static const struct pg_link_events worker_events = {
    .on_open = on_worker_open, .on_result = on_worker_result, .on_end = on_worker_end};

static bool worker_is_open(const struct pg_worker *worker) {
    return worker->link != NULL && worker->link->state == PG_LINK_OPEN;
}

static bool worker_is_stuck(const struct pg_worker *worker) {
    return worker_is_open(worker) && worker->link->running > 0 && worker->call == NULL &&
           clock_now_ms() - worker->stuck_at_ms > STUCK_MOST_MS;
}

/* Give waiting calls to free connections, and open others for the rest. */
static void calls_dispatch(struct pg_backend *backend) {
    unsigned opening = 0;
    struct pg_call *call;

    for (unsigned i = 0; i < backend->mode->connections; i++) {
        struct pg_worker *worker = &backend->workers[i];

        if (worker_is_stuck(worker))
            worker_close(worker);
        opening += worker->link != NULL && !worker_is_open(worker);
        if (!worker_is_open(worker) || worker->link->running > 0 ||
            PQstatus(worker->link->pg) != CONNECTION_OK) /* its end is about to be told */
            continue;
        call = calls_first(backend);
        if (call == NULL)
            return;
        calls_take_out(backend, call);
        worker_start(worker, call);
    }
    for (unsigned i = 0; i < backend->mode->connections && opening < backend->waiting_count; i++) {
        struct pg_worker *worker = &backend->workers[i];

        if (worker->link != NULL)
            continue;
        worker->link = pg_link_open(&backend->links, &worker_events, worker);
        opening++;
    }
}

void pg_call(struct pg_backend *backend, struct pg_call *call) {
    assert(call->on_end != NULL && call->count <= PG_CALL_PARAMS);
    call->worker = NULL;
    TAILQ_INSERT_TAIL(calls_list_of(backend, call), call, entry);
    backend->waiting_count++;
    calls_dispatch(backend);
}

/* Stop waiting for the call: on_end will not run. True: it may have been sent. */
static bool calls_forget(struct pg_backend *backend, struct pg_call *call) {
    struct pg_worker *worker = call->worker;

    if (worker == NULL) {
        calls_take_out(backend, call);
        return false;
    }
    assert(worker->call == call);
    worker->call = NULL;
    worker->stuck_at_ms = clock_now_ms();
    return true;
}

/* ---- A session's first statements */

/* Does this session belong to the client, or does a pooler lend it? A server tells its pid when it
 * lets a client in. A pooler has no server at that moment, and tells another pid. Then the session
 * is not touched. Else its settings are made independent of server, database and role; but the URL
 * may name the table's search_path. */
static const char settle_sql[] =
    "SET LOCAL statement_timeout = 0;"
    "SELECT pid = asked, pg_is_in_recovery(),"
    " CASE WHEN pid = asked THEN"
    "  (SELECT set_config(name, CASE source WHEN 'client' THEN setting ELSE boot_val END, false)"
    "   FROM pg_settings WHERE name = 'search_path') ||"
    "  (SELECT string_agg(set_config(name, '0', false), '') FROM pg_settings WHERE name IN"
    "   ('statement_timeout', 'lock_timeout', 'transaction_timeout')) ||"
    "  set_config('row_security', 'on', false) ||"
    "  set_config('default_transaction_isolation', 'read committed', false) ||"
    /* A grant is told after its fencing token is on disk. */
    "  set_config('synchronous_commit', CASE current_setting('synchronous_commit')"
    "   WHEN 'off' THEN 'on' WHEN 'local' THEN 'on' ELSE current_setting('synchronous_commit')"
    "   END, false) ||"
    /* A client that died while it waited leaves the line. */
    "  set_config('client_connection_check_interval', '1s', false) ||"
    "  set_config('idle_session_timeout', '60s', false)"
    " END, to_regclass('lockkit_lock') IS NULL"
    " FROM (SELECT pg_backend_pid() AS pid, %d AS asked) AS session";

static void ask_what_it_is(struct pg_link *link) {
    char sql[sizeof settle_sql + PG_NUMBER_SIZE];

    if (PQserverVersion(link->pg) < 140000) {
        pg_link_refuse(link, "lockkit needs Postgres 14 or later");
        return;
    }
    (void)snprintf(sql, sizeof sql, settle_sql, PQbackendPID(link->pg));
    pg_link_run(link, sql, 0, NULL);
}

/* True when the session is ready. */
static bool take_what_it_is(struct pg_link *link, const PGresult *result) {
    const bool is_standby = *PQgetvalue(result, 0, 1) == 't';
    const bool is_bare = *PQgetvalue(result, 0, 3) == 't';

    link->is_direct = *PQgetvalue(result, 0, 0) == 't';
    if (is_standby)
        pg_link_refuse(link, "the server is a standby, which cannot keep fencing tokens");
    else if (is_bare)
        pg_link_run(link, lockkit_schema_text, 0, NULL);
    return !is_standby && !is_bare;
}

/* Asks for the settings, then makes the table if it is missing. If two clients make it at once, the
 * server tells one of them that it is a duplicate. The role's statement_timeout may cancel the
 * question before it is switched off: it is asked again, until the link's limit for opening. */
static void set_up_link(struct pg_link *link, const PGresult *result) {
    if (result == NULL || pg_has_state(result, "57014")) {
        ask_what_it_is(link);
    } else if (pg_is_error(result) && !pg_has_state(result, "23505")) {
        pg_link_refuse(link, PQresultErrorMessage(result));
    } else if (PQresultStatus(result) != PGRES_TUPLES_OK || take_what_it_is(link, result)) {
        tell_up(link->links->data);
        pg_link_settled(link);
    }
}

/* ---- Answers and deadlines */

static void on_postgres_due(uv_timer_t *timer);

static void postgres_arm(struct pg_backend *backend, int64_t due_ms) {
    int64_t now_ms = clock_now_ms();

    if (uv_is_active((uv_handle_t *)&backend->timer) && backend->due_ms <= due_ms)
        return;
    backend->due_ms = due_ms;
    uv_update_time(backend->config.loop);
    (void)uv_timer_start(&backend->timer, on_postgres_due,
                         due_ms > now_ms ? (uint64_t)(due_ms - now_ms) : 0, 0);
}

static void on_postgres_due(uv_timer_t *timer) {
    struct pg_backend *backend = timer->data;
    int64_t now_ms = clock_now_ms();
    struct pg_sent *sent;

    while ((sent = TAILQ_FIRST(&backend->sent)) != NULL && sent->due_ms <= now_ms) {
        if (!sent->is_called)
            pg_answer(sent, backend->mode->expire(sent));
        else
            pg_answer(sent, calls_forget(backend, &sent->call) ? LK_UNKNOWN : LK_UNAVAILABLE);
    }
    if (sent != NULL)
        postgres_arm(backend, sent->due_ms);
}

/* Deadlines mostly come in order, so the place is near the end. */
static void sent_insert(struct pg_backend *backend, struct pg_sent *sent) {
    struct pg_sent *before = TAILQ_LAST(&backend->sent, pg_line);

    while (before != NULL && before->due_ms > sent->due_ms)
        before = TAILQ_PREV(before, pg_line, entry);
    if (before != NULL)
        TAILQ_INSERT_AFTER(&backend->sent, before, sent, entry);
    else
        TAILQ_INSERT_HEAD(&backend->sent, sent, entry);
}

static void on_postgres_idle(uv_idle_t *idle) {
    struct pg_backend *backend = idle->data;
    struct pg_line answered = TAILQ_HEAD_INITIALIZER(answered);
    struct pg_sent *sent;

    (void)uv_idle_stop(idle);
    TAILQ_CONCAT(&answered, &backend->answered, entry);
    while ((sent = TAILQ_FIRST(&answered)) != NULL) {
        PGresult *result = sent->result;
        struct lk_holder *holders = sent->holders;

        TAILQ_REMOVE(&answered, sent, entry);
        sent->command->on_answer(sent->command);
        PQclear(result);
        free(holders);
    }
}

void pg_answer(struct pg_sent *sent, enum lk_status status) {
    struct pg_backend *backend = sent->backend;

    sent->command->status = status;
    TAILQ_REMOVE(&backend->sent, sent, entry);
    TAILQ_INSERT_TAIL(&backend->answered, sent, entry);
    if (TAILQ_EMPTY(&backend->sent))
        (void)uv_timer_stop(&backend->timer);
    (void)uv_idle_start(&backend->idle, on_postgres_idle);
}

void pg_refuse(struct pg_sent *sent, const char *why) {
    pg_first_line(sent->why, sizeof sent->why, why);
    sent->command->why = sent->why;
    tell_command_refused(sent->backend, sent->why);
    pg_answer(sent, LK_REFUSED);
}

static void answer_holders(struct pg_sent *sent, PGresult *rows) {
    struct lk_command *command = sent->command;
    int count = PQntuples(rows);

    assert(sent->result == NULL && sent->holders == NULL);
    sent->result = rows;
    sent->holders = calloc((size_t)count + 1, sizeof *sent->holders);
    if (sent->holders == NULL) {
        pg_answer(sent, LK_NOMEM);
        return;
    }
    for (int row = 0; row < count; row++) {
        command->waiter_count += *PQgetvalue(rows, row, 0) == 't';
        sent->holders[row] = (struct lk_holder){
            .owner = PQgetvalue(rows, row, 1),
            .label = PQgetvalue(rows, row, 2),
            .fence = (uint64_t)pg_integer(rows, row, 3),
            .remaining_ms = pg_integer(rows, row, 4),
            .mode = *PQgetvalue(rows, row, 5) == 't' ? LK_SHARED : LK_EXCLUSIVE,
            .permits = 1,
        };
    }
    command->holder_count = (size_t)count - command->waiter_count; /* holders come first */
    command->holders = sent->holders;
    command->waiters = sent->holders + command->holder_count;
    pg_answer(sent, LK_OK);
}

static void on_asked(struct pg_call *call, PGresult *result, enum lk_status status) {
    struct pg_sent *sent = call->data;

    sent->is_called = false;
    if (result != NULL && !pg_is_error(result) && sent->command->verb == LK_INSPECT) {
        answer_holders(sent, result);
        return;
    }
    if (result == NULL)
        pg_answer(sent, status);
    else if (pg_is_error(result))
        pg_refuse(sent, PQresultErrorMessage(result));
    else
        sent->backend->mode->take(sent, result);
    PQclear(result);
}

void pg_ask(struct pg_sent *sent) {
    sent->is_called = true;
    sent->call.is_urgent = sent->command->verb == LK_RENEW || sent->command->verb == LK_RELEASE;
    sent->call.round_trips = &sent->command->round_trips;
    sent->call.on_end = on_asked;
    sent->call.data = sent;
    pg_call(sent->backend, &sent->call);
}

/* ---- The backend */

static void run_postgres(struct lk_backend *base, struct lk_command *command) {
    struct pg_backend *backend = (struct pg_backend *)base;
    struct pg_sent *sent = command->internal;

    assert(command->on_answer && strlen(command->name) <= NAME_MAX_BYTES);
    assert(command->owner != NULL || command->verb == LK_INSPECT || command->verb == LK_BREAK);
    *sent = (struct pg_sent){
        .command = command, .backend = backend, .due_ms = clock_now_ms() + command->reply_ms};
    command->remaining_ms = -1;
    (void)snprintf(sent->ttl, sizeof sent->ttl, "%u", command->ttl_ms);
    (void)snprintf(sent->above, sizeof sent->above, "%llu",
                   (unsigned long long)command->fence_above);
    (void)snprintf(sent->reserved, sizeof sent->reserved, "%u", command->handover);
    (void)snprintf(sent->key, sizeof sent->key, "%lld", (long long)lk_pg_key(command->name));
    sent_insert(backend, sent);
    backend->mode->run(sent);
    postgres_arm(backend, sent->due_ms);
}

/* Logs the reason, because a status has none. */
static enum lk_status find_mode(const struct pg_mode **mode, const char *name) {
    static const struct pg_mode *const modes[] = {&pg_session_mode, &pg_table_mode};

    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        if (strcmp(modes[i]->name, name) == 0) {
            *mode = modes[i];
            return LK_OK;
        }
    if (strcmp(name, TRANSACTION_MODE) == 0) {
        log_warn("postgres mode=transaction needs your own connection", "use=lockkit_pg.h");
        return LK_UNSUPPORTED;
    }
    log_warn("postgres:// needs a mode", "modes=session,table");
    return LK_INVALID;
}

/* Cuts the mode out of the URL, because libpq does not know it. */
static enum lk_status postgres_read_url(const char *url, const struct pg_mode **mode,
                                        char **conninfo) {
    char *rest = strdup(url), name[16] = "";
    enum lk_status status;
    int rv;

    if (rest == NULL)
        return LK_NOMEM;
    (void)parameter_take(rest, "mode", name, sizeof name);
    status = find_mode(mode, name);
    if (status == LK_OK) {
        rv = pg_conninfo_make(conninfo, rest, KEEP_ALIVES, "", "");
        status = rv == 0 ? LK_OK : rv == UV_ENOMEM ? LK_NOMEM : LK_INVALID;
    }
    free(rest);
    return status;
}

static void postgres_maybe_closed(void *data) {
    struct pg_backend *backend = data;

    if (!backend->is_closing || !pg_links_are_gone(&backend->links) || backend->handles > 0)
        return;
    pg_links_free(&backend->links);
    backend_end(&backend->base);
}

static int postgres_init_links(struct pg_backend *backend, uv_loop_t *loop, char *conninfo) {
    backend->links = (struct pg_links){.loop = loop,
                                       .conninfo = conninfo,
                                       .name = "lockkit",
                                       .timeout_ms = OPENING_MOST_MS,
                                       .set_up = set_up_link,
                                       .on_turn = postgres_maybe_closed,
                                       .data = backend};
    return pg_links_init(&backend->links);
}

static enum lk_status open_postgres(struct lk_backend **out,
                                    const struct lk_backend_config *config) {
    struct pg_backend *backend = NULL;
    const struct pg_mode *mode;
    char *conninfo = NULL;
    enum lk_status status = postgres_read_url(config->url, &mode, &conninfo);

    if (status == LK_OK)
        backend = calloc(1, sizeof *backend);
    if (backend == NULL || postgres_init_links(backend, config->loop, conninfo) != 0) {
        free(backend);
        free(conninfo);
        return status == LK_OK ? LK_NOMEM : status;
    }
    backend->base.ops = &backend_postgres;
    backend->config = *config;
    backend->base.acquires_most = mode->acquires_most;
    backend->mode = mode;
    TAILQ_INIT(&backend->sent);
    TAILQ_INIT(&backend->answered);
    TAILQ_INIT(&backend->urgent);
    TAILQ_INIT(&backend->waiting);
    (void)uv_timer_init(config->loop, &backend->timer);
    (void)uv_idle_init(config->loop, &backend->idle);
    backend->timer.data = backend->idle.data = backend;
    backend->handles = 2;
    for (unsigned i = 0; i < PG_WORKERS; i++)
        backend->workers[i].backend = backend;
    *out = &backend->base;
    return LK_OK;
}

static void on_postgres_handle_closed(uv_handle_t *handle) {
    struct pg_backend *backend = handle->data;

    assert(backend->is_closing && backend->handles > 0);
    backend->handles--;
    postgres_maybe_closed(backend);
}

static void close_postgres(struct lk_backend *base, lk_close_cb cb, void *data) {
    struct pg_backend *backend = (struct pg_backend *)base;

    assert(TAILQ_EMPTY(&backend->sent) && TAILQ_EMPTY(&backend->answered));
    backend->is_closing = true;
    base->on_closed = cb;
    base->data = data;
    backend->mode->close(backend);
    for (unsigned i = 0; i < PG_WORKERS; i++)
        if (backend->workers[i].link != NULL)
            pg_link_close(backend->workers[i].link);
    uv_close((uv_handle_t *)&backend->timer, on_postgres_handle_closed);
    uv_close((uv_handle_t *)&backend->idle, on_postgres_handle_closed);
}

static unsigned postgres_caps_of(const struct lk_backend *base) {
    return ((const struct pg_backend *)base)->mode->caps;
}

const struct lk_backend_ops backend_postgres = {
    .scheme = "postgres",
    .command_size = sizeof(struct pg_sent),
    .open = open_postgres,
    .close = close_postgres,
    .run = run_postgres,
    .caps_of = postgres_caps_of,
};
