/* Thousands of calls to a server that answers, splits, truncates, lies, resets and falls silent at
 * random, with a fixed seed. Each call ends once, with its own answer, and NOT_SENT is always true.
 */
#include "http_client_fixture.h"

#include "fault.h"

#define CALLS       3000
#define AT_ONCE     60
#define CONNECTIONS 8

/* The server's end of one connection. */
struct end {
    int fd; /* -1: none */
    char text[8192];
    size_t length;
};

struct chaos {
    struct record *records; /* CALLS of them */
    char (*targets)[16];    /* "/<number>" */
    bool *has_arrived;      /* at the server, by number */
    struct end ends[4 * CONNECTIONS];
    bool is_short_of_memory;
    unsigned started, outcomes[3];
};

static uint64_t seed;
static unsigned close_after; /* a callback closes the client after so many calls; 0: none does */

static unsigned below(unsigned limit) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (unsigned)(seed >> 32) % limit;
}

static void close_end(struct end *end, bool is_reset) {
    struct linger reset = {.l_onoff = 1};

    if (is_reset)
        (void)setsockopt(end->fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    (void)close(end->fd);
    end->fd = -1;
}

static void tell(struct end *end, const char *text, size_t length) {
    (void)send(end->fd, text, length, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void reply_somehow(struct end *end, const char *number) {
    char reply[512];
    int length = snprintf(reply, sizeof reply,
                          below(2) ? "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n%s"
                                   : "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                                     "%zx\r\n%s\r\n0\r\n\r\n",
                          strlen(number), number);
    unsigned way = below(12);

    if (way == 4) { /* at once: a second reply that comes later would look like the next one */
        memcpy(reply + length, reply, (size_t)length);
        length *= 2;
    }
    if (way == 0)
        tell(end, "HTTP/1.1 100 Continue\r\n\r\n", 25);
    if (way == 1)
        tell(end, "garbage\r\n\r\n", 11);
    else if (way == 2)
        tell(end, reply, below((unsigned)length));
    else if (way != 3)
        tell(end, reply, (size_t)length);
    if (way == 1 || way == 2 || way == 5 || way == 6)
        close_end(end, way == 6 || below(2) == 0);
}

static void receive(struct chaos *chaos, struct end *end) {
    ssize_t got =
        recv(end->fd, end->text + end->length, sizeof end->text - 1 - end->length, MSG_DONTWAIT);
    char *request;
    unsigned number;

    if (got == 0 || (got < 0 && errno != EAGAIN)) {
        close_end(end, false);
        return;
    }
    end->length += got > 0 ? (size_t)got : 0;
    end->text[end->length] = '\0';
    request = strstr(end->text, "GET /");
    if (request == NULL || strstr(request, "\r\n\r\n") == NULL)
        return;
    number = (unsigned)strtoul(request + 5, NULL, 10);
    assert_true(number < CALLS);
    assert_false(chaos->has_arrived[number]); /* never sent twice */
    chaos->has_arrived[number] = true;
    end->length = 0;
    end->text[0] = '\0';
    reply_somehow(end, chaos->targets[number] + 1);
}

static void accept_into(struct chaos *chaos, struct end *end) {
    end->length = 0;
    end->text[0] = '\0';
    end->fd = accept4(caller.listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

static void serve(struct chaos *chaos) {
    struct end *end = &chaos->ends[below(sizeof chaos->ends / sizeof *chaos->ends)];

    if (end->fd < 0)
        accept_into(chaos, end);
    else if (below(40) == 0)
        close_end(end, below(2) == 0);
    else
        receive(chaos, end);
}

static void on_ended_maybe_close(struct http_call *call) {
    on_ended(call);
    if (caller.ended == close_after)
        http_client_close(caller.client, on_client_closed, NULL);
}

static void start_call(struct chaos *chaos) {
    unsigned number = chaos->started++;
    struct record *record = &chaos->records[number];

    (void)snprintf(chaos->targets[number], sizeof *chaos->targets, "/%u", number);
    *record = (struct record){
        .call = {.method = "GET",
                 .target = chaos->targets[number],
                 .deadline_ms = clock_now_ms() + (below(4) == 0 ? (int)below(10) : 100),
                 .data = record}};
    http_call_start(caller.client, &record->call, on_ended_maybe_close);
}

static void judge(struct chaos *chaos) {
    for (unsigned i = 0; i < CALLS; i++) {
        struct record *record = &chaos->records[i];

        assert_int_equal(record->callbacks, 1);
        chaos->outcomes[record->call.outcome]++;
        if (record->call.outcome == HTTP_CALL_ANSWERED)
            assert_string_equal(record->reply, chaos->targets[i] + 1);
        if (record->call.outcome == HTTP_CALL_NOT_SENT)
            assert_false(chaos->has_arrived[i]);
    }
    for (int outcome = 0; outcome < 3; outcome++)
        assert_true(chaos->outcomes[outcome] > 0);
}

static void expect_client_unharmed(struct chaos *chaos) {
    struct http_client_stats stats = stats_of();

    assert_int_equal(stats.queued, 0);
    assert_int_equal(stats.in_flight, 0);
    assert_true(stats.connections <= CONNECTIONS);
}

static struct chaos *open_chaos(void) {
    struct chaos *chaos = calloc(1, sizeof *chaos);

    assert_non_null(chaos);
    chaos->records = calloc(CALLS, sizeof *chaos->records);
    chaos->targets = calloc(CALLS, sizeof *chaos->targets);
    chaos->has_arrived = calloc(CALLS, sizeof *chaos->has_arrived);
    assert_true(chaos->records && chaos->targets && chaos->has_arrived);
    for (size_t i = 0; i < sizeof chaos->ends / sizeof *chaos->ends; i++)
        chaos->ends[i].fd = -1;
    open_client((struct http_client_options){
        .connections = CONNECTIONS, .queue = AT_ONCE / 2, .idle_ms = 20});
    return chaos;
}

static void close_chaos(struct chaos *chaos) {
    for (size_t i = 0; i < sizeof chaos->ends / sizeof *chaos->ends; i++)
        if (chaos->ends[i].fd >= 0)
            (void)close(chaos->ends[i].fd);
    free(chaos->records);
    free(chaos->targets);
    free(chaos->has_arrived);
    free(chaos);
}

static void live(struct chaos *chaos) {
    wait_until(caller.ended == CALLS) {
        for (int i = 0; i < 30; i++) {
            serve(chaos);
            if (chaos->is_short_of_memory)
                fault_memory((int)below(8), 1 + (int)below(3));
            if (chaos->started < CALLS && chaos->started - caller.ended < AT_ONCE)
                start_call(chaos);
            (void)uv_run(&caller.loop, UV_RUN_NOWAIT);
            (void)fault_memory_end();
        }
    }
}

static void call_amid_chaos(struct chaos *chaos) {
    live(chaos);
    expect_client_unharmed(chaos);
    judge(chaos);
    close_chaos(chaos);
}

static void test_every_call_ends_once_with_its_own_answer(void **state) {
    seed = 1;
    call_amid_chaos(open_chaos());
}

static void test_every_call_ends_once_when_short_of_memory(void **state) {
    struct chaos *chaos = open_chaos();

    seed = 3;
    chaos->is_short_of_memory = true;
    call_amid_chaos(chaos);
}

static void test_client_may_close_amid_chaos(void **state) {
    struct chaos *chaos = open_chaos();

    seed = 2;
    wait_until(chaos->started == CALLS) {
        for (int i = 0; i < 10; i++) {
            serve(chaos);
            if (chaos->started < CALLS && chaos->started - caller.ended < AT_ONCE)
                start_call(chaos);
        }
    }
    close_client();
    assert_int_equal(caller.ended, CALLS);
    judge(chaos);
    close_chaos(chaos);
}

/* Connections that the client made and closed again, with requests that the next one repeats. */
static void turn_away(void) {
    int fd;

    while ((fd = accept4(caller.listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0)
        (void)close(fd);
}

static void close_in_callback(void) {
    struct chaos *chaos = open_chaos();

    caller.ended = 0;
    caller.is_closed = false;
    wait_until(caller.is_closed) {
        for (int i = 0; i < 10 && caller.client != NULL; i++) {
            serve(chaos);
            if (chaos->started - caller.ended < AT_ONCE)
                start_call(chaos);
            (void)uv_run(&caller.loop, UV_RUN_NOWAIT);
        }
    }
    assert_int_equal(caller.ended, chaos->started);
    for (unsigned i = 0; i < chaos->started; i++)
        assert_int_equal(chaos->records[i].callbacks, 1);
    close_chaos(chaos);
    turn_away();
}

static void test_callback_may_close_the_client_amid_chaos(void **state) {
    seed = 4;
    for (close_after = 1; close_after < 200; close_after += 3)
        close_in_callback();
    close_after = 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_every_call_ends_once_with_its_own_answer),
        TEST(test_every_call_ends_once_when_short_of_memory),
        TEST(test_client_may_close_amid_chaos),
        TEST(test_callback_may_close_the_client_amid_chaos),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
