/* Statements that any connection may run: a few connections, and a queue. */
#include "postgres_internal.h"

#include "clock.h"

#include <assert.h>

/* After so long without the answer that nobody waits for, another connection may be better. */
#define STUCK_MOST_MS 2000

static void calls_dispatch(struct pg_calls *calls);

static void worker_start(struct pg_worker *worker, struct pg_call *call) {
    assert(worker->call == NULL && call->worker == NULL);
    worker->call = call;
    call->worker = worker;
    if (call->round_trips != NULL)
        ++*call->round_trips;
    pg_link_run(worker->link, call->sql, call->count, call->params);
}

static void on_worker_open(void *data) {
    struct pg_worker *worker = data;

    pg_tell_up(worker->calls->backend);
    calls_dispatch(worker->calls);
}

/* Nothing came of it, and it may go better: it ran beside another (of a pooler the isolation is not
 * ours), or on a session that is not what it was. */
static bool call_runs_again(struct pg_call *call, const PGresult *result, bool is_stale) {
    if (call->is_again || (!is_stale && !pg_has_state(result, "40001")))
        return false;
    call->is_again = true;
    return true;
}

static void on_worker_result(void *data, PGresult *result) {
    struct pg_worker *worker = data;
    struct pg_call *call = worker->call;
    bool is_stale = pg_stale(result) != PG_STALE_NOT;

    worker->call = NULL;
    if (is_stale) {
        pg_link_close(worker->link);
        worker->link = NULL;
    }
    if (call != NULL)
        call->worker = NULL;
    if (call != NULL && call_runs_again(call, result, is_stale)) {
        PQclear(result);
        TAILQ_INSERT_HEAD(&worker->calls->waiting, call, entry);
    } else if (call != NULL) {
        call->on_end(call, result, LK_OK);
    } else {
        PQclear(result);
    }
    calls_dispatch(worker->calls);
}

/* No connection is left, or to be had: nobody waits on. */
static void calls_end_waiting(struct pg_calls *calls, enum lk_status status) {
    struct pg_call *call;

    for (unsigned i = 0; i < calls->most; i++)
        if (calls->workers[i].link != NULL)
            return;
    while ((call = TAILQ_FIRST(&calls->waiting)) != NULL) {
        TAILQ_REMOVE(&calls->waiting, call, entry);
        call->on_end(call, NULL, status);
    }
}

static void on_worker_end(void *data, enum pg_link_end end, const char *why) {
    struct pg_worker *worker = data;
    struct pg_call *call = worker->call;
    bool was_open = worker->link->state == PG_LINK_OPEN;

    worker->link = NULL;
    worker->call = NULL;
    pg_tell_down(worker->calls->backend, why);
    if (call != NULL) {
        call->worker = NULL;
        call->on_end(call, NULL, LK_UNKNOWN);
    }
    if (was_open)
        calls_dispatch(worker->calls);
    else
        calls_end_waiting(worker->calls, end == PG_LINK_REFUSED ? LK_REFUSED : LK_UNAVAILABLE);
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

/* Give what waits to those that are free; open another for what is left. */
static void calls_dispatch(struct pg_calls *calls) {
    unsigned waiting = 0, opening = 0;
    struct pg_call *call;

    for (unsigned i = 0; i < calls->most; i++) {
        struct pg_worker *worker = &calls->workers[i];

        if (worker_is_stuck(worker)) {
            pg_link_close(worker->link);
            worker->link = NULL;
        }
        opening += worker->link != NULL && !worker_is_open(worker);
        if (!worker_is_open(worker) || worker->link->running > 0 ||
            PQstatus(worker->link->pg) != CONNECTION_OK) /* its end comes */
            continue;
        call = TAILQ_FIRST(&calls->waiting);
        if (call == NULL)
            return;
        TAILQ_REMOVE(&calls->waiting, call, entry);
        worker_start(worker, call);
    }
    TAILQ_FOREACH (call, &calls->waiting, entry)
        waiting++;
    for (unsigned i = 0; i < calls->most && opening < waiting; i++) {
        struct pg_worker *worker = &calls->workers[i];

        if (worker->link != NULL)
            continue;
        worker->link = pg_link_open(&calls->backend->links, &worker_events, worker);
        opening++;
    }
}

void pg_calls_init(struct pg_calls *calls, struct pg_backend *backend, unsigned most) {
    assert(most <= PG_WORKERS);
    calls->backend = backend;
    calls->most = most;
    TAILQ_INIT(&calls->waiting);
    for (unsigned i = 0; i < most; i++)
        calls->workers[i].calls = calls;
}

void pg_calls_run(struct pg_calls *calls, struct pg_call *call) {
    assert(call->on_end != NULL && call->count <= PG_CALL_PARAMS);
    call->worker = NULL;
    TAILQ_INSERT_TAIL(&calls->waiting, call, entry);
    calls_dispatch(calls);
}

bool pg_calls_forget(struct pg_calls *calls, struct pg_call *call) {
    struct pg_worker *worker = call->worker;

    if (worker == NULL) {
        TAILQ_REMOVE(&calls->waiting, call, entry);
        return false;
    }
    assert(worker->call == call);
    worker->call = NULL;
    worker->stuck_at_ms = clock_now_ms();
    return true;
}

void pg_calls_close(struct pg_calls *calls) {
    for (unsigned i = 0; i < calls->most; i++)
        if (calls->workers[i].link != NULL)
            pg_link_close(calls->workers[i].link);
}
