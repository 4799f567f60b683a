/* A raw TCP client on the test's own thread: it runs the loop of the server under test while it
 * waits, so that a test reads top to bottom. Every wait has a deadline and fails the test at it. */
#ifndef TEST_HTTP_PEER_H
#define TEST_HTTP_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

#define HTTP_PEER_BYTES (512 * 1024)

struct http_peer {
    uv_loop_t *loop;
    int fd;
    bool is_ended; /* the server closed, or reset */
    size_t length;
    char text[HTTP_PEER_BYTES]; /* what has arrived and was not taken, NUL-terminated */
};

void http_peer_open(struct http_peer *peer, uv_loop_t *loop, int port);
/* All of it, running the loop when the socket is full. Stops without a word when the server has
 * closed. */
void http_peer_send(struct http_peer *peer, const char *bytes, size_t length);
void http_peer_say(struct http_peer *peer, const char *text);
/* One turn of the loop, then read what is there. */
void http_peer_turn(struct http_peer *peer);
/* Wait for one whole reply (not to HEAD), take it off `text`, return its status; 0: the connection
 * ended first. `reply` (size bytes, or NULL) gets head and body. */
int http_peer_reply(struct http_peer *peer, char *reply, size_t size);
/* The same: it has this status, and `part` in it. */
void http_peer_expect_reply(struct http_peer *peer, int status, const char *part);
/* Say `request` before. */
void http_peer_ask(struct http_peer *peer, const char *request, int status, const char *part);
/* Wait until `text` holds `needle`. */
void http_peer_expect(struct http_peer *peer, const char *needle);
/* Wait until the server has closed. */
void http_peer_expect_end(struct http_peer *peer);
void http_peer_close(struct http_peer *peer);
/* Close with a reset instead of an orderly end. */
void http_peer_reset(struct http_peer *peer);

#endif
