/* A raw TCP client on the test's own thread. While it waits, it runs the loop of the server under
 * test, so that a test reads top to bottom. Each wait fails the test at a deadline. */
#ifndef TEST_HTTP_PEER_H
#define TEST_HTTP_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

#define HTTP_PEER_BYTES (512 * 1024)

struct http_peer {
    uv_loop_t *loop;
    int fd;
    bool is_ended; /* the server closed or reset the connection */
    size_t length;
    char text[HTTP_PEER_BYTES]; /* bytes that arrived and were not taken, NUL-terminated */
};

void http_peer_open(struct http_peer *peer, uv_loop_t *loop, int port);
/* Send all bytes. It runs the loop while the socket is full, and stops silently if the server
 * closed the connection. */
void http_peer_send(struct http_peer *peer, const char *bytes, size_t length);
void http_peer_say(struct http_peer *peer, const char *text);
/* Run one turn of the loop, then read the bytes that are there. */
void http_peer_turn(struct http_peer *peer);
/* Wait for a whole reply (not to HEAD), take it off `text`, and return its status; 0: the
 * connection ended before. `reply` (size bytes, or NULL) gets head and body. */
int http_peer_reply(struct http_peer *peer, char *reply, size_t size);
/* The same, and assert that the reply has this status and contains `part`. */
void http_peer_expect_reply(struct http_peer *peer, int status, const char *part);
/* The same, after it said `request`. */
void http_peer_ask(struct http_peer *peer, const char *request, int status, const char *part);
/* Wait until `text` holds `needle`. */
void http_peer_expect(struct http_peer *peer, const char *needle);
/* Wait until the server closes the connection. */
void http_peer_expect_end(struct http_peer *peer);
void http_peer_close(struct http_peer *peer);
/* Close with a reset instead of an orderly end. */
void http_peer_reset(struct http_peer *peer);

#endif
