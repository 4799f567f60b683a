/* The proxy between two real sockets: the worker's, and the server's. */
#include "proxy.h"
#include "test.h"
#include "wait.h"

#include <arpa/inet.h>
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

struct state {
    uv_loop_t loop;
    struct proxy proxy;
    int listener, worker, server; /* sockets */
    unsigned faults;              /* calls of on_fault */
    bool is_closed;
};

static int make_listener(int *port) {
    struct sockaddr_in own = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof own;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&own, size), 0);
    assert_int_equal(listen(fd, 8), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&own, &size), 0);
    *port = ntohs(own.sin_port);
    return fd;
}

static int call(int port) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    to.sin_port = htons((uint16_t)port);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    return fd;
}

static bool has_accepted(struct state *state) {
    state->server = accept(state->listener, NULL, NULL);
    return state->server >= 0;
}

static void on_fault(struct proxy *proxy) {
    ((struct state *)proxy->data)->faults++;
}

static int set_up(void **pointer) {
    struct state *state = calloc(1, sizeof *state);
    struct why why;
    char url[64];
    int port;

    *pointer = state;
    assert_non_null(state);
    assert_int_equal(uv_loop_init(&state->loop), 0);
    state->listener = make_listener(&port);
    (void)snprintf(url, sizeof url, "redis://:p@ss@127.0.0.1:%d/3", port);
    assert_int_equal(proxy_open(&state->proxy, &state->loop, url, &why), 0);
    state->proxy.data = state;
    state->proxy.on_fault = on_fault;
    state->worker = call(state->proxy.gates[0].port);
    WAIT_FOR(&state->loop, has_accepted(state));
    return 0;
}

static void on_closed(struct proxy *proxy) {
    ((struct state *)proxy->data)->is_closed = true;
}

static int tear_down(void **pointer) {
    struct state *state = *pointer;

    proxy_close(&state->proxy, on_closed);
    assert_int_equal(uv_run(&state->loop, UV_RUN_DEFAULT), 0);
    assert_true(state->is_closed);
    assert_int_equal(uv_loop_close(&state->loop), 0);
    (void)close(state->listener);
    (void)close(state->worker);
    if (state->server >= 0)
        (void)close(state->server);
    free(state);
    return 0;
}

/* ---- what the sockets see */

static void say(int fd, const char *text) {
    assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

/* Have exactly these bytes come? */
static bool hears(int fd, const char *text) {
    char bytes[64];
    ssize_t size = recv(fd, bytes, sizeof bytes, MSG_DONTWAIT | MSG_PEEK);

    if (size < (ssize_t)strlen(text))
        return false;
    assert_int_equal(size, strlen(text));
    assert_memory_equal(bytes, text, (size_t)size);
    assert_int_equal(recv(fd, bytes, sizeof bytes, MSG_DONTWAIT), size);
    return true;
}

static bool is_silent(int fd) {
    char byte;

    return recv(fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK) < 0 && errno == EAGAIN;
}

static bool is_reset(int fd) {
    char byte;

    return recv(fd, &byte, 1, MSG_DONTWAIT) < 0 && errno == ECONNRESET;
}

static bool has_ended(int fd) {
    char byte;

    return recv(fd, &byte, 1, MSG_DONTWAIT) == 0;
}

static void set(struct state *state, enum proxy_kind kind, unsigned ways) {
    proxy_set(&state->proxy, &(struct proxy_fault){.kind = kind, .ways = ways});
}

/* Is there a fault, or does one wait for its moment? A cut is over at once. */
static bool is_faulty(const struct proxy *proxy) {
    return proxy->has_fault || proxy->has_next;
}

/* ---- tests */

static void test_url_keeps_all_but_the_address(void **pointer) {
    struct state *state = *pointer;
    char url[64];

    (void)snprintf(url, sizeof url, "redis://:p@ss@127.0.0.1:%d/3", state->proxy.gates[0].port);
    assert_string_equal(state->proxy.url, url);
}

static void test_bytes_pass_both_ways(void **pointer) {
    struct state *state = *pointer;

    say(state->worker, "ask");
    WAIT_FOR(&state->loop, hears(state->server, "ask"));
    say(state->server, "answer");
    WAIT_FOR(&state->loop, hears(state->worker, "answer"));
    assert_int_equal(state->proxy.connections, 1);
    assert_false(is_faulty(&state->proxy));
}

static void test_end_comes_behind_the_bytes(void **pointer) {
    struct state *state = *pointer;

    say(state->worker, "ask");
    assert_int_equal(shutdown(state->worker, SHUT_WR), 0);
    WAIT_FOR(&state->loop, hears(state->server, "ask"));
    WAIT_FOR(&state->loop, has_ended(state->server));
    say(state->server, "answer");
    WAIT_FOR(&state->loop, hears(state->worker, "answer"));
    assert_int_equal(shutdown(state->server, SHUT_WR), 0);
    WAIT_FOR(&state->loop, has_ended(state->worker));
    assert_int_equal(state->proxy.cuts, 0);
}

static void test_freeze_holds_bytes_and_heal_lets_them_go(void **pointer) {
    struct state *state = *pointer;

    set(state, PROXY_FREEZE, 0);
    say(state->worker, "ask");
    say(state->server, "news");
    WAIT_FOR(&state->loop, state->proxy.bytes[0] == 3 && state->proxy.bytes[1] == 4);
    assert_true(is_silent(state->server));
    assert_true(is_silent(state->worker));
    proxy_heal(&state->proxy);
    WAIT_FOR(&state->loop, hears(state->server, "ask"));
    WAIT_FOR(&state->loop, hears(state->worker, "news"));
}

static void test_freeze_of_one_way_leaves_the_other(void **pointer) {
    struct state *state = *pointer;

    set(state, PROXY_FREEZE, PROXY_REPLIES);
    say(state->worker, "ask");
    WAIT_FOR(&state->loop, hears(state->server, "ask"));
    say(state->server, "answer");
    WAIT_FOR(&state->loop, state->proxy.bytes[1] == 6);
    assert_true(is_silent(state->worker));
}

static void test_freeze_holds_the_end_of_a_connection(void **pointer) {
    struct state *state = *pointer;

    set(state, PROXY_FREEZE, 0);
    say(state->worker, "ask");
    assert_int_equal(shutdown(state->worker, SHUT_WR), 0);
    WAIT_FOR(&state->loop, state->proxy.bytes[0] == 3);
    (void)uv_run(&state->loop, UV_RUN_NOWAIT);
    assert_true(is_silent(state->server));
    proxy_heal(&state->proxy);
    WAIT_FOR(&state->loop, hears(state->server, "ask"));
    WAIT_FOR(&state->loop, has_ended(state->server));
}

static void test_freeze_holds_new_connections(void **pointer) {
    struct state *state = *pointer;

    set(state, PROXY_FREEZE, 0);
    (void)close(state->worker);
    (void)close(state->server);
    state->worker = call(state->proxy.gates[0].port);
    WAIT_FOR(&state->loop, has_accepted(state));
    say(state->worker, "ask");
    WAIT_FOR(&state->loop, state->proxy.bytes[0] == 3);
    assert_true(is_silent(state->server));
}

static void test_delayed_bytes_come_later_and_in_order(void **pointer) {
    struct state *state = *pointer;
    uint64_t sent_ns = uv_hrtime();

    proxy_set(&state->proxy, &(struct proxy_fault){.kind = PROXY_DELAY, .delay_ms = 50});
    say(state->worker, "one ");
    WAIT_FOR(&state->loop, state->proxy.bytes[0] == 4);
    say(state->worker, "two");
    WAIT_FOR(&state->loop, state->proxy.bytes[0] == 7);
    WAIT_FOR(&state->loop, hears(state->server, "one two") || hears(state->server, "one "));
    assert_true(uv_hrtime() - sent_ns >= 49000000); /* uv_now() cuts parts of a millisecond */
}

static void test_delay_that_ends_lets_its_bytes_go(void **pointer) {
    struct state *state = *pointer;

    proxy_set(&state->proxy, &(struct proxy_fault){.kind = PROXY_DELAY, .delay_ms = 3600000});
    say(state->worker, "ask");
    WAIT_FOR(&state->loop, state->proxy.bytes[0] == 3);
    assert_true(is_silent(state->server));
    proxy_heal(&state->proxy);
    WAIT_FOR(&state->loop, hears(state->server, "ask"));
}

static void test_dropped_bytes_are_lost_and_heal_cuts(void **pointer) {
    struct state *state = *pointer;

    set(state, PROXY_DROP, PROXY_REQUESTS);
    say(state->worker, "ask");
    say(state->server, "news");
    WAIT_FOR(&state->loop, hears(state->worker, "news"));
    WAIT_FOR(&state->loop, state->proxy.bytes[0] == 3);
    assert_true(is_silent(state->server));
    proxy_heal(&state->proxy);
    WAIT_FOR(&state->loop, is_reset(state->worker));
    WAIT_FOR(&state->loop, is_reset(state->server));
}

static void test_heal_keeps_a_connection_that_lost_nothing(void **pointer) {
    struct state *state = *pointer;

    set(state, PROXY_DROP, PROXY_REQUESTS);
    proxy_heal(&state->proxy);
    say(state->worker, "ask");
    WAIT_FOR(&state->loop, hears(state->server, "ask"));
}

static void test_cut_resets_and_new_connections_pass(void **pointer) {
    struct state *state = *pointer;

    set(state, PROXY_CUT, 0);
    WAIT_FOR(&state->loop, is_reset(state->worker));
    WAIT_FOR(&state->loop, is_reset(state->server));
    assert_int_equal(state->proxy.cuts, 1);
    assert_false(is_faulty(&state->proxy));
    (void)close(state->worker);
    (void)close(state->server);
    state->worker = call(state->proxy.gates[0].port);
    WAIT_FOR(&state->loop, has_accepted(state));
}

static void test_cut_loses_held_bytes(void **pointer) {
    struct state *state = *pointer;

    set(state, PROXY_FREEZE, 0);
    say(state->worker, "ask");
    WAIT_FOR(&state->loop, state->proxy.bytes[0] == 3);
    set(state, PROXY_CUT, 0);
    WAIT_FOR(&state->loop, is_reset(state->server));
}

static void test_refusal_cuts_each_new_connection(void **pointer) {
    struct state *state = *pointer;

    set(state, PROXY_REFUSE, 0);
    WAIT_FOR(&state->loop, is_reset(state->worker));
    (void)close(state->worker);
    state->worker = call(state->proxy.gates[0].port);
    WAIT_FOR(&state->loop, is_reset(state->worker));
    assert_int_equal(state->proxy.cuts, 2);
    assert_true(is_faulty(&state->proxy));
}

static void test_fault_before_a_reply_waits_for_it(void **pointer) {
    struct state *state = *pointer;

    proxy_set(&state->proxy, &(struct proxy_fault){PROXY_CUT, .moment = PROXY_BEFORE_REPLY});
    assert_true(is_faulty(&state->proxy));
    say(state->worker, "ask");
    WAIT_FOR(&state->loop, hears(state->server, "ask"));
    assert_int_equal(state->faults, 0);
    say(state->server, "answer");
    WAIT_FOR(&state->loop, is_reset(state->worker));
    assert_int_equal(state->faults, 1);
}

static void test_fault_before_a_request_keeps_it_from_the_server(void **pointer) {
    struct state *state = *pointer;

    proxy_set(&state->proxy, &(struct proxy_fault){PROXY_FREEZE, .moment = PROXY_BEFORE_REQUEST});
    say(state->server, "news");
    WAIT_FOR(&state->loop, hears(state->worker, "news"));
    say(state->worker, "ask");
    WAIT_FOR(&state->loop, state->faults == 1);
    assert_true(is_silent(state->server));
}

static void test_cut_in_a_reply_passes_its_first_bytes(void **pointer) {
    struct state *state = *pointer;

    proxy_set(&state->proxy,
              &(struct proxy_fault){PROXY_CUT, .moment = PROXY_IN_REPLY, .bytes = 3});
    say(state->server, "answer");
    WAIT_FOR(&state->loop, hears(state->worker, "ans"));
    WAIT_FOR(&state->loop, is_reset(state->worker));
}

static void test_freeze_in_a_reply_holds_the_rest(void **pointer) {
    struct state *state = *pointer;

    proxy_set(&state->proxy,
              &(struct proxy_fault){PROXY_FREEZE, .moment = PROXY_IN_REPLY, .bytes = 3});
    say(state->server, "answer");
    WAIT_FOR(&state->loop, hears(state->worker, "ans"));
    assert_true(is_silent(state->worker));
    proxy_heal(&state->proxy);
    WAIT_FOR(&state->loop, hears(state->worker, "wer"));
}

static void test_heal_forgets_a_waiting_fault(void **pointer) {
    struct state *state = *pointer;

    proxy_set(&state->proxy, &(struct proxy_fault){PROXY_CUT, .moment = PROXY_BEFORE_REPLY});
    proxy_heal(&state->proxy);
    say(state->server, "answer");
    WAIT_FOR(&state->loop, hears(state->worker, "answer"));
    assert_int_equal(state->faults, 0);
}

static void test_server_that_is_down_resets_the_worker(void **pointer) {
    struct state *state = *pointer;
    int second;

    (void)close(state->listener);
    second = call(state->proxy.gates[0].port);
    WAIT_FOR(&state->loop, is_reset(second));
    (void)close(second);
    state->listener = -1;
}

static void test_flood_is_not_read_without_end(void **pointer) {
    struct state *state = *pointer;
    static char bytes[65536];
    size_t sent = 0, got = 0;
    ssize_t size;

    while ((size = send(state->worker, bytes, sizeof bytes, MSG_DONTWAIT)) > 0 || sent < 4000000) {
        sent += size > 0 ? (size_t)size : 0;
        (void)uv_run(&state->loop, UV_RUN_NOWAIT);
        if (size < 0 && state->proxy.bytes[0] >= (1u << 20))
            break; /* the proxy reads no more, and the kernel's buffers are full */
    }
    while (got < sent) { /* what the server reads makes room */
        (void)uv_run(&state->loop, UV_RUN_NOWAIT);
        size = recv(state->server, bytes, sizeof bytes, MSG_DONTWAIT);
        got += size > 0 ? (size_t)size : 0;
    }
    assert_int_equal(got, state->proxy.bytes[0]);
}

static void test_address_must_have_a_host_and_a_port_for_each_server(void **pointer) {
    static const char *const wrong[] = {
        "",
        "redis://127.0.0.1",
        "redis://127.0.0.1:/0",
        "redis://:1",
        "[::1]",
        "http://127.0.0.1:1,http://b",
        "127.0.0.1:1,b",
        "127.0.0.1:1,",
        "h:1,h:1,h:1,h:1,h:1,h:1,h:1,h:1,h:1,h:1,h:1,h:1,h:1,h:1,h:1,h:1,h:1"};
    struct state *state = *pointer;
    struct proxy proxy;
    struct why why;

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(proxy_open(&proxy, &state->loop, wrong[i], &why), -1);
        assert_non_null(strstr(why.text, "no host:port of each server"));
    }
    assert_int_equal(proxy_open(&proxy, &state->loop, "redis://no.such.host.invalid:1", &why), -1);
    assert_non_null(strstr(why.text, "no.such.host.invalid:1: "));
}

static void test_addresses_need_no_scheme(void **pointer) {
    static const char *const urls[] = {"localhost:2181", "[::1]:2181/a?b@c"};
    struct state *state = *pointer;
    struct proxy proxies[2];
    struct why why;
    char url[64];

    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(proxy_open(&proxies[i], &state->loop, urls[i], &why), 0);
        (void)snprintf(url, sizeof url, "127.0.0.1:%d%s", proxies[i].gates[0].port,
                       i == 0 ? "" : "/a?b@c");
        assert_string_equal(proxies[i].url, url);
        proxy_close(&proxies[i], NULL);
    }
    (void)uv_run(&state->loop, UV_RUN_NOWAIT);
    (void)uv_run(&state->loop, UV_RUN_NOWAIT);
}

static void test_each_server_of_a_list_has_a_port_of_its_own(void **pointer) {
    static const struct {
        const char *before, *between, *after; /* two host:port */
    } urls[] = {{"redlock:redis://:a,b@", ",redis://:p@ss@", "/3?wait=2,3"},
                {"redis://:p@", "/0,redis://", "/0"},
                {"", ",", "/path"}};
    struct state *state = *pointer;
    struct proxy proxies[3] = {{.gate_count = 0}};
    struct why why;
    char url[128];

    for (size_t i = 0; i < 3; i++) {
        const struct proxy_gate *gates = proxies[i].gates;

        (void)snprintf(url, sizeof url, "%s127.0.0.1:1%s127.0.0.1:2%s", urls[i].before,
                       urls[i].between, urls[i].after);
        assert_int_equal(proxy_open(&proxies[i], &state->loop, url, &why), 0);
        assert_int_equal(proxies[i].gate_count, 2);
        (void)snprintf(url, sizeof url, "%s127.0.0.1:%d%s127.0.0.1:%d%s", urls[i].before,
                       gates[0].port, urls[i].between, gates[1].port, urls[i].after);
        assert_string_equal(proxies[i].url, url);
        proxy_close(&proxies[i], NULL);
    }
    (void)uv_run(&state->loop, UV_RUN_NOWAIT);
    (void)uv_run(&state->loop, UV_RUN_NOWAIT);
}

static bool has_closed(int fd) {
    char byte;

    return recv(fd, &byte, 1, MSG_DONTWAIT) == 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
}

static void test_a_fault_hits_the_connections_to_each_server(void **pointer) {
    struct state *state = *pointer;
    int ports[2], listeners[2], workers[2], servers[2] = {-1, -1};
    struct proxy proxy = {.on_fault = NULL};
    struct why why;
    char url[64];

    for (int i = 0; i < 2; i++)
        listeners[i] = make_listener(&ports[i]);
    (void)snprintf(url, sizeof url, "127.0.0.1:%d,127.0.0.1:%d", ports[0], ports[1]);
    assert_int_equal(proxy_open(&proxy, &state->loop, url, &why), 0);
    for (int i = 0; i < 2; i++) {
        workers[i] = call(proxy.gates[i].port);
        WAIT_FOR(&state->loop, (servers[i] = accept(listeners[i], NULL, NULL)) >= 0);
    }
    proxy_set(&proxy, &(struct proxy_fault){.kind = PROXY_CUT});
    for (int i = 0; i < 2; i++) {
        WAIT_FOR(&state->loop, has_closed(workers[i]) && has_closed(servers[i]));
        (void)close(workers[i]);
        (void)close(servers[i]);
        (void)close(listeners[i]);
    }
    assert_int_equal(proxy.cuts, 2);
    proxy_close(&proxy, NULL);
    (void)uv_run(&state->loop, UV_RUN_NOWAIT);
    (void)uv_run(&state->loop, UV_RUN_NOWAIT);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    static const struct CMUnitTest tests[] = {
        TEST(test_url_keeps_all_but_the_address),
        TEST(test_bytes_pass_both_ways),
        TEST(test_end_comes_behind_the_bytes),
        TEST(test_freeze_holds_bytes_and_heal_lets_them_go),
        TEST(test_freeze_of_one_way_leaves_the_other),
        TEST(test_freeze_holds_the_end_of_a_connection),
        TEST(test_freeze_holds_new_connections),
        TEST(test_delayed_bytes_come_later_and_in_order),
        TEST(test_delay_that_ends_lets_its_bytes_go),
        TEST(test_dropped_bytes_are_lost_and_heal_cuts),
        TEST(test_heal_keeps_a_connection_that_lost_nothing),
        TEST(test_cut_resets_and_new_connections_pass),
        TEST(test_cut_loses_held_bytes),
        TEST(test_refusal_cuts_each_new_connection),
        TEST(test_fault_before_a_reply_waits_for_it),
        TEST(test_fault_before_a_request_keeps_it_from_the_server),
        TEST(test_cut_in_a_reply_passes_its_first_bytes),
        TEST(test_freeze_in_a_reply_holds_the_rest),
        TEST(test_heal_forgets_a_waiting_fault),
        TEST(test_server_that_is_down_resets_the_worker),
        TEST(test_flood_is_not_read_without_end),
        TEST(test_address_must_have_a_host_and_a_port_for_each_server),
        TEST(test_addresses_need_no_scheme),
        TEST(test_each_server_of_a_list_has_a_port_of_its_own),
        TEST(test_a_fault_hits_the_connections_to_each_server),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
