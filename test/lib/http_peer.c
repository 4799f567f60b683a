/* A raw TCP client that runs the server's loop while it waits. */
#include "http_peer.h"

#include "clock.h"
#include "test.h"
#include "wait.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

static void check(int64_t deadline_ms, const char *what) {
    if (clock_now_ms() > deadline_ms)
        fail_msg("waited too long for %s", what);
}

/* Run the loop while it connects: if the backlog is full, the server must accept first. */
static void wait_until_connected(const struct http_peer *peer) {
    struct pollfd writable = {.fd = peer->fd, .events = POLLOUT};
    int error = 0;
    socklen_t length = sizeof error;

    while (poll(&writable, 1, 0) == 0) {
        (void)uv_run(peer->loop, UV_RUN_NOWAIT);
        (void)poll(&writable, 1, 1);
    }
    assert_int_equal(getsockopt(peer->fd, SOL_SOCKET, SO_ERROR, &error, &length), 0);
    assert_int_equal(error, 0);
}

void http_peer_open(struct http_peer *peer, uv_loop_t *loop, int port) {
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

    peer->loop = loop;
    peer->is_ended = false;
    peer->length = 0;
    peer->text[0] = '\0';
    peer->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(peer->fd >= 0);
    assert_int_equal(fcntl(peer->fd, F_SETFL, O_NONBLOCK), 0);
    if (connect(peer->fd, (struct sockaddr *)&address, sizeof address) != 0) {
        assert_int_equal(errno, EINPROGRESS);
        wait_until_connected(peer);
    }
    assert_int_equal(fcntl(peer->fd, F_SETFL, 0), 0);
}

static void receive(struct http_peer *peer) {
    size_t room = sizeof peer->text - 1 - peer->length;
    ssize_t got;

    assert_true(room > 0);
    got = recv(peer->fd, peer->text + peer->length, room, MSG_DONTWAIT);
    if (got > 0)
        peer->length += (size_t)got;
    else if (got == 0 || errno != EAGAIN)
        peer->is_ended = true;
    peer->text[peer->length] = '\0';
}

void http_peer_turn(struct http_peer *peer) {
    struct pollfd readable = {.fd = peer->fd, .events = POLLIN};

    (void)uv_run(peer->loop, UV_RUN_NOWAIT);
    if (peer->is_ended || poll(&readable, 1, 1) == 0)
        return;
    receive(peer);
}

void http_peer_send(struct http_peer *peer, const char *bytes, size_t length) {
    int64_t deadline_ms = wait_deadline_ms();

    while (length > 0) {
        ssize_t sent = send(peer->fd, bytes, length, MSG_DONTWAIT | MSG_NOSIGNAL);

        if (sent < 0 && errno != EAGAIN)
            return;
        if (sent < 0)
            http_peer_turn(peer);
        bytes += sent < 0 ? 0 : sent;
        length -= sent < 0 ? 0 : (size_t)sent;
        check(deadline_ms, "the server to read");
    }
}

void http_peer_say(struct http_peer *peer, const char *text) {
    http_peer_send(peer, text, strlen(text));
}

/* The length of the first whole reply in `text`, or 0. */
static size_t whole_reply(const struct http_peer *peer) {
    const char *body = strstr(peer->text, "\r\n\r\n");
    const char *field = strstr(peer->text, "Content-Length: ");
    size_t length = 0, head;

    if (body == NULL)
        return 0;
    head = (size_t)(body - peer->text) + 4;
    if (field != NULL && field < body)
        length = strtoul(field + strlen("Content-Length: "), NULL, 10);
    return peer->length < head + length ? 0 : head + length;
}

int http_peer_reply(struct http_peer *peer, char *reply, size_t size) {
    int64_t deadline_ms = wait_deadline_ms();
    size_t whole;
    int status;

    while ((whole = whole_reply(peer)) == 0) {
        if (peer->is_ended)
            return 0;
        http_peer_turn(peer);
        check(deadline_ms, "a reply");
    }
    status = atoi(peer->text + strlen("HTTP/1.1 "));
    if (reply != NULL)
        (void)snprintf(reply, size, "%.*s", (int)whole, peer->text);
    peer->length -= whole;
    memmove(peer->text, peer->text + whole, peer->length + 1);
    return status;
}

void http_peer_ask(struct http_peer *peer, const char *request, int status, const char *part) {
    char reply[16384] = "";
    int got;

    http_peer_say(peer, request);
    got = http_peer_reply(peer, reply, sizeof reply);
    if (got != status || strstr(reply, part) == NULL)
        fail_msg("%d, not %d with \"%s\", to %s%s", got, status, part, request, reply);
}

void http_peer_expect_reply(struct http_peer *peer, int status, const char *part) {
    http_peer_ask(peer, "", status, part);
}

void http_peer_expect(struct http_peer *peer, const char *needle) {
    int64_t deadline_ms = wait_deadline_ms();

    while (strstr(peer->text, needle) == NULL) {
        assert_false(peer->is_ended);
        http_peer_turn(peer);
        check(deadline_ms, needle);
    }
}

void http_peer_expect_end(struct http_peer *peer) {
    int64_t deadline_ms = wait_deadline_ms();

    while (!peer->is_ended) {
        http_peer_turn(peer);
        check(deadline_ms, "the server to close");
    }
}

void http_peer_close(struct http_peer *peer) {
    if (peer->fd >= 0)
        (void)close(peer->fd);
    peer->fd = -1;
}

void http_peer_reset(struct http_peer *peer) {
    struct linger reset = {.l_onoff = 1, .l_linger = 0};

    (void)setsockopt(peer->fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    http_peer_close(peer);
}
