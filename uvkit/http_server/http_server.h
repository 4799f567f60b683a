/* An HTTP/1.1 server on libuv and llhttp: each request runs its handler in a fiber.
 *
 * Requests of one connection are answered in order, one at a time; pipelined input waits, and
 * reading stops while more than one header limit's worth of it is waiting. In a turn of the loop
 * each connection has a share of 16 requests, so those that pipeline starve no other. HEAD runs the
 * GET handler and sends no body.
 *
 * What is refused before a handler runs: 400 malformed, 403 an Origin that is not the request's own
 * Host, 404 no such path, 405 with Allow, 408 headers or body too slow, 413 body over the limit,
 * 421 a Host that is neither an address, localhost nor in `hosts`, 431 headers over the limit, 501
 * an unknown Transfer-Encoding, 503 too many connections, 505 not HTTP/1.x. Every refusal is JSON:
 * {"error": "<code>", "message": "<what to do>"}.
 *
 * Opening a server makes the process ignore SIGPIPE, unless it handles that signal. */
#ifndef UVKIT_HTTP_SERVER_H
#define UVKIT_HTTP_SERVER_H

#include "uuid.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

struct http_server;
struct http_exchange; /* one request and its reply: valid from the handler's start to its return */

/* Runs in a fiber. Must call one http_reply*() function once; when it returns without, the client
 * gets a 500. It may wait as long as it likes; the client may be gone by then, which is not told.
 */
typedef void (*http_handler)(struct http_exchange *exchange, void *data);

/* `path` is matched segment by segment; a segment `{name}` matches any non-empty one. */
struct http_route {
    const char *method; /* "GET", "POST", "DELETE" */
    const char *path;   /* "/products/{id}/reservations" */
    http_handler handler;
};

/* Zero means the default in brackets. */
struct http_server_options {
    const struct http_route *routes; /* ends with {NULL}; not copied */
    void *data;                      /* for every handler */
    const char *hosts;               /* more names to be asked by: "a,b"; not copied [none] */
    size_t header_limit;             /* bytes of request line and headers [16 KiB] */
    size_t body_limit;               /* bytes of body after dechunking [64 KiB] */
    uint64_t header_timeout_ms;      /* from a request's first byte to its last [10,000] */
    uint64_t idle_timeout_ms;        /* a kept-alive connection without a request [60,000] */
    unsigned connection_limit;       /* above it, a connection gets 503 and is closed [10,000, or
                                        half of the descriptors that the process may have] */
};

struct http_server_stats {
    unsigned connections;        /* open now */
    unsigned in_flight;          /* handlers running now */
    uint64_t requests;           /* begun since the start */
    uint64_t refused;            /* answered without a handler since the start */
    uint64_t handler_ns;         /* time in handlers since the start */
    uint64_t by_status_class[6]; /* [2] counts the 2xx replies, and so on */
};

/* Make a server, not yet listening. 0, or a negative libuv code, and then there is nothing to undo.
 */
__attribute__((warn_unused_result)) int http_server_open(struct http_server **server,
                                                         uv_loop_t *loop,
                                                         const struct http_server_options *options);

/* Listen on `host` (a literal IPv4 or IPv6 address) and `port` (0: any; see http_server_port). 0 or
 * a negative libuv code, UV_EADDRINUSE among them. */
__attribute__((warn_unused_result)) int http_server_listen(struct http_server *server,
                                                           const char *host, int port);
int http_server_port(const struct http_server *server);

void http_server_stats(const struct http_server *server, struct http_server_stats *stats);

/* Stop accepting, close connections that have been idle for half a second, let requests that have
 * begun, and those that come on the other connections, finish with `Connection: close`, and after
 * `timeout_ms` cut what is left; then close as http_server_close does. May be called once; `cb`
 * runs exactly once, later, on the loop, with the server freed. Handlers still waiting at the cut
 * keep running and their replies go nowhere; `cb` waits for them. */
typedef void (*http_server_cb)(void *data);
void http_server_drain(struct http_server *server, uint64_t timeout_ms, http_server_cb cb,
                       void *data);

/* Close at once: http_server_drain with no time left. */
void http_server_close(struct http_server *server, http_server_cb cb, void *data);

/* End a drain at once: what is left is cut, and the drain's callback runs. Only between
 * http_server_drain() and its callback; any number of times. */
void http_server_cut(struct http_server *server);

/* The request. Strings are NUL-terminated, live as long as the exchange, and are never NULL unless
 * it says so. Header names are matched without case. */
const char *http_header(const struct http_exchange *exchange, const char *name);     /* or NULL */
const char *http_path_param(const struct http_exchange *exchange, const char *name); /* or NULL */
const char *http_query_param(const struct http_exchange *exchange,
                             const char *name); /* decoded, + is a space; or NULL */
const char *http_body(const struct http_exchange *exchange, size_t *length);
/* A short id for logs: the X-Request-Id header when it is sane, else one of our own. */
const char *http_request_id(const struct http_exchange *exchange);

/* Add a header to the reply that is still to be sent; both strings are copied. */
void http_reply_header(struct http_exchange *exchange, const char *name, const char *value);
/* Send the reply; `body` is copied. The second reply to one exchange is a bug of ours (assert). */
void http_reply(struct http_exchange *exchange, int status, const char *content_type,
                const char *body, size_t length);
/* Send `json` and drop our reference to it; NULL (out of memory when it was built) sends a 500. */
void http_reply_json(struct http_exchange *exchange, int status, json_t *json);
/* Send {"error": code, "message": ...}. */
__attribute__((format(printf, 4, 5))) void http_reply_error(struct http_exchange *exchange,
                                                            int status, const char *code,
                                                            const char *format, ...);
/* Begin a reply whose body, of `length` bytes, follows by http_reply_part(). False: none is wanted,
 * as for HEAD. A handler that returns before it has given all of them cuts the connection. */
__attribute__((warn_unused_result)) bool http_reply_begin(struct http_exchange *exchange,
                                                          int status, const char *content_type,
                                                          size_t length);
/* Send the next bytes of it, and wait until they are out: other requests go on meanwhile, and no
 * more than this is ever held for a peer that does not read. False: the peer is gone, or has read
 * nothing for the idle timeout. */
__attribute__((warn_unused_result)) bool http_reply_part(struct http_exchange *exchange,
                                                         const char *bytes, size_t length);
/* Begin a reply of no known length, as of an event stream: http_reply_part() goes on with it until
 * the handler returns, and the connection ends with it. A peer that has closed its side is gone. */
__attribute__((warn_unused_result)) bool http_reply_stream(struct http_exchange *exchange,
                                                           int status, const char *content_type);
/* Begin a reply whose chunks follow one by one, until the handler returns; the connection goes on.
 * False: none is wanted, as for HEAD. */
__attribute__((warn_unused_result)) bool http_reply_chunked(struct http_exchange *exchange,
                                                            int status, const char *content_type);
/* Add a chunk, which is copied: those of one turn of the loop leave in one write, at its end. Does
 * not wait, so all that a peer does not read is held. In any fiber, while the handler waits. */
void http_reply_chunk(struct http_exchange *exchange, const char *bytes, size_t length);
bool http_reader_is_gone(const struct http_exchange *exchange);
/* Send nothing and cut the connection: for the drop-reply failpoint only. */
void http_reply_drop(struct http_exchange *exchange);

/* The body as a JSON object (duplicate keys refused, depth bounded), a new reference; or NULL,
 * after a 400 with the position of the error, or a 415 when there is a Content-Type and it is not
 * JSON, has been sent. */
json_t *http_body_json(struct http_exchange *exchange);
/* The UUID in lower case that the body, a JSON object, has as the string `name`; without a tree
 * when it is as flat as json_flat.h wants it. False when a 400 or 415 has been sent: with
 * `otherwise` as the message when there is no such UUID. */
bool http_body_uuid(struct http_exchange *exchange, const char *name, char uuid[UUID_TEXT],
                    const char *otherwise);
/* False: its Content-Type says that it is not JSON. */
bool http_body_is_json(const struct http_exchange *exchange);

#endif
