/* The frame of a service, in a child process: health, readiness, metrics, signals, a taken port. */
#include "service.h"
#include "test.h"

#include "clock.h"
#include "fiber.h"
#include "http_peer.h"
#include "log.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define HOST        "Host: localhost\r\n"
#define PATIENCE_MS 20000

static struct fixture {
    uv_loop_t loop; /* nothing runs on it, but the peer needs one */
    struct http_peer peer;
    const char *listen;
    pid_t child;
    int child_log;  /* its stderr */
    int gate[2];    /* a byte in it lets /wait go on, or makes the service ready */
    char log[8192]; /* read from the log so far */
    size_t log_length;
    int drained;        /* in the child */
    uv_loop_t *serving; /* in the child */
} fixture;

static int is_ready(void *data, struct why *why) {
    char byte;

    if (data == &fixture && read(fixture.gate[0], &byte, 1) == 1)
        return 0;
    return why_set(why, "no \"database\"");
}

static void on_drained(void *data) {
    fixture.drained += data == &fixture;
}

static void wait_for_gate(struct http_exchange *exchange, void *data) {
    char byte;

    log_info("waiting", "x=1");
    while (data != &fixture || read(fixture.gate[0], &byte, 1) != 1)
        fiber_sleep(fixture.serving, 1);
    http_reply(exchange, 200, "text/plain", "waited", 6);
}

static const struct http_route routes[] = {{"GET", "/wait", wait_for_gate}, {NULL, NULL, NULL}};

/* The child's exit status: 0 when all went well. */
static int serve(int port) {
    const struct service service = {.name = "test-svc",
                                    .listen = fixture.listen,
                                    .port = port,
                                    .routes = routes,
                                    .data = &fixture,
                                    .drain_ms = PATIENCE_MS,
                                    .is_ready = is_ready,
                                    .close = on_drained};
    const struct rlimit low = {.rlim_cur = 100, .rlim_max = 4096};
    struct rlimit raised;
    uv_loop_t loop;
    int status;

    /* cppcheck-suppress autoVariables ; the loop lives as long as the child serves */
    fixture.serving = &loop;
    log_init(service.name, LOG_INFO);
    if (setrlimit(RLIMIT_NOFILE, &low) != 0 || uv_loop_init(&loop) != 0)
        return 10;
    status = service_run(&loop, &service);
    if (uv_loop_close(&loop) != 0)
        return 11;
    if (status == 0 && fixture.drained != 1)
        return 12;
    if (getrlimit(RLIMIT_NOFILE, &raised) != 0 || raised.rlim_cur != raised.rlim_max)
        return 13;
    return status;
}

static void start(int port) {
    int fds[2];

    assert_int_equal(pipe(fds), 0);
    fixture.child = fork();
    assert_true(fixture.child >= 0);
    if (fixture.child == 0) {
        (void)dup2(fds[1], STDERR_FILENO);
        _exit(serve(port));
    }
    (void)close(fds[1]);
    fixture.child_log = fds[0];
}

/* Read the child's log up to `word`. Returns the text after it. */
static const char *expect_log(const char *word) {
    int64_t deadline_ms = clock_now_ms() + PATIENCE_MS;
    struct pollfd readable = {.fd = fixture.child_log, .events = POLLIN};
    const char *found;
    ssize_t got;

    while ((found = strstr(fixture.log, word)) == NULL || strchr(found, '\n') == NULL) {
        (void)poll(&readable, 1, 100);
        got = readable.revents == 0 ? 0
                                    : read(fixture.child_log, fixture.log + fixture.log_length,
                                           sizeof fixture.log - 1 - fixture.log_length);
        fixture.log_length += got > 0 ? (size_t)got : 0;
        fixture.log[fixture.log_length] = '\0';
        if (clock_now_ms() > deadline_ms)
            fail_msg("no \"%s\" in the log: %s", word, fixture.log);
    }
    return found + strlen(word);
}

static int expect_exit(void) {
    int status;

    assert_int_equal(waitpid(fixture.child, &status, 0), fixture.child);
    fixture.child = 0;
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static int set_up(void **state) {
    fixture = (struct fixture){.peer = {.fd = -1}, .listen = "127.0.0.1"};
    assert_int_equal(uv_loop_init(&fixture.loop), 0);
    assert_int_equal(pipe2(fixture.gate, O_NONBLOCK), 0);
    return 0;
}

static int set_up_serving(void **state) {
    int port;

    (void)set_up(state);
    start(0);
    port = atoi(expect_log("msg=\"listening\" address=127.0.0.1 port="));
    http_peer_open(&fixture.peer, &fixture.loop, port);
    return 0;
}

static int tear_down(void **state) {
    if (fixture.child > 0)
        (void)kill(fixture.child, SIGKILL);
    if (fixture.child > 0)
        (void)waitpid(fixture.child, NULL, 0);
    http_peer_close(&fixture.peer);
    (void)close(fixture.child_log);
    (void)close(fixture.gate[0]);
    (void)close(fixture.gate[1]);
    assert_int_equal(uv_loop_close(&fixture.loop), 0);
    return 0;
}

static void say(const char *path) {
    char request[256];

    (void)snprintf(request, sizeof request, "GET %s HTTP/1.1\r\n" HOST "\r\n", path);
    http_peer_say(&fixture.peer, request);
}

static void ask(const char *path, int status, const char *part) {
    say(path);
    http_peer_expect_reply(&fixture.peer, status, part);
}

static void open_gate(void) {
    assert_int_equal(write(fixture.gate[1], "x", 1), 1);
}

static void test_health_and_readiness_are_told(void **state) {
    ask("/healthz", 200, "\r\n\r\n{\"status\":\"ok\"}");
    ask("/readyz", 503, "{\"error\":\"not_ready\",\"message\":\"no \\\"database\\\"\"}");
    open_gate();
    ask("/readyz", 200, "\r\n\r\n{\"status\":\"ready\"}");
}

static void test_metrics_are_printed(void **state) {
    ask("/metrics", 200, "Content-Type: text/plain; version=0.0.4\r\n");
    ask("/none", 404, "not_found");
    ask("/metrics", 200, "\nhttp_requests_total 3\n");
    ask("/metrics", 200, "\nhttp_in_flight 1\n");
    ask("/metrics", 200, "\nhttp_connections 1\n");
    ask("/metrics", 200, "\nhttp_refused_total 1\n");
    ask("/metrics", 200, "\nhttp_responses_total{class=\"4xx\"} 1\n");
    ask("/metrics", 200, "\nprocess_resident_memory_bytes ");
    ask("/metrics", 200, "\nprocess_open_fds ");
    ask("/metrics", 200, "\nprocess_cpu_seconds_total ");
}

static void test_signal_stops_an_idle_service(void **state) {
    ask("/healthz", 200, "ok");
    assert_int_equal(kill(fixture.child, SIGINT), 0);
    (void)expect_log("msg=\"draining\"");
    (void)expect_log("msg=\"stopped\"");
    assert_int_equal(expect_exit(), 0);
}

static void test_request_in_flight_is_answered_after_the_signal(void **state) {
    char reply[512];

    say("/wait");
    (void)expect_log("msg=\"waiting\"");
    assert_int_equal(kill(fixture.child, SIGTERM), 0);
    (void)expect_log("msg=\"draining\"");
    open_gate();
    assert_int_equal(http_peer_reply(&fixture.peer, reply, sizeof reply), 200);
    assert_non_null(strstr(reply, "Connection: close"));
    http_peer_close(&fixture.peer);
    assert_int_equal(expect_exit(), 0);
}

static void test_draining_service_is_not_ready(void **state) {
    char reply[512];

    /* Its first half comes right after an answered request, so it has begun. */
    http_peer_say(&fixture.peer, "GET /healthz HTTP/1.1\r\n" HOST "\r\n"
                                 "GET /readyz HTTP/1.1\r\n");
    assert_int_equal(http_peer_reply(&fixture.peer, NULL, 0), 200);
    assert_int_equal(kill(fixture.child, SIGTERM), 0);
    (void)expect_log("msg=\"draining\"");
    http_peer_say(&fixture.peer, HOST "\r\n");
    assert_int_equal(http_peer_reply(&fixture.peer, reply, sizeof reply), 503);
    assert_non_null(strstr(reply, "\"message\":\"draining\""));
}

static void test_second_signal_ends_the_drain_at_once(void **state) {
    say("/wait");
    (void)expect_log("msg=\"waiting\"");
    assert_int_equal(kill(fixture.child, SIGTERM), 0);
    (void)expect_log("msg=\"draining\"");
    assert_int_equal(kill(fixture.child, SIGTERM), 0);
    http_peer_expect_end(&fixture.peer);
    assert_int_equal(fixture.peer.length, 0);
    open_gate(); /* the handler still runs to its end */
    assert_int_equal(expect_exit(), 0);
}

static void test_taken_port_is_named(void **state) {
    struct sockaddr_in address;
    struct sockaddr_storage name;
    int size = sizeof name, port;
    uv_tcp_t taker;
    char expected[200];

    assert_int_equal(uv_tcp_init(&fixture.loop, &taker), 0);
    assert_int_equal(uv_ip4_addr("127.0.0.1", 0, &address), 0);
    assert_int_equal(uv_tcp_bind(&taker, (struct sockaddr *)&address, 0), 0);
    assert_int_equal(uv_listen((uv_stream_t *)&taker, 1, NULL), 0);
    assert_int_equal(uv_tcp_getsockname(&taker, (struct sockaddr *)&name, &size), 0);
    port = ntohs(((struct sockaddr_in *)&name)->sin_port);
    start(port);
    (void)snprintf(expected, sizeof expected,
                   "test-svc: port %d on 127.0.0.1 is taken by another program: stop it, or choose "
                   "another with --port\n",
                   port);
    (void)expect_log("another with --port");
    assert_string_equal(fixture.log, expected);
    assert_int_equal(expect_exit(), 1);
    uv_close((uv_handle_t *)&taker, NULL);
    (void)uv_run(&fixture.loop, UV_RUN_DEFAULT);
}

static void test_all_addresses_of_both_families_are_listened_on(void **state) {
    if (access("/proc/net/if_inet6", F_OK) != 0)
        skip(); /* this kernel has no IPv6 */
    fixture.listen = "::";
    start(0);
    http_peer_open(&fixture.peer, &fixture.loop,
                   atoi(expect_log("msg=\"listening\" address=:: port=")));
    ask("/healthz", 200, "ok");
    assert_int_equal(kill(fixture.child, SIGTERM), 0);
    assert_int_equal(expect_exit(), 0);
}

static void test_name_is_no_address_to_listen_on(void **state) {
    fixture.listen = "localhost";
    start(0);
    (void)expect_log("\"localhost\" is not an address to listen on: give one such as");
    assert_int_equal(expect_exit(), 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up_serving, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_health_and_readiness_are_told),
        TEST(test_metrics_are_printed),
        TEST(test_signal_stops_an_idle_service),
        TEST(test_request_in_flight_is_answered_after_the_signal),
        TEST(test_draining_service_is_not_ready),
        TEST(test_second_signal_ends_the_drain_at_once),
        cmocka_unit_test_setup_teardown(test_taken_port_is_named, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_all_addresses_of_both_families_are_listened_on, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_name_is_no_address_to_listen_on, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
