/* The scripted instances, and the log. */
#include "order_fixture.h"

#include "own_port.h"

#include <unistd.h>

#define PATIENCE_S 100

struct fixture fixture;

static void hold(struct peer *peer) {
    struct fiber_event event = FIBER_EVENT_INIT;

    assert_true(peer->holding < HELD_MOST);
    peer->held[peer->holding++] = &event;
    fiber_event_wait(&event);
}

static struct peer *peer_called(struct http_exchange *exchange, void *data) {
    struct peer *peer = data;
    const char *key = http_header(exchange, "idempotency-key");
    const char *authorization = http_header(exchange, "authorization");

    peer->calls++;
    if (authorization == NULL || strcmp(authorization, "Bearer hush") != 0)
        peer->strangers++;
    (void)snprintf(peer->headers, sizeof peer->headers, "%s", key != NULL ? key : "");
    if (peer->is_holding)
        hold(peer);
    return peer;
}

static void on_peer_reserve(struct http_exchange *exchange, void *data) {
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

static void reply_line(struct http_exchange *exchange, struct peer *peer, const char *order_id,
                       char how) {
    char line[5000] = "{\"order_id\": \n";
    size_t length, half = 0;

    if (how != 'm')
        (void)snprintf(line, sizeof line,
                       "{\"order_id\":\"%s\",\"%s\":%d,\"timing\":\"%s\",\"unit\":7,"
                       "\"remaining\":6,\"price\":\"9.90\",\"instance\":\"inventory-9\"}\n",
                       how == 'u' ? "82391173-9dbc-49b6-821b-746a11dbbe5e" : order_id,
                       how == 'n' ? "state" : "status", peer->status,
                       peer->timing != NULL ? peer->timing : "");
    length = strlen(line);
    if (how == 'l')
        memset(line, ' ', length = sizeof line);
    for (length = how == 'f' ? 0 : length; how == 'f' && length + 3 <= sizeof line; length += 3)
        memcpy(line + length, "{}\n", 3);
    if (how == 's') {
        half = length / 2;
        http_reply_chunk(exchange, line, half);
    }
    if (how == 's' || how == 'h')
        hold(peer);
    http_reply_chunk(exchange, line + half, length - half);
    if (how == 'd')
        http_reply_chunk(exchange, line, length);
}

static void on_peer_reserve_many(struct http_exchange *exchange, void *data) {
    struct peer *peer = peer_called(exchange, data);
    const char *script = peer->script != NULL ? peer->script : "";
    json_t *body = http_body_json(exchange), *order;
    size_t i;

    peer->groups++;
    if (body == NULL)
        return;
    if (peer->refusal != 0)
        http_reply_error(exchange, peer->refusal, "refused", "all of them");
    else if (http_reply_chunked(exchange, 200, "application/x-ndjson"))
        json_array_foreach (json_object_get(body, "orders"), i, order) {
            char how = i < strlen(script) ? script[i] : 'a';

            peer->reserved++;
            if (how != '-')
                reply_line(exchange, peer, json_string_value(json_object_get(order, "order_id")),
                           how);
        }
    json_decref(body);
}

static void on_peer_cancel(struct http_exchange *exchange, void *data) {
    struct peer *peer = peer_called(exchange, data);

    peer->cancelled++;
    http_reply(exchange, peer->cancel_status, NULL, "", 0);
}

static void on_peer_get(struct http_exchange *exchange, void *data) {
    struct peer *peer = peer_called(exchange, data);

    http_reply(exchange, 200, "application/json", peer->body, strlen(peer->body));
}

void order_id_of(int number, char id[UUID_TEXT]) {
    (void)snprintf(id, UUID_TEXT, "00000000-0000-7000-8000-%012d", number);
}

json_t *reservation_json(int number) {
    char id[UUID_TEXT];

    order_id_of(number, id);
    return json_pack("{s:s, s:s, s:i, s:i, s:s, s:s}", "order_id", id, "product_id", id, "unit",
                     number, "remaining", 0, "price", "9.90", "instance", "inventory-9");
}

static json_t *page_after(int after, int last) {
    json_t *list = json_array();
    int failed = list == NULL;
    char id[UUID_TEXT], next[64];

    for (int number = after + 1; number <= last && !failed; number++) {
        order_id_of(number, id);
        failed = json_array_append_new(list, json_string(id));
    }
    if (failed) {
        json_decref(list);
        return NULL;
    }
    (void)snprintf(next, sizeof next, "%d.7.82391173-9dbc-49b6-821b-746a11dbbe5e", last);
    return json_pack("{s:o, s:s}", "order_ids", list, "next", next);
}

static void on_peer_list(struct http_exchange *exchange, void *data) {
    struct peer *peer = peer_called(exchange, data);
    const char *after = http_query_param(exchange, "after");
    int limit = atoi(http_query_param(exchange, "limit"));
    const char *overlap = http_query_param(exchange, "overlap_ms");
    int from = atoi(after), to = peer->reservations;

    peer->listed++;
    (void)snprintf(peer->after, sizeof peer->after, "%s", after);
    (void)snprintf(peer->since, sizeof peer->since, "%s", http_query_param(exchange, "since_ms"));
    (void)snprintf(peer->older, sizeof peer->older, "%s",
                   http_query_param(exchange, "older_than_ms"));
    if (strcmp(overlap, "0") != 0) {
        peer->overlaps++;
        (void)snprintf(peer->overlap, sizeof peer->overlap, "%s", overlap);
        from = peer->behind > 0 ? peer->behind - 1 : from;
    }
    if (peer->list != NULL)
        http_reply(exchange, 200, "application/json", peer->list, strlen(peer->list));
    else
        http_reply_json(exchange, 200, page_after(from, to - from > limit ? from + limit : to));
}

static void on_peer_confirm(struct http_exchange *exchange, void *data) {
    struct peer *peer = peer_called(exchange, data);
    json_t *body = http_body_json(exchange), *list = json_array(), *id;
    int failed = 0;
    size_t i;

    json_array_foreach (json_object_get(body, "order_ids"), i, id) {
        int number = atoi(strrchr(json_string_value(id), '-') + 1);

        peer->confirmed++;
        if (number != peer->gone)
            failed |= json_array_append_new(list, reservation_json(number));
    }
    if (peer->confirmation != NULL)
        http_reply(exchange, 200, "application/json", peer->confirmation,
                   strlen(peer->confirmation));
    else if (body != NULL && failed == 0)
        http_reply_json(exchange, 200, json_pack("{s:O}", "reservations", list));
    else if (body != NULL)
        http_reply_json(exchange, 200, NULL);
    json_decref(list);
    json_decref(body);
}

static const struct http_route peer_routes[] = {
    {"POST", "/products/{id}/reservations", on_peer_reserve},
    {"POST", "/reservations", on_peer_reserve_many},
    {"DELETE", "/reservations/{id}", on_peer_cancel},
    {"GET", "/reservations", on_peer_list},
    {"POST", "/reservations/confirmations", on_peer_confirm},
    {"GET", "/products/{id}", on_peer_get},
    {"GET", "/strategies", on_peer_get},
    {NULL, NULL, NULL},
};

void peer_open(struct peer *peer, int port) {
    struct http_server_options options = {.routes = peer_routes, .data = peer};

    *peer = (struct peer){.status = 201, .cancel_status = 204};
    assert_int_equal(http_server_open(&peer->server, &fixture.loop, &options), 0);
    assert_int_equal(http_server_listen(peer->server, "127.0.0.1", port), 0);
    peer->port = http_server_port(peer->server);
    fixture.open++;
}

void peer_let_go(struct peer *peer) {
    peer->is_holding = false;
    while (peer->holding > 0)
        fiber_event_set(peer->held[--peer->holding]);
}

void on_something_closed(void *data) {
    fixture.open--;
}

void peer_close(struct peer *peer) {
    unsigned open = fixture.open;

    if (peer->server == NULL)
        return;
    http_server_close(peer->server, on_something_closed, NULL);
    peer->server = NULL;
    peer_let_go(peer);
    WAIT_FOR(&fixture.loop, fixture.open < open);
}

int open_inventory_at(const char *urls, const char *secret) {
    int code = inventory_open(&fixture.inventory, &fixture.loop, urls, secret, &fixture.why);

    if (code == 0)
        fixture.open++;
    else
        fixture.inventory = NULL;
    return code;
}

void peer_urls(int first, int count, char urls[URLS_BYTES]) {
    urls[0] = '\0';
    for (int i = first; i < first + count; i++)
        (void)snprintf(urls + strlen(urls), URLS_BYTES - strlen(urls), "%shttp://127.0.0.1:%d",
                       i > first ? "," : "", fixture.peers[i].port);
}

void open_inventory(int count) {
    char urls[URLS_BYTES];

    peer_urls(0, count, urls);
    assert_int_equal(open_inventory_at(urls, "hush"), 0);
}

void close_inventory(void) {
    struct inventory *inventory = fixture.inventory;
    unsigned open = fixture.open;

    if (inventory == NULL)
        return;
    fixture.inventory = NULL;
    inventory_close(inventory, on_something_closed, NULL);
    assert_int_equal(fixture.open, open);
    WAIT_FOR(&fixture.loop, fixture.open < open);
}

void in_fiber(fiber_fn run, void *arg) {
    wait_for_fiber(&fixture.loop, run, arg);
}

static void *allocate(size_t size) {
    return malloc(size);
}

void fail_each_allocation(void (*run)(void *arg), void *arg) {
    json_set_alloc_funcs(allocate, free);
    fault_each_allocation(run, arg);
    json_set_alloc_funcs(malloc, free);
}

static void on_tick(uv_timer_t *timer) {
}

int set_up_peers(void **state) {
    static int ports[PEERS]; /* the same ones for all tests */

    memset(&fixture, 0, sizeof fixture);
    (void)alarm(PATIENCE_S);
    log_init("test", LOG_ERROR);
    assert_int_equal(uv_loop_init(&fixture.loop), 0);
    assert_int_equal(uv_timer_init(&fixture.loop, &fixture.tick), 0);
    assert_int_equal(uv_timer_start(&fixture.tick, on_tick, 2, 2), 0);
    for (int i = 0; i < PEERS; i++) {
        ports[i] = ports[i] != 0 ? ports[i] : own_port();
        peer_open(&fixture.peers[i], ports[i]);
    }
    return 0;
}

int tear_down_peers(void **state) {
    said_stop();
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

void catch_log(void) {
    said_start();
    log_init("test", LOG_INFO);
}
