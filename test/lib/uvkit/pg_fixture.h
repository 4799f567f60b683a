/* What the tests of the Postgres pool share: a loop, a pool, an administrator's connection, and a
 * proxy between pool and server that can stall, drop and refuse connections. */
#ifndef TEST_PG_FIXTURE_H
#define TEST_PG_FIXTURE_H

#include "clock.h"
#include "fiber.h"
#include "pg.h"
#include "wait.h"

#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define PAIRS_MOST 32

enum proxy_mode {
    PROXY_PASS,
    PROXY_STALL,  /* nothing moves; connections are left in the backlog */
    PROXY_REFUSE, /* connections are closed, new ones at once */
    PROXY_STOP,
};

struct proxy {
    pthread_t thread;
    atomic_int mode;
    atomic_int acting;       /* the mode that the thread follows by now */
    const char *host, *port; /* of the server */
    int listener, own_port;
    int pairs[PAIRS_MOST][2];
    unsigned count;
    atomic_uint frozen, dropped; /* nothing moves on the first pairs; how many have ended */
    bool is_listening;
};

struct fixture {
    uv_loop_t loop;
    uv_timer_t tick; /* so that a wait looks at its condition again */
    struct pg_pool *pool;
    struct proxy proxy;
    PGconn *admin;
    char name[32];            /* of this process, pools and administrator alike */
    char conninfo[512];       /* straight to the server */
    char proxy_conninfo[512]; /* through the proxy */
    bool is_closed;
};

static inline int connect_unix(const char *directory, const char *port) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%.80s/.s.PGSQL.%.8s", directory,
                   port);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0) {
        (void)close(fd);
        return -1;
    }
    return fd;
}

static inline int connect_server(const struct proxy *proxy) {
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found;
    int fd;

    if (proxy->host[0] == '/')
        return connect_unix(proxy->host, proxy->port);
    if (getaddrinfo(proxy->host, proxy->port, &hints, &found) != 0)
        return -1;
    fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, found->ai_addr, found->ai_addrlen) != 0) {
        (void)close(fd);
        fd = -1;
    }
    freeaddrinfo(found);
    return fd;
}

static inline void proxy_drop(struct proxy *proxy, unsigned pair) {
    (void)close(proxy->pairs[pair][0]);
    (void)close(proxy->pairs[pair][1]);
    proxy->count--;
    proxy->dropped++;
    memcpy(proxy->pairs[pair], proxy->pairs[proxy->count], sizeof(proxy->pairs[0]));
}

static inline void proxy_accept(struct proxy *proxy) {
    int client = accept(proxy->listener, NULL, NULL);
    int server;

    if (client < 0)
        return;
    server = proxy->acting == PROXY_PASS && proxy->count < PAIRS_MOST ? connect_server(proxy) : -1;
    if (server < 0) {
        (void)close(client);
        return;
    }
    proxy->pairs[proxy->count][0] = client;
    proxy->pairs[proxy->count][1] = server;
    proxy->count++;
}

static inline bool proxy_copy(int from, int to) {
    char buffer[16384];
    ssize_t length = recv(from, buffer, sizeof(buffer), 0);

    return length > 0 && send(to, buffer, (size_t)length, MSG_NOSIGNAL) == length;
}

static inline void proxy_move(struct proxy *proxy) {
    struct pollfd polled[1 + 2 * PAIRS_MOST] = {{.fd = proxy->listener, .events = POLLIN}};

    for (unsigned i = 0; i < 2 * proxy->count; i++)
        polled[1 + i] = (struct pollfd){
            .fd = i / 2 < proxy->frozen ? -1 : proxy->pairs[i / 2][i % 2], .events = POLLIN};
    if (poll(polled, 1 + 2 * proxy->count, 2) <= 0)
        return;
    for (unsigned i = proxy->count; i-- > 0;)
        for (unsigned side = 0; side < 2; side++)
            if (polled[1 + 2 * i + side].revents != 0 &&
                !proxy_copy(proxy->pairs[i][side], proxy->pairs[i][1 - side])) {
                proxy_drop(proxy, i);
                break;
            }
    if (polled[0].revents != 0)
        proxy_accept(proxy);
}

static inline void *proxy_run(void *arg) {
    struct proxy *proxy = arg;

    while (proxy->mode != PROXY_STOP) {
        proxy->acting = proxy->mode;
        while (proxy->acting == PROXY_REFUSE && proxy->count > 0)
            proxy_drop(proxy, proxy->count - 1);
        if (proxy->acting == PROXY_STALL)
            (void)poll(NULL, 0, 2);
        else
            proxy_move(proxy);
    }
    while (proxy->count > 0)
        proxy_drop(proxy, proxy->count - 1);
    return NULL;
}

/* The port is taken, so that nobody else gets it, but nobody listens on it yet. */
static inline void proxy_bind(struct proxy *proxy, const char *host, const char *port) {
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t length = sizeof(address);

    proxy->host = host;
    proxy->port = port;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    proxy->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(proxy->listener, (struct sockaddr *)&address, length), 0);
    assert_int_equal(getsockname(proxy->listener, (struct sockaddr *)&address, &length), 0);
    proxy->own_port = ntohs(address.sin_port);
}

static inline void proxy_listen(struct proxy *proxy) {
    assert_int_equal(listen(proxy->listener, 64), 0);
    assert_int_equal(pthread_create(&proxy->thread, NULL, proxy_run, proxy), 0);
    proxy->is_listening = true;
}

static inline void proxy_set(struct proxy *proxy, enum proxy_mode mode) {
    proxy->mode = mode;
    while (proxy->acting != (int)mode)
        (void)poll(NULL, 0, 1);
}

static inline void proxy_close(struct proxy *proxy) {
    proxy->mode = PROXY_STOP;
    if (proxy->is_listening)
        (void)pthread_join(proxy->thread, NULL);
    (void)close(proxy->listener);
}

static inline void on_tick(uv_timer_t *timer) {
    (void)timer;
}

static inline void on_pool_closed(void *data) {
    struct fixture *fixture = data;

    assert_false(fixture->is_closed);
    fixture->is_closed = true;
    fixture->pool = NULL;
}

static inline void open_pool(struct fixture *fixture, const char *conninfo, unsigned connections,
                             unsigned queue) {
    struct pg_pool_options options = {.conninfo = conninfo,
                                      .name = fixture->name,
                                      .connections = connections,
                                      .queue = queue,
                                      .connect_timeout_ms = 1000};

    fixture->is_closed = false;
    assert_int_equal(pg_pool_open(&fixture->pool, &fixture->loop, &options), 0);
}

static inline struct pg_pool_stats pool_stats(const struct fixture *fixture) {
    struct pg_pool_stats stats;

    pg_pool_stats(fixture->pool, &stats);
    return stats;
}

static inline void open_ready_pool(struct fixture *fixture, const char *conninfo,
                                   unsigned connections, unsigned queue) {
    open_pool(fixture, conninfo, connections, queue);
    WAIT_FOR(&fixture->loop, pool_stats(fixture).connections == connections);
}

static inline void close_pool(struct fixture *fixture) {
    if (fixture->pool == NULL)
        return;
    pg_pool_close(fixture->pool, on_pool_closed, fixture);
    WAIT_FOR(&fixture->loop, fixture->is_closed);
}

/* As the administrator, at once: the first field of the answer. */
static inline int ask(struct fixture *fixture, const char *sql) {
    PGresult *result = PQexec(fixture->admin, sql);
    int answer = 0;

    if (PQresultStatus(result) == PGRES_TUPLES_OK && PQntuples(result) > 0)
        answer = atoi(PQgetvalue(result, 0, 0));
    else if (PQresultStatus(result) != PGRES_COMMAND_OK &&
             PQresultStatus(result) != PGRES_TUPLES_OK)
        fail_msg("%s: %s", sql, PQerrorMessage(fixture->admin));
    PQclear(result);
    return answer;
}

/* The backends of this process's pools, without the administrator's. */
#define POOL_BACKENDS                                                                              \
    "FROM pg_stat_activity WHERE application_name = current_setting('application_name') AND "      \
    "pid <> pg_backend_pid()"

static inline void connect_admin(struct fixture *fixture, const char *conninfo) {
    const char *const names[] = {"dbname", "application_name", "options", NULL};
    const char *const values[] = {conninfo, fixture->name, "-c client_min_messages=warning", NULL};

    fixture->admin = PQconnectdbParams(names, values, 1);
    if (PQstatus(fixture->admin) != CONNECTION_OK)
        fail_msg("%s", PQerrorMessage(fixture->admin));
}

static inline int set_up(void **state) {
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    const char *conninfo = getenv("TEST_PG");

    if (conninfo == NULL) {
        print_error("set TEST_PG to a conninfo (test/run does)\n");
        free(fixture);
        return -1;
    }
    assert_non_null(fixture);
    (void)snprintf(fixture->name, sizeof(fixture->name), "test_pg_%d", (int)getpid());
    connect_admin(fixture, conninfo);
    proxy_bind(&fixture->proxy, PQhost(fixture->admin), PQport(fixture->admin));
    (void)snprintf(fixture->conninfo, sizeof(fixture->conninfo),
                   "host='%s' port=%s user='%s' password='%s' dbname='%s'", PQhost(fixture->admin),
                   PQport(fixture->admin), PQuser(fixture->admin), PQpass(fixture->admin),
                   PQdb(fixture->admin));
    (void)snprintf(fixture->proxy_conninfo, sizeof(fixture->proxy_conninfo),
                   "host=127.0.0.1 port=%d user='%s' password='%s' dbname='%s' sslmode=disable",
                   fixture->proxy.own_port, PQuser(fixture->admin), PQpass(fixture->admin),
                   PQdb(fixture->admin));
    assert_int_equal(uv_loop_init(&fixture->loop), 0);
    assert_int_equal(uv_timer_init(&fixture->loop, &fixture->tick), 0);
    assert_int_equal(uv_timer_start(&fixture->tick, on_tick, 2, 2), 0);
    *state = fixture;
    return 0;
}

static inline int tear_down(void **state) {
    struct fixture *fixture = *state;

    close_pool(fixture);
    proxy_close(&fixture->proxy);
    uv_close((uv_handle_t *)&fixture->tick, NULL);
    (void)uv_run(&fixture->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&fixture->loop), 0);
    PQfinish(fixture->admin);
    fiber_cleanup();
    free(fixture);
    return 0;
}

/* A query whose end is counted; `ended` is where its number in the order of endings goes. */
static int endings;

struct start {
    struct pg_pool *pool;
    struct pg_query *query;
    int *ended;
};

static inline void await_end(void *arg) {
    struct start start = *(struct start *)arg;

    (void)pg_query_await(start.pool, start.query);
    *start.ended = ++endings;
}

static inline void start_in_fiber(struct fixture *fixture, struct pg_query *query, int *ended) {
    struct start start = {fixture->pool, query, ended};

    *ended = 0;
    assert_int_equal(fiber_start(await_end, &start), 0);
    assert_int_equal(*ended, 0); /* never inside the call */
}

static inline void start_query(struct fixture *fixture, struct pg_query *query, const char *sql,
                               int64_t timeout_ms, int *ended) {
    *query = (struct pg_query){.sql = sql, .deadline_ms = clock_now_ms() + timeout_ms};
    start_in_fiber(fixture, query, ended);
}

static inline void start_statement(struct fixture *fixture, struct pg_query *query,
                                   int64_t timeout_ms, int *ended) {
    static const struct pg_statement one = {"test_one", "SELECT $1::int", 1};

    *query = (struct pg_query){
        .statement = &one, .params = {"1"}, .deadline_ms = clock_now_ms() + timeout_ms};
    start_in_fiber(fixture, query, ended);
}

/* Start it and wait. */
static inline enum pg_status run_sql(struct fixture *fixture, struct pg_query *query,
                                     const char *sql) {
    int ended;

    start_query(fixture, query, sql, PATIENCE_MS, &ended);
    WAIT_FOR(&fixture->loop, ended != 0);
    return query->status;
}

/* Run a function in a fiber and wait for its end. */
struct in_fiber {
    void (*body)(struct fixture *fixture);
    struct fixture *fixture;
    bool is_done;
};

static inline void run_body(void *arg) {
    struct in_fiber *run = arg;

    run->body(run->fixture);
    run->is_done = true;
}

static inline void run_in_fiber(struct fixture *fixture, void (*body)(struct fixture *fixture)) {
    struct in_fiber run = {.body = body, .fixture = fixture};

    assert_int_equal(fiber_start(run_body, &run), 0);
    WAIT_FOR(&fixture->loop, run.is_done);
}

/* In a fiber, on a held connection. */
static inline enum pg_status run_on(struct fixture *fixture, struct pg_conn *conn,
                                    const char *sql) {
    struct pg_query query = {.sql = sql, .on = conn, .deadline_ms = clock_now_ms() + PATIENCE_MS};
    enum pg_status status = pg_query_await(fixture->pool, &query);

    pg_query_clear(&query);
    return status;
}

#endif
