/* Opens a session, sends to it, collects its answers, and notices its end.
 *
 *    TRYING -> REACHED -> SETTING -> OPEN -> gone
 *       |         |          |
 *       +---------+----------+-------------> gone
 *
 * PQconnectStart() and PQconnectPoll() read password files synchronously. They would also look up
 * the host's name on the loop's thread, and wait for a silent address until the deadline. So a
 * thread of libuv looks up the name, and each attempt gives libpq one address (hostaddr) beside the
 * name, which TLS and ~/.pgpass need. libpq itself handles several hosts, a socket's folder, an
 * address and a service.
 *
 * While it connects, libpq may replace its socket at any time, and the new one often gets the old
 * number. So libuv polls a duplicate, and each step of connecting makes a new one. */
#include "pg_link.h"

#include "clock.h"
#include "log.h"
#include "utf8.h"

#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SQLSTATE_COMPLETION_UNKNOWN "40003"
#define SQLSTATE_CONNECTION_CLASS   "08"

#define RENEW_FIRST_MS              20
#define RENEW_MOST_MS               60000
#define RENEW_READ_ONLY_MOST_MS     1280

#define CANCELS_MOST                16
#define CANCEL_STACK                (256 * 1024)

struct pg_watch {
    uv_poll_t poll;
    struct pg_link *link;
    int fd;
    int events;
};

struct pg_lookup {
    uv_getaddrinfo_t request;
    struct pg_links *links;
    struct pg_link *link; /* NULL: its link no longer waits */
};

/* ---- Errors */

void pg_first_line(char *line, size_t size, const char *text) {
    size_t length = strcspn(text, "\n");

    if (length >= size) {
        length = size - 1;
        while (length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80)
            length--; /* do not cut inside a UTF-8 character */
    }
    memmove(line, text, length);
    line[length] = '\0';
    utf8_make_printable(line);
}

bool pg_is_error(const PGresult *result) {
    ExecStatusType status = PQresultStatus(result);

    return status == PGRES_FATAL_ERROR || status == PGRES_BAD_RESPONSE;
}

bool pg_has_state(const PGresult *result, const char *sqlstate) {
    const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);

    return state != NULL && strcmp(state, sqlstate) == 0;
}

/* True for an ERROR of the server. A FATAL error may come between the commit and its confirmation,
 * so it proves nothing. Nor do the codes that say so themselves. */
bool pg_is_refused(const PGresult *result) {
    const char *severity = PQresultErrorField(result, PG_DIAG_SEVERITY_NONLOCALIZED);
    const char *sqlstate = PQresultErrorField(result, PG_DIAG_SQLSTATE);

    return result != NULL && pg_is_error(result) && severity != NULL &&
           strcmp(severity, "ERROR") == 0 && sqlstate != NULL &&
           strcmp(sqlstate, SQLSTATE_COMPLETION_UNKNOWN) != 0 &&
           strncmp(sqlstate, SQLSTATE_CONNECTION_CLASS, 2) != 0;
}

const char *pg_error_text(const PGresult *result) {
    const char *text = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);

    return text != NULL ? text : PQresultErrorMessage(result);
}

enum pg_stale pg_stale(const PGresult *result) {
    const char *sqlstate = PQresultErrorField(result, PG_DIAG_SQLSTATE);

    if (sqlstate == NULL)
        return PG_STALE_NOT;
#define X(name, state)                                                                             \
    if (strcmp(sqlstate, state) == 0)                                                              \
        return PG_STALE_##name;
    PG_STALES(X)
#undef X
    return PG_STALE_NOT;
}

static int64_t next_length_ms(int64_t length_ms, enum pg_stale kind) {
    int64_t most_ms = kind == PG_STALE_READ_ONLY ? RENEW_READ_ONLY_MOST_MS : RENEW_MOST_MS;

    if (length_ms == 0)
        return RENEW_FIRST_MS;
    return length_ms * 2 < most_ms ? length_ms * 2 : most_ms;
}

bool pg_stale_is_due(struct pg_pause *pause, enum pg_stale kind, int64_t now_ms) {
    if (now_ms < pause->until_ms)
        return false;
    pause->length_ms = next_length_ms(pause->length_ms, kind);
    pause->until_ms = now_ms + pause->length_ms;
    return true;
}

/* ---- Its end */

static void link_maybe_free(struct pg_link *link) {
    struct pg_links *links = link->links;

    if (!link->is_closed || link->handles > 0)
        return;
    assert(links->count > 0);
    free(link);
    links->count--;
    links->on_turn(links->data);
}

static void on_watch_closed(uv_handle_t *handle) {
    struct pg_watch *watch = handle->data;
    struct pg_link *link = watch->link;

    (void)close(watch->fd);
    free(watch);
    link->handles--;
    link_maybe_free(link);
}

static void link_close_watch(struct pg_link *link) {
    struct pg_watch *watch = link->watch;

    if (watch == NULL)
        return;
    link->watch = NULL;
    uv_close((uv_handle_t *)&watch->poll, on_watch_closed);
}

static void on_link_timer_closed(uv_handle_t *handle) {
    struct pg_link *link = handle->data;

    link->handles--;
    link_maybe_free(link);
}

static void link_forget_addresses(struct pg_link *link) {
    if (link->lookup != NULL) {
        link->lookup->link = NULL;
        (void)uv_cancel((uv_req_t *)&link->lookup->request); /* or it ends by itself */
        link->lookup = NULL;
    }
    uv_freeaddrinfo(link->addresses.all);
    link->addresses = (struct addresses){.all = NULL};
}

void pg_link_close(struct pg_link *link) {
    assert(!link->is_closed);
    link->is_closed = true;
    link_forget_addresses(link);
    link_close_watch(link);
    PQclear(link->result);
    link->result = NULL;
    PQfinish(link->pg);
    link->pg = NULL;
    uv_close((uv_handle_t *)&link->timer, on_link_timer_closed);
}

/* Call it in the last line of a function. */
static void link_end(struct pg_link *link, enum pg_link_end how, const char *message) {
    char why[PG_LINK_WHY_SIZE];

    pg_first_line(why, sizeof why, message);
    link->events->on_end(link->data, how, why);
    pg_link_close(link);
}

/* The server may have told the reason. */
static void link_end_broken(struct pg_link *link, const char *why) {
    if (link->farewell[0] != '\0')
        link_end(link, PG_LINK_ENDED, link->farewell);
    else
        link_end(link, PG_LINK_CUT, why);
}

/* ---- Its timer */

static void link_try_address(struct pg_link *link);

/* The address refuses, or stays silent. Once an address is reached, no other one is tried. */
static void link_leave_address(struct pg_link *link, bool is_silent, const char *why) {
    if (link->state == PG_LINK_TRYING && link->addresses.all != NULL &&
        addresses_next(&link->addresses, is_silent, clock_now_ms()))
        link_try_address(link);
    else
        link_end_broken(link, why);
}

static void on_link_soon(uv_timer_t *timer) {
    struct pg_link *link = timer->data;
    struct pg_links *links = link->links;
    const char *why = link->pg != NULL ? PQerrorMessage(link->pg) : "";

    link_leave_address(link, false, *why != '\0' ? why : "no memory, or no file for its socket");
    links->on_turn(links->data);
}

static void on_link_late(uv_timer_t *timer) {
    struct pg_link *link = timer->data;
    struct pg_links *links = link->links;

    link_leave_address(link, true, "the server did not let us in in time");
    links->on_turn(links->data);
}

/* An address that is reached gets all the time. */
static void link_arm(struct pg_link *link) {
    int64_t due_ms = link->state == PG_LINK_TRYING && link->addresses.all != NULL
                         ? addresses_due_ms(&link->addresses, clock_now_ms())
                         : link->until_ms;
    int64_t delay_ms = due_ms - (int64_t)uv_now(link->links->loop);

    (void)uv_timer_start(&link->timer, on_link_late, delay_ms > 0 ? (uint64_t)delay_ms : 0, 0);
}

/* For a failure inside a call, where no event may come. */
static void link_fail_soon(struct pg_link *link) {
    link_close_watch(link);
    (void)uv_timer_start(&link->timer, on_link_soon, 0, 0);
}

/* ---- Its socket */

static void on_watch_ready(uv_poll_t *poll, int status, int events);

static int link_watch_for(struct pg_link *link, int events) {
    struct pg_watch *watch = link->watch;

    if (watch == NULL)
        return UV_EINVAL;
    /* uv_poll_start() costs two system calls even when nothing changes. */
    if (watch->events == events)
        return 0;
    watch->events = events;
    return uv_poll_start(&watch->poll, events, on_watch_ready);
}

/* Watch the socket, which may be another one than before. */
static int link_watch_socket(struct pg_link *link, int events) {
    struct pg_watch *watch = malloc(sizeof *watch);

    link_close_watch(link);
    if (watch == NULL)
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
    return link_watch_for(link, events);
}

/* `left`: PQflush() has not sent everything, or has failed. */
static void link_wait_for_more(struct pg_link *link, int left) {
    if (left < 0 || link_watch_for(link, left > 0 ? UV_READABLE | UV_WRITABLE : UV_READABLE) != 0)
        link_fail_soon(link);
}

/* ---- Statements */

void pg_link_sent(struct pg_link *link, int is_taken) {
    link->running++;
    link_wait_for_more(link, is_taken != 0 ? PQflush(link->pg) : -1);
}

void pg_link_run(struct pg_link *link, const char *sql, int count, const char *const *params) {
    assert(link->state >= PG_LINK_SETTING && link->running == 0);
    if (count > 0)
        pg_link_sent(link, PQsendQueryParams(link->pg, sql, count, NULL, params, NULL, NULL, 0));
    else
        pg_link_sent(link, PQsendQuery(link->pg, sql));
}

static void link_note_farewell(struct pg_link *link, const PGresult *error) {
    const char *severity = PQresultErrorField(error, PG_DIAG_SEVERITY_NONLOCALIZED);

    if (severity != NULL && (strcmp(severity, "FATAL") == 0 || strcmp(severity, "PANIC") == 0))
        pg_first_line(link->farewell, sizeof link->farewell, pg_error_text(error));
}

/* Also sees the error with which a server closes an idle connection. */
static void on_link_notice(void *data, const PGresult *notice) {
    const char *severity = PQresultErrorField(notice, PG_DIAG_SEVERITY_NONLOCALIZED);
    const char *text = PQresultErrorField(notice, PG_DIAG_MESSAGE_PRIMARY);
    struct pg_link *link = data;
    char quoted[2 * PG_LINK_WHY_SIZE];

    if (severity == NULL || text == NULL)
        return; /* one of libpq itself */
    link_note_farewell(link, notice);
    log_debug("postgres notice", "pool=%s severity=%s text=%s", link->links->name, severity,
              log_quote(quoted, sizeof quoted, text));
}

/* Keep the first error, or else the last result. */
static void link_keep(struct pg_link *link, PGresult *result) {
    if (link->result != NULL && pg_is_error(link->result)) {
        PQclear(result);
        return;
    }
    link->nth = link->result != NULL ? link->nth + 1 : 0;
    PQclear(link->result);
    link->result = result;
    link_note_farewell(link, result);
}

/* Why do the results end? The error that broke the connection, if libpq tells it. */
static const char *link_lost_why(const struct pg_link *link) {
    const char *error = PQerrorMessage(link->pg);

    if (link->result != NULL && pg_is_error(link->result) && !pg_is_refused(link->result))
        return pg_error_text(link->result);
    return error[0] != '\0' ? error : "no result";
}

/* The server is ready for the next statement. Only then is the outcome known: in the extended
 * protocol the server reports the command complete before it commits, and the commit may still
 * fail. */
static void link_complete(struct pg_link *link) {
    PGresult *result = link->result;

    if (result == NULL || (pg_is_error(result) && !pg_is_refused(result))) {
        link_end_broken(link, link_lost_why(link));
        return;
    }
    link->result = NULL;
    link->running--;
    if (link->state == PG_LINK_OPEN) {
        link->events->on_result(link->data, result);
        return;
    }
    link->links->set_up(link, result);
    PQclear(result);
}

static bool is_copy(const PGresult *result) {
    ExecStatusType status = PQresultStatus(result);

    return status == PGRES_COPY_IN || status == PGRES_COPY_OUT || status == PGRES_COPY_BOTH;
}

/* In pipeline mode a NULL separates the results of two commands. After a Sync there is none. */
static bool is_last(const struct pg_link *link, const PGresult *result) {
    return PQpipelineStatus(link->pg) == PQ_PIPELINE_OFF
               ? result == NULL
               : PQresultStatus(result) == PGRES_PIPELINE_SYNC;
}

/* Take the results that have arrived. True when a statement has ended. */
static bool link_take_results(struct pg_link *link) {
    bool is_told = false, is_between = false;

    /* PQisBusy() parses, and so reports notices even on an idle link. */
    while (link->pg != NULL && PQisBusy(link->pg) == 0 && link->running > 0) {
        PGresult *result = PQgetResult(link->pg);

        if (is_last(link, result)) {
            PQclear(result);
            link_complete(link);
            is_told = true;
            is_between = false;
        } else if (result == NULL) {
            if (is_between)
                link_end_broken(link, link_lost_why(link));
            is_between = true;
        } else if (is_copy(result)) { /* it would come again for ever */
            PQclear(result);
            link_end_broken(link, "COPY is not supported");
        } else {
            link_keep(link, result);
            is_between = false;
        }
    }
    return is_told;
}

static void link_tell_notices(struct pg_link *link) {
    PGnotify *notify;

    while (link->pg != NULL && (notify = PQnotifies(link->pg)) != NULL) {
        if (link->events->on_notice != NULL)
            link->events->on_notice(link->data, notify->extra);
        PQfreemem(notify);
    }
}

/* A link that breaks after a result ends in the next turn, so that its user can first use the
 * result. Its socket stays readable. */
void pg_link_read(struct pg_link *link) {
    bool is_alive = PQconsumeInput(link->pg) != 0;
    bool is_told = link_take_results(link);

    if (link->is_closed)
        return;
    if (!is_told && (!is_alive || link->farewell[0] != '\0')) {
        link_end_broken(link, PQerrorMessage(link->pg));
        return;
    }
    link_wait_for_more(link, is_alive ? PQflush(link->pg) : 0);
    link_tell_notices(link);
}

/* ---- Cancelling */

static atomic_uint cancels;

static void *send_cancels(PGcancel *cancel, unsigned count) {
    static const useconds_t pauses_us[] = {0, 100000, 900000};
    char error[256];

    for (unsigned i = 0; i < count; i++) {
        (void)usleep(pauses_us[i]);
        (void)PQcancel(cancel, error, sizeof error);
    }
    PQfreeCancel(cancel);
    atomic_fetch_sub(&cancels, 1);
    return NULL;
}

static void *cancel_once(void *cancel) {
    return send_cancels(cancel, 1);
}

static void *cancel_often(void *cancel) {
    return send_cancels(cancel, 3);
}

/* PQcancel() blocks for as long as a hanging server likes. So it gets a thread that nothing waits
 * for: work in libuv's pool would keep the loop from closing. It is a courtesy to the server, so a
 * failure to send it is not an error. */
void pg_link_cancel(struct pg_link *link, bool is_often) {
    PGcancel *cancel = PQstatus(link->pg) == CONNECTION_OK ? PQgetCancel(link->pg) : NULL;
    pthread_attr_t attributes;
    pthread_t thread;
    int rv = -1;

    if (cancel == NULL)
        return;
    if (atomic_fetch_add(&cancels, 1) < CANCELS_MOST && pthread_attr_init(&attributes) == 0) {
        (void)pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
        (void)pthread_attr_setstacksize(&attributes, CANCEL_STACK);
        rv = pthread_create(&thread, &attributes, is_often ? cancel_often : cancel_once, cancel);
        (void)pthread_attr_destroy(&attributes);
    }
    if (rv != 0)
        (void)send_cancels(cancel, 0);
}

/* ---- Opening */

void pg_link_settled(struct pg_link *link) {
    const struct addrinfo *current = link->addresses.current;
    struct sockaddr_storage *answered = &link->links->answered;

    assert(link->state == PG_LINK_SETTING && link->running == 0);
    link->state = PG_LINK_OPEN;
    if (current != NULL && current->ai_addrlen <= sizeof *answered) {
        *answered = (struct sockaddr_storage){0};
        memcpy(answered, current->ai_addr, current->ai_addrlen);
    }
    link_forget_addresses(link);
    (void)uv_timer_stop(&link->timer);
    link->events->on_open(link->data);
}

void pg_link_refuse(struct pg_link *link, const char *why) {
    assert(link->state == PG_LINK_SETTING);
    link_end(link, PG_LINK_REFUSED, why);
}

static void link_connected(struct pg_link *link) {
    link->state = PG_LINK_SETTING;
    if (PQsetnonblocking(link->pg, 1) != 0 || link_watch_socket(link, UV_READABLE) != 0)
        link_fail_soon(link);
    else
        link->links->set_up(link, NULL);
}

static void link_reach_address(struct pg_link *link) {
    ConnStatusType status = PQstatus(link->pg);

    if (link->state != PG_LINK_TRYING || status == CONNECTION_BAD || status == CONNECTION_STARTED ||
        status == CONNECTION_NEEDED)
        return;
    link->state = PG_LINK_REACHED;
    link_arm(link);
}

static void link_step_connecting(struct pg_link *link) {
    int events = UV_WRITABLE;
    PostgresPollingStatusType polled = PQconnectPoll(link->pg);

    link_reach_address(link);
    switch (polled) {
    case PGRES_POLLING_OK:
        link_connected(link);
        return;
    case PGRES_POLLING_FAILED:
        link_leave_address(link, false, PQerrorMessage(link->pg));
        return;
    case PGRES_POLLING_READING:
        events = UV_READABLE;
        break;
    case PGRES_POLLING_WRITING:
    case PGRES_POLLING_ACTIVE: /* no longer returned */
        break;
    }
    if (link_watch_socket(link, events) != 0)
        link_fail_soon(link);
}

static void on_watch_ready(uv_poll_t *poll, int status, int events) {
    struct pg_watch *watch = poll->data;
    struct pg_link *link = watch->link;
    struct pg_links *links = link->links;

    (void)events;
    assert(link->watch == watch);
    if (status < 0)
        watch->events = 0; /* libuv has stopped polling; libpq finds the error */
    if (link->state >= PG_LINK_SETTING)
        pg_link_read(link);
    else
        link_step_connecting(link);
    links->on_turn(links->data);
}

/* A keyword before dbname is a default; one after it overrides the conninfo. GSS encryption costs a
 * round trip. */
static PGconn *link_connect_start(const struct pg_links *links, const char *address) {
    static const char *const names[] = {"gssencmode",      "application_name", "dbname",
                                        "client_encoding", "hostaddr",         NULL};
    const char *const values[] = {"disable", links->name, links->conninfo, "UTF8", address, NULL};

    return PQconnectStartParams(names, values, 1);
}

static void link_try_address(struct pg_link *link) {
    char address[ADDRESS_TEXT] = ""; /* then libpq finds it */

    link_close_watch(link);
    PQfinish(link->pg);
    if (link->addresses.current != NULL)
        address_host(address, link->addresses.current->ai_addr);
    link->pg = link_connect_start(link->links, address);
    if (PQstatus(link->pg) == CONNECTION_BAD) { /* NULL, too */
        link_fail_soon(link);
        return;
    }
    (void)PQsetNoticeReceiver(link->pg, on_link_notice, link);
    link_arm(link);
    if (link_watch_socket(link, UV_WRITABLE) != 0)
        link_fail_soon(link);
}

static void link_take_addresses(struct pg_link *link, int status, struct addrinfo *all) {
    int64_t now_ms = clock_now_ms();
    char why[PG_LINK_WHY_SIZE];

    link->lookup = NULL;
    if (status != 0) {
        (void)snprintf(why, sizeof why, "host %.100s: %s", link->links->host, uv_strerror(status));
        link_end(link, PG_LINK_CUT, why);
        return;
    }
    addresses_begin(&link->addresses, all, &link->links->answered, now_ms, link->until_ms - now_ms);
    link_try_address(link);
}

static void on_looked_up(uv_getaddrinfo_t *request, int status, struct addrinfo *all) {
    struct pg_lookup *lookup = request->data;
    struct pg_links *links = lookup->links;

    links->lookups--;
    if (lookup->link != NULL)
        link_take_addresses(lookup->link, status, all);
    else
        uv_freeaddrinfo(all);
    free(lookup);
    links->on_turn(links->data);
}

/* 0, or an error of libuv. */
static int link_look_up(struct pg_link *link) {
    static const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct pg_links *links = link->links;
    struct pg_lookup *lookup = malloc(sizeof *lookup);
    int rv;

    if (lookup == NULL)
        return UV_ENOMEM;
    *lookup = (struct pg_lookup){.request.data = lookup, .links = links, .link = link};
    rv = uv_getaddrinfo(links->loop, &lookup->request, on_looked_up, links->host, NULL, &hints);
    if (rv != 0) {
        free(lookup);
        return rv;
    }
    link->lookup = lookup;
    links->lookups++;
    return 0;
}

/* ---- Links */

static const char *option_value(const PQconninfoOption *option, const char *keyword) {
    for (; option->keyword != NULL; option++)
        if (strcmp(option->keyword, keyword) == 0)
            return option->val != NULL ? option->val : "";
    return "";
}

/* Is it one name, which libpq would look up, without an order of its own? */
static bool is_one_name(const PQconninfoOption *options) {
    const char *host = option_value(options, "host");
    const char *order = option_value(options, "load_balance_hosts");

    return host[0] != '\0' && host[0] != '/' && host[0] != '@' && strchr(host, ',') == NULL &&
           option_value(options, "hostaddr")[0] == '\0' && !address_is_literal(host) &&
           (order[0] == '\0' || strcmp(order, "disable") == 0);
}

int pg_links_init(struct pg_links *links) {
    PQconninfoOption *options = PQconninfoParse(links->conninfo, NULL);
    bool is_ours = options != NULL && is_one_name(options);

    links->host = is_ours ? strdup(option_value(options, "host")) : NULL;
    PQconninfoFree(options);
    return options == NULL || (is_ours && links->host == NULL) ? UV_ENOMEM : 0;
}

bool pg_links_are_gone(const struct pg_links *links) {
    return links->count == 0 && links->lookups == 0;
}

void pg_links_free(struct pg_links *links) {
    assert(pg_links_are_gone(links));
    free(links->host);
    free(links->conninfo);
}

struct pg_link *pg_link_open(struct pg_links *links, const struct pg_link_events *events,
                             void *data) {
    struct pg_link *link = calloc(1, sizeof *link);

    if (link == NULL)
        return NULL;
    link->links = links;
    link->events = events;
    link->data = data;
    links->count++;
    (void)uv_timer_init(links->loop, &link->timer);
    link->timer.data = link;
    link->handles = 1;
    link->until_ms = clock_now_ms() + links->timeout_ms;
    if (links->host == NULL)
        link_try_address(link);
    else if (link_look_up(link) == 0)
        link_arm(link);
    else
        link_fail_soon(link);
    return link;
}
