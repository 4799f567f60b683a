/* Connects, is set up, runs.
 *
 *    CONNECTING -> SETTING -> OPEN -> gone
 *        |            |
 *        +------------+-------------> gone
 *
 * PQconnectStart() and PQconnectPoll() read password files synchronously, and look several hosts
 * up; pg_host.c looks up a single one. While it connects, libpq replaces its socket when it likes,
 * and the new one often gets the old number: so libuv polls a duplicate, and each step of
 * connecting makes a new one. */
#include "pg_link.h"

#include "clock.h"

#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct pg_watch {
    uv_poll_t poll;
    struct pg_link *link;
    int fd;
    int events;
};

static void on_poll_closed(uv_handle_t *handle);
static void on_timer_closed(uv_handle_t *handle);

static void maybe_free(struct pg_link *link) {
    struct pg_links *links = link->links;

    if (!link->is_closed || link->handles > 0)
        return;
    free(link);
    if (--links->count == 0 && links->on_none)
        links->on_none(links->data);
}

static void close_watch(struct pg_link *link) {
    struct pg_watch *watch = link->watch;

    if (!watch)
        return;
    link->watch = NULL;
    uv_close((uv_handle_t *)&watch->poll, on_poll_closed);
}

static void on_poll_closed(uv_handle_t *handle) {
    struct pg_watch *watch = handle->data;
    struct pg_link *link = watch->link;

    (void)close(watch->fd);
    free(watch);
    link->handles--;
    maybe_free(link);
}

static void on_timer_closed(uv_handle_t *handle) {
    struct pg_link *link = handle->data;

    link->handles--;
    maybe_free(link);
}

void pg_link_close(struct pg_link *link) {
    assert(!link->is_closed);
    link->is_closed = true;
    pg_dial_end(&link->dial);
    close_watch(link);
    PQclear(link->result);
    PQfinish(link->pg);
    link->pg = NULL;
    uv_close((uv_handle_t *)&link->timer, on_timer_closed);
}

void pg_link_why(char why[PG_LINK_WHY_SIZE], const char *message) {
    (void)snprintf(why, PG_LINK_WHY_SIZE, "%.*s", (int)strcspn(message, "\n"), message);
}

/* The last line of what calls it. */
static void end(struct pg_link *link, enum pg_link_end how, const char *message) {
    const struct pg_link_events *events = link->events;
    void *data = link->data;
    char why[PG_LINK_WHY_SIZE]; /* the message may be the PGconn's */

    pg_link_why(why, message);
    pg_link_close(link);
    events->on_end(data, how, why);
}

static void end_broken(struct pg_link *link) {
    if (link->farewell[0])
        end(link, PG_LINK_ENDED, link->farewell);
    else
        end(link, PG_LINK_CUT, PQerrorMessage(link->pg));
}

static void try_address(struct pg_link *link);

/* The address refuses, or stays silent. After it was reached there is no other one. */
static void leave_address(struct pg_link *link, bool is_silent, const char *why) {
    if (pg_dial_next(&link->dial, is_silent, clock_now_ms()))
        try_address(link);
    else
        end(link, PG_LINK_CUT, why);
}

static void on_soon(uv_timer_t *timer) {
    struct pg_link *link = timer->data;
    const char *why = PQerrorMessage(link->pg); /* of NULL, too */

    leave_address(link, false, *why ? why : "no memory, or no file for its socket");
}

static void on_late(uv_timer_t *timer) {
    leave_address(timer->data, true, "the server did not let us in in time");
}

static void arm(struct pg_link *link) {
    int64_t now_ms = clock_now_ms(), due_ms = pg_dial_due_ms(&link->dial, now_ms);

    (void)uv_timer_start(&link->timer, on_late, due_ms > now_ms ? (uint64_t)(due_ms - now_ms) : 0,
                         0);
}

/* Inside a call no event may come. */
static void fail_soon(struct pg_link *link) {
    close_watch(link);
    (void)uv_timer_start(&link->timer, on_soon, 0, 0);
}

static void on_ready(uv_poll_t *poll, int status, int events);

static int watch_for(struct pg_link *link, int events) {
    struct pg_watch *watch = link->watch;

    if (!watch)
        return UV_EINVAL;
    /* uv_poll_start() costs two system calls even when nothing changes. */
    if (watch->events == events)
        return 0;
    watch->events = events;
    return uv_poll_start(&watch->poll, events, on_ready);
}

/* The socket may be another one than before. */
static int watch_socket(struct pg_link *link, int events) {
    struct pg_watch *watch = malloc(sizeof *watch);

    close_watch(link);
    if (!watch)
        return UV_ENOMEM;
    *watch = (struct pg_watch){.link = link};
    watch->fd = fcntl(PQsocket(link->pg), F_DUPFD_CLOEXEC, 0);
    if (watch->fd < 0 || uv_poll_init(link->links->loop, &watch->poll, watch->fd) != 0) {
        (void)close(watch->fd); /* -1, too */
        free(watch);
        return UV_EIO;
    }
    watch->poll.data = watch;
    link->watch = watch;
    link->handles++;
    return watch_for(link, events);
}

static void flush(struct pg_link *link, int is_taken) {
    int left = is_taken ? PQflush(link->pg) : -1;

    if (left < 0 || watch_for(link, left > 0 ? UV_READABLE | UV_WRITABLE : UV_READABLE) != 0)
        fail_soon(link);
}

void pg_link_run(struct pg_link *link, const char *sql, int count, const char *const *params) {
    assert(link->state != PG_LINK_CONNECTING && !link->is_running);
    link->is_running = true;
    if (count > 0)
        flush(link, PQsendQueryParams(link->pg, sql, count, NULL, params, NULL, NULL, 0));
    else
        flush(link, PQsendQuery(link->pg, sql));
}

void pg_link_settled(struct pg_link *link) {
    assert(link->state == PG_LINK_SETTING && !link->is_running);
    link->state = PG_LINK_OPEN;
    pg_dial_succeed(&link->dial);
    (void)uv_timer_stop(&link->timer);
    link->events->on_open(link->data);
}

void pg_link_refuse(struct pg_link *link, const char *why) {
    end(link, PG_LINK_REFUSED, why);
}

static void connected(struct pg_link *link) {
    link->state = PG_LINK_SETTING;
    if (PQsetnonblocking(link->pg, 1) != 0 || watch_socket(link, UV_READABLE) != 0)
        fail_soon(link);
    else
        link->links->set_up(link, NULL);
}

static void step_connecting(struct pg_link *link) {
    int events = UV_WRITABLE;
    PostgresPollingStatusType polled = PQconnectPoll(link->pg);

    if (pg_dial_reaches(&link->dial, link->pg))
        arm(link);
    switch (polled) {
    case PGRES_POLLING_OK:
        connected(link);
        return;
    case PGRES_POLLING_FAILED:
        leave_address(link, false, PQerrorMessage(link->pg));
        return;
    case PGRES_POLLING_READING:
        events = UV_READABLE;
        break;
    case PGRES_POLLING_WRITING:
    case PGRES_POLLING_ACTIVE: /* no longer returned */
        break;
    }
    if (watch_socket(link, events) != 0)
        fail_soon(link);
}

static bool is_error(const PGresult *result) {
    ExecStatusType status = PQresultStatus(result);

    return status == PGRES_FATAL_ERROR || status == PGRES_BAD_RESPONSE;
}

static void completed(struct pg_link *link) {
    PGresult *result = link->result;

    link->result = NULL;
    link->is_running = false;
    if (link->state == PG_LINK_OPEN) {
        link->events->on_result(link->data, result);
        return;
    }
    link->links->set_up(link, result);
    PQclear(result);
}

/* 1 when all of what runs has come, 0 before, -1 when the connection has broken. */
static int collect(struct pg_link *link) {
    while (!PQisBusy(link->pg)) {
        PGresult *result = PQgetResult(link->pg);

        if (!result)
            return PQstatus(link->pg) == CONNECTION_OK ? 1 : -1;
        if (link->result && is_error(link->result)) {
            PQclear(result);
            continue;
        }
        PQclear(link->result);
        link->result = result;
    }
    return 0;
}

static void on_server_notice(void *data, const PGresult *notice) {
    const char *severity = PQresultErrorField(notice, PG_DIAG_SEVERITY_NONLOCALIZED);
    const char *text = PQresultErrorField(notice, PG_DIAG_MESSAGE_PRIMARY);
    struct pg_link *link = data;

    if (severity && text && (strcmp(severity, "FATAL") == 0 || strcmp(severity, "PANIC") == 0))
        pg_link_why(link->farewell, text);
}

/* The same, when it came as the answer to a statement. */
static void take_farewell(struct pg_link *link) {
    if (link->result && is_error(link->result))
        on_server_notice(link, link->result);
}

static void tell_notices(struct pg_link *link) {
    PGnotify *notify;

    while (link->pg && (notify = PQnotifies(link->pg))) {
        if (link->events->on_notice)
            link->events->on_notice(link->data, notify->extra);
        PQfreemem(notify);
    }
}

static void step_open(struct pg_link *link) {
    bool is_alive = PQconsumeInput(link->pg) != 0;
    int progress = collect(link);

    take_farewell(link);
    if (!is_alive || progress < 0 || link->farewell[0]) {
        end_broken(link);
        return;
    }
    if (progress > 0 && link->is_running)
        completed(link);
    else
        flush(link, 1);
    if (!link->is_closed)
        tell_notices(link);
}

static void on_ready(uv_poll_t *poll, int status, int events) {
    struct pg_watch *watch = poll->data;
    struct pg_link *link = watch->link;

    (void)events;
    if (status < 0)
        watch->events = 0; /* libuv has stopped polling; libpq finds the error */
    if (link->is_closed || link->watch != watch)
        return;
    link->handles++; /* it may be closed by what is called */
    if (link->state == PG_LINK_CONNECTING)
        step_connecting(link);
    else
        step_open(link);
    link->handles--;
    maybe_free(link);
}

/* What stands before dbname is a default, what stands after it wins over the conninfo. GSS
 * encryption costs a round trip. */
static PGconn *connect_start(const struct pg_links *links, const char *address) {
    static const char *const names[] = {"gssencmode",      "application_name", "dbname",
                                        "client_encoding", "hostaddr",         NULL};
    const char *const values[] = {"disable", links->name, links->conninfo, "UTF8", address, NULL};

    return PQconnectStartParams(names, values, 1);
}

static void try_address(struct pg_link *link) {
    char address[ADDRESS_TEXT];

    close_watch(link);
    PQfinish(link->pg);
    pg_dial_address(&link->dial, address);
    link->pg = connect_start(link->links, address);
    if (PQstatus(link->pg) == CONNECTION_BAD) { /* NULL, too */
        fail_soon(link);
        return;
    }
    (void)PQsetNoticeReceiver(link->pg, on_server_notice, link);
    arm(link);
    if (watch_socket(link, UV_WRITABLE) != 0)
        fail_soon(link);
}

static void on_found(struct pg_dial *dial, const char *why) {
    if (why)
        end(dial->data, PG_LINK_CUT, why);
    else
        try_address(dial->data);
}

struct pg_link *pg_link_open(struct pg_links *links, const struct pg_link_events *events,
                             void *data) {
    struct pg_link *link = calloc(1, sizeof *link);

    if (!link)
        return NULL;
    link->links = links;
    link->events = events;
    link->data = data;
    links->count++;
    (void)uv_timer_init(links->loop, &link->timer);
    link->timer.data = link;
    link->handles = 1;
    link->dial = (struct pg_dial){.host = &links->host, .on_found = on_found, .data = link};
    if (pg_dial_begin(&link->dial, clock_now_ms(), links->timeout_ms) != 0)
        fail_soon(link);
    else if (link->dial.lookup)
        arm(link);
    else
        try_address(link);
    return link;
}
