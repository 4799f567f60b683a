/* Thousands of lives of clients that send, stall, half-close, reset and pipeline at random, with a
 * fixed seed: the HTTP server must outlive them all and lose nothing. */
#include "http_fixture.h"

#include "fault.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define AT_ONCE    40
#define LIVES      2500
#define POST(more) "POST /echo HTTP/1.1\r\n" HOST more "\r\n"

static const char *const pieces[] = {
    GET_HELLO,
    GET_HELLO,
    "HEAD / HTTP/1.1\r\n" HOST "\r\n",
    "GET / HTTP/1.0\r\n\r\n",
    "GET / HTTP/1.1\r\n" HOST "Connection: close\r\n\r\n",
    "GET /wait HTTP/1.1\r\n" HOST "\r\n",
    "GET /wait HTTP/1.1\r\n" HOST "\r\n",
    "GET /large HTTP/1.1\r\n" HOST "\r\n",
    "GET /drop HTTP/1.1\r\n" HOST "\r\n",
    "GET /silent HTTP/1.1\r\n" HOST "\r\n",
    "GET /none HTTP/1.1\r\n" HOST "\r\n",
    POST("Content-Length: 5\r\n") "hello",
    POST("Content-Length: 5\r\nExpect: 100-continue\r\n") "hello",
    POST("Content-Length: 999999\r\nExpect: 100-continue\r\n"),
    POST("Transfer-Encoding: chunked\r\n") "5;a=b\r\nhello\r\n0\r\nA: b\r\n\r\n",
    POST("Transfer-Encoding: chunked\r\n") "fffff\r\nhello",
    "\r\n\r\n",
    "nonsense",
};

struct life {
    struct http_peer peer;
    char text[4096];
    size_t length, sent;
    bool is_shut;
};

static uint64_t seed;

static unsigned below(unsigned limit) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (unsigned)(seed >> 32) % limit;
}

static void be_born(struct life *life) {
    life->length = life->sent = 0;
    life->is_shut = false;
    for (unsigned left = below(8); left > 0; left--) {
        const char *piece = pieces[below(sizeof pieces / sizeof *pieces)];

        memcpy(life->text + life->length, piece, strlen(piece));
        life->length += strlen(piece);
    }
    http_peer_open(&life->peer, &http.loop, http.port);
}

static void send_some(struct life *life) {
    size_t left = life->length - life->sent;
    ssize_t sent;

    if (left == 0 || life->is_shut)
        return;
    sent = send(life->peer.fd, life->text + life->sent, below(3) ? left : below((unsigned)left + 1),
                MSG_DONTWAIT | MSG_NOSIGNAL);
    life->sent += sent > 0 ? (size_t)sent : 0;
}

static void read_some(const struct life *life) {
    static char bytes[256 * 1024];

    (void)recv(life->peer.fd, bytes, below(2) ? sizeof bytes : 100, MSG_DONTWAIT);
}

/* One act of a life. False: it was the last. */
static bool act(struct life *life) {
    switch (below(16)) {
    case 0:
        http_peer_close(&life->peer);
        return false;
    case 1:
        http_peer_reset(&life->peer);
        return false;
    case 2:
        (void)shutdown(life->peer.fd, SHUT_WR);
        life->is_shut = true;
        return true;
    case 3:
    case 4:
    case 5:
    case 6:
        read_some(life);
        return true;
    default:
        send_some(life);
        return true;
    }
}

static void live(struct life *lives, bool is_short_of_memory) {
    for (unsigned born = AT_ONCE; born < LIVES;) {
        struct life *life = &lives[below(AT_ONCE)];

        if (!act(life)) {
            be_born(life);
            born++;
        }
        if (is_short_of_memory)
            fault_memory((int)below(20), 1 + (int)below(4));
        if (below(2))
            (void)uv_run(&http.loop, UV_RUN_NOWAIT);
        if (below(20) == 0)
            http_fixture_let_go();
        (void)fault_memory_end();
    }
}

static bool is_at_rest(void) {
    struct http_server_stats stats;

    http_fixture_let_go();
    http_server_stats(http.server, &stats);
    return stats.connections == 1 && stats.in_flight == 0;
}

static void spend_lives(const struct http_server_options *limits, bool is_short_of_memory,
                        bool closes_in_the_middle) {
    struct life *lives = calloc(AT_ONCE, sizeof *lives);

    assert_non_null(lives);
    http_fixture_open(limits);
    for (int i = 0; i < AT_ONCE; i++)
        be_born(&lives[i]);
    live(lives, is_short_of_memory);
    if (closes_in_the_middle)
        http_fixture_close();
    for (int i = 0; i < AT_ONCE; i++)
        http_peer_close(&lives[i].peer);
    free(lives);
    if (closes_in_the_middle)
        return;
    WAIT_FOR(&http.loop, is_at_rest());
    http_ask(pieces[0], 200, "");
    http_fixture_close();
}

static void test_server_outlives_chaotic_clients(void **state) {
    const struct http_server_options limits = {.header_limit = 256};

    seed = 1;
    spend_lives(&limits, false, false);
}

static void test_server_outlives_them_with_tight_limits(void **state) {
    const struct http_server_options limits = {
        .header_timeout_ms = 40, .body_limit = 4, .connection_limit = 30};

    seed = 2;
    spend_lives(&limits, false, false);
}

static void test_server_may_close_amid_chaos(void **state) {
    const struct http_server_options limits = {0};

    seed = 3;
    spend_lives(&limits, false, true);
}

static void test_server_outlives_them_short_of_memory(void **state) {
    /* The sweep that accepts again runs as often as the shorter timeout demands. */
    const struct http_server_options limits = {.header_timeout_ms = 40};

    seed = 4;
    spend_lives(&limits, true, false);
}

static void need_descriptors(unsigned count) {
    struct rlimit limit;

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    if (limit.rlim_max < count)
        skip();
    if (limit.rlim_cur < count)
        limit.rlim_cur = count;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

/* Linux limits a backlog to this, even if listen() asks for more. */
static void need_backlog(unsigned count) {
    FILE *file = fopen("/proc/sys/net/core/somaxconn", "r");
    char text[32] = "";

    if (file == NULL || fgets(text, sizeof text, file) == NULL || strtoul(text, NULL, 10) < count)
        skip();
    (void)fclose(file);
}

static void test_connections_wait_for_a_process_that_stands_still(void **state) {
    enum { COUNT = 2000 };
    const struct http_server_options limits = {0};
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fds[COUNT];

    need_descriptors(2 * COUNT + 100);
    need_backlog(COUNT);
    http_fixture_open(&limits);
    address.sin_port = htons((uint16_t)http.port);
    for (int i = 0; i < COUNT; i++) { /* the loop does not run */
        struct pollfd connected = {.events = POLLOUT};

        connected.fd = fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        assert_true(fds[i] >= 0);
        (void)connect(fds[i], (const struct sockaddr *)&address, sizeof address);
        assert_int_equal(poll(&connected, 1, 20000), 1);
        assert_int_equal(connected.revents, POLLOUT);
    }
    for (int i = 0; i < COUNT; i++)
        (void)close(fds[i]);
    http_fixture_close();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_server_outlives_chaotic_clients),
        cmocka_unit_test(test_server_outlives_them_with_tight_limits),
        cmocka_unit_test(test_server_may_close_amid_chaos),
        cmocka_unit_test(test_server_outlives_them_short_of_memory),
        cmocka_unit_test(test_connections_wait_for_a_process_that_stands_still),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
