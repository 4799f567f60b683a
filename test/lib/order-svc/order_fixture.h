/* What the tests of order-svc share: a loop, scripted inventory instances on real HTTP servers, and
 * the orders database in a schema of this process on TEST_PG. */
#ifndef TEST_ORDER_FIXTURE_H
#define TEST_ORDER_FIXTURE_H

#include "clock.h"
#include "fault.h"
#include "fiber.h"
#include "http_server.h"
#include "inventory_client.h"
#include "log.h"
#include "pg.h"
#include "uuid.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATIENCE_MS 20000
#define PATIENCE_S  100
#define PEERS       3
#define HELD_MOST   64

/* An instance of the inventory that answers as it is told to. */
struct peer {
    struct http_server *server;
    int port;
    unsigned calls, reserved, cancelled, listed;
    int status;         /* of a reservation [201]; 0: the connection is cut */
    const char *body;   /* of it, or NULL for a sale */
    const char *timing; /* its Server-Timing header, or NULL */
    int cancel_status;  /* [204] */
    bool is_holding;    /* keep calls waiting */
    struct fiber_event *held[HELD_MOST];
    unsigned holding;
    char headers[100]; /* Idempotency-Key of the last call, or "" */
    const char *list;  /* what GET /reservations answers, or NULL for `reservations` of them */
    int reservations;
    char after[64], since[32], older[32]; /* as the last list was asked for */
};

struct fixture {
    uv_loop_t loop;
    uv_timer_t tick; /* so that a wait looks at its condition again */
    struct peer peers[PEERS];
    struct inventory *inventory;
    struct pg_pool *pool;
    PGconn *admin;
    unsigned open; /* servers and clients to be closed */
    char name[32];
    int log_fd, stderr_fd;
};

static struct fixture fixture;

/* Run the loop until `condition` holds. */
#define WAIT_FOR(condition)                                                                        \
    do {                                                                                           \
        int64_t give_up_ms = clock_now_ms() + PATIENCE_MS;                                         \
        while (!(condition)) {                                                                     \
            if (clock_now_ms() > give_up_ms)                                                       \
                fail_msg("never happened: %s", #condition);                                        \
            (void)uv_run(&fixture.loop, UV_RUN_ONCE);                                              \
        }                                                                                          \
    } while (0)

static inline struct peer *peer_called(struct http_exchange *exchange, void *data) {
    struct peer *peer = data;
    struct fiber_event event = FIBER_EVENT_INIT;
    const char *key = http_header(exchange, "idempotency-key");

    peer->calls++;
    (void)snprintf(peer->headers, sizeof peer->headers, "%s", key != NULL ? key : "");
    if (peer->is_holding) {
        assert_true(peer->holding < HELD_MOST);
        peer->held[peer->holding++] = &event;
        fiber_event_wait(&event);
    }
    return peer;
}

static inline void on_peer_reserve(struct http_exchange *exchange, void *data) {
    struct peer *peer = peer_called(exchange, data);
    json_t *body = http_body_json(exchange);

    if (body == NULL)
        return;
    json_decref(body);
    peer->reserved += peer->status == 201 || peer->status == 0;
    if (peer->timing != NULL)
        http_reply_header(exchange, "Server-Timing", peer->timing);
    if (peer->status == 0)
        http_reply_drop(exchange);
    else if (peer->body != NULL)
        http_reply(exchange, peer->status, "application/json", peer->body, strlen(peer->body));
    else
        http_reply_json(exchange, peer->status,
                        json_pack("{s:i, s:i, s:s, s:s}", "unit", 7, "remaining", 6, "price",
                                  "9.90", "instance", "inventory-9"));
}

static inline void on_peer_cancel(struct http_exchange *exchange, void *data) {
    struct peer *peer = peer_called(exchange, data);

    peer->cancelled++;
    http_reply(exchange, peer->cancel_status, NULL, "", 0);
}

static inline void on_peer_get(struct http_exchange *exchange, void *data) {
    struct peer *peer = peer_called(exchange, data);

    http_reply(exchange, 200, "application/json", peer->body, strlen(peer->body));
}

/* The order id of reservation `number`. */
static inline void order_id_of(int number, char id[UUID_TEXT]) {
    (void)snprintf(id, UUID_TEXT, "00000000-0000-7000-8000-%012d", number);
}

static inline json_t *reservation_json(int number) {
    char id[UUID_TEXT];

    order_id_of(number, id);
    return json_pack("{s:s, s:s, s:i, s:i, s:s, s:s}", "order_id", id, "product_id", id, "unit",
                     number, "remaining", 0, "price", "9.90", "instance", "inventory-9");
}

/* The reservations after number `after` up to number `last`; NULL without memory. */
static inline json_t *page_after(int after, int last) {
    json_t *list = json_array();
    int failed = list == NULL;
    char next[16];

    for (int number = after + 1; number <= last && !failed; number++)
        failed = json_array_append_new(list, reservation_json(number));
    if (failed) {
        json_decref(list);
        return NULL;
    }
    (void)snprintf(next, sizeof next, "%d", last);
    return json_pack("{s:o, s:s}", "reservations", list, "next", next);
}

static inline void on_peer_list(struct http_exchange *exchange, void *data) {
    struct peer *peer = peer_called(exchange, data);
    const char *after = http_query_param(exchange, "after");
    int limit = atoi(http_query_param(exchange, "limit"));
    int from = atoi(after), to = peer->reservations;

    peer->listed++;
    (void)snprintf(peer->after, sizeof peer->after, "%s", after);
    (void)snprintf(peer->since, sizeof peer->since, "%s", http_query_param(exchange, "since_ms"));
    (void)snprintf(peer->older, sizeof peer->older, "%s",
                   http_query_param(exchange, "older_than_ms"));
    if (peer->list != NULL)
        http_reply(exchange, 200, "application/json", peer->list, strlen(peer->list));
    else
        http_reply_json(exchange, 200, page_after(from, to - from > limit ? from + limit : to));
}

static const struct http_route peer_routes[] = {
    {"POST", "/products/{id}/reservations", on_peer_reserve},
    {"DELETE", "/reservations/{id}", on_peer_cancel},
    {"GET", "/reservations", on_peer_list},
    {"GET", "/products/{id}", on_peer_get},
    {"GET", "/strategies", on_peer_get},
    {NULL, NULL, NULL},
};

/* Port 0: any. */
static inline void peer_open(struct peer *peer, int port) {
    struct http_server_options options = {.routes = peer_routes, .data = peer};

    *peer = (struct peer){.status = 201, .cancel_status = 204};
    assert_int_equal(http_server_open(&peer->server, &fixture.loop, &options), 0);
    assert_int_equal(http_server_listen(peer->server, "127.0.0.1", port), 0);
    peer->port = http_server_port(peer->server);
    fixture.open++;
}

static inline void peer_let_go(struct peer *peer) {
    peer->is_holding = false;
    while (peer->holding > 0)
        fiber_event_set(peer->held[--peer->holding]);
}

static inline void on_something_closed(void *data) {
    (void)data;
    fixture.open--;
}

static inline void peer_close(struct peer *peer) {
    unsigned open = fixture.open;

    if (peer->server == NULL)
        return;
    http_server_close(peer->server, on_something_closed, NULL);
    peer->server = NULL;
    peer_let_go(peer);
    WAIT_FOR(fixture.open < open);
}

/* The first `count` peers, as order-svc is told of them. */
static inline void open_inventory(int count) {
    char urls[200] = "", why[200];

    for (int i = 0; i < count; i++)
        (void)snprintf(urls + strlen(urls), sizeof urls - strlen(urls), "%shttp://127.0.0.1:%d",
                       i > 0 ? "," : "", fixture.peers[i].port);
    assert_int_equal(inventory_open(&fixture.inventory, &fixture.loop, urls, why, sizeof why), 0);
    fixture.open++;
}

static inline void close_inventory(void) {
    struct inventory *inventory = fixture.inventory;
    unsigned open = fixture.open;

    if (inventory == NULL)
        return;
    fixture.inventory = NULL;
    inventory_close(inventory, on_something_closed, NULL);
    assert_int_equal(fixture.open, open);
    WAIT_FOR(fixture.open < open);
}

static inline void on_tick(uv_timer_t *timer) {
    (void)timer;
}

static inline int set_up_peers(void **state) {
    (void)state;
    memset(&fixture, 0, sizeof fixture);
    (void)alarm(PATIENCE_S);
    (void)signal(SIGPIPE, SIG_IGN);
    log_init("test", LOG_ERROR);
    assert_int_equal(uv_loop_init(&fixture.loop), 0);
    assert_int_equal(uv_timer_init(&fixture.loop, &fixture.tick), 0);
    assert_int_equal(uv_timer_start(&fixture.tick, on_tick, 2, 2), 0);
    for (int i = 0; i < PEERS; i++)
        peer_open(&fixture.peers[i], 0);
    return 0;
}

/* Whatever was caught. */
static inline void release_log(void) {
    if (fixture.stderr_fd == 0)
        return;
    log_init("test", LOG_ERROR);
    assert_true(dup2(fixture.stderr_fd, STDERR_FILENO) >= 0);
    (void)close(fixture.stderr_fd);
    (void)close(fixture.log_fd);
}

static inline int tear_down_peers(void **state) {
    (void)state;
    release_log();
    close_inventory();
    for (int i = 0; i < PEERS; i++)
        peer_close(&fixture.peers[i]);
    uv_close((uv_handle_t *)&fixture.tick, NULL);
    (void)uv_run(&fixture.loop, UV_RUN_DEFAULT);
    assert_int_equal(fixture.open, 0);
    assert_int_equal(uv_loop_close(&fixture.loop), 0);
    fiber_cleanup();
    return 0;
}

/* From here on every line of the log goes to a file. */
static inline void catch_log(void) {
    char path[] = "/tmp/test_order_log_XXXXXX";

    fixture.log_fd = mkstemp(path);
    assert_true(fixture.log_fd >= 0);
    (void)unlink(path);
    fixture.stderr_fd = dup(STDERR_FILENO);
    assert_true(dup2(fixture.log_fd, STDERR_FILENO) >= 0);
    log_init("test", LOG_INFO);
}

/* How many lines so far have `text`. */
static inline int logged(const char *text) {
    static char log[64 * 1024];
    ssize_t length = pread(fixture.log_fd, log, sizeof log - 1, 0);
    int count = 0;

    assert_true(length >= 0);
    log[length] = '\0';
    for (const char *at = log; (at = strstr(at, text)) != NULL; at++)
        count++;
    return count;
}

#endif
