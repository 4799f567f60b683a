/* An HTTP/1.1 server on libuv and llhttp: each request runs its handler in a fiber.
 *
 * Requests of one connection are answered in order, one at a time. Pipelined input waits, and
 * reading stops while more of it waits than one header limit. In a turn of the loop each connection
 * has a share of 16 requests, so connections that pipeline starve no other. HEAD runs the GET
 * handler and sends no body.
 *
 * Refusals before a handler runs, all as JSON, {"error": "<code>", "message": "<what to do>"}:
 *
 *     400  malformed                       421  a Host other than an address, localhost, `hosts`
 *     403  an Origin other than its Host   431  headers over the limit
 *     404  no such path                    501  an unknown Transfer-Encoding
 *     405  with Allow                      503  too many connections
 *     408  headers or body too slow        505  not HTTP/1.x
 *     413  body over the limit
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

/* Runs in a fiber. Must call one http_reply*() function once; if it returns without a reply, the
 * client gets a 500. It may wait for any time. The client may be gone by then; the handler is not
 * told. */
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
    const char *hosts;          /* more names by which clients may ask: "a,b"; not copied [none] */
    size_t header_limit;        /* bytes of request line and headers [16 KiB] */
    size_t body_limit;          /* bytes of body after dechunking [64 KiB] */
    uint64_t header_timeout_ms; /* from a request's first byte to its last [10,000] */
    uint64_t idle_timeout_ms;   /* a kept-alive connection without a request [60,000] */
    unsigned connection_limit;  /* above it, a connection gets 503 and is closed [10,000, or
                                        half of the process's limit of descriptors] */
};

struct http_server_stats {
    unsigned connections;        /* open now */
    unsigned in_flight;          /* handlers running now */
    uint64_t requests;           /* begun since the start */
    uint64_t refused;            /* answered without a handler since the start */
    uint64_t handler_ns;         /* time in handlers since the start */
    uint64_t by_status_class[6]; /* [2] counts the 2xx replies, and so on */
};

/* Make a server that does not listen yet. 0; or a negative libuv code, and then there is nothing to
 * undo. */
__attribute__((warn_unused_result)) int http_server_open(struct http_server **server,
                                                         uv_loop_t *loop,
                                                         const struct http_server_options *options);

/* Listen on `host` (a literal IPv4 or IPv6 address) and `port` (0: any; see http_server_port). 0,
 * or a negative libuv code such as UV_EADDRINUSE. */
__attribute__((warn_unused_result)) int http_server_listen(struct http_server *server,
                                                           const char *host, int port);
int http_server_port(const struct http_server *server);

void http_server_stats(const struct http_server *server, struct http_server_stats *stats);

/* Drain: stop accepting, and close connections that have been idle for half a second. Requests that
 * have begun, and requests that still come on the other connections, are answered with `Connection:
 * close`. After `timeout_ms` cut the rest, and close like http_server_close(). Call it once. `cb`
 * runs exactly once, later, on the loop, with the server freed. Handlers that still wait at the cut
 * run on, and their replies go nowhere; `cb` waits for them. */
typedef void (*http_server_cb)(void *data);
void http_server_drain(struct http_server *server, uint64_t timeout_ms, http_server_cb cb,
                       void *data);

/* Close at once: http_server_drain() without time. */
void http_server_close(struct http_server *server, http_server_cb cb, void *data);

/* End a drain at once: cut the rest, and the drain's callback runs. Only between
 * http_server_drain() and its callback; any number of times. */
void http_server_cut(struct http_server *server);

/* The request. Strings are NUL-terminated and live as long as the exchange. They are NULL only
 * where it says so. Header names match in any case. */
const char *http_header(const struct http_exchange *exchange, const char *name);     /* or NULL */
const char *http_path_param(const struct http_exchange *exchange, const char *name); /* or NULL */
const char *http_query_param(const struct http_exchange *exchange,
                             const char *name); /* decoded, + is a space; or NULL */
const char *http_body(const struct http_exchange *exchange, size_t *length);
/* A short id for logs: the X-Request-Id header if it is sane, else one of our own. */
const char *http_request_id(const struct http_exchange *exchange);

/* Add a header to the reply, before it is sent. Both strings are copied. */
void http_reply_header(struct http_exchange *exchange, const char *name, const char *value);
/* Send the reply; `body` is copied. The second reply to one exchange is a bug of ours (assert). */
void http_reply(struct http_exchange *exchange, int status, const char *content_type,
                const char *body, size_t length);
/* Send `json` and drop our reference to it. NULL (memory was short when it was built) sends a 500.
 */
void http_reply_json(struct http_exchange *exchange, int status, json_t *json);
/* Send {"error": code, "message": ...}. */
__attribute__((format(printf, 4, 5))) void http_reply_error(struct http_exchange *exchange,
                                                            int status, const char *code,
                                                            const char *format, ...);
/* Begin a reply with a body of `length` bytes, which http_reply_part() sends. False: no body is
 * wanted, for HEAD. A handler that returns before all bytes are sent cuts the connection. */
__attribute__((warn_unused_result)) bool http_reply_begin(struct http_exchange *exchange,
                                                          int status, const char *content_type,
                                                          size_t length);
/* Send the next bytes of the body, and wait until they are out. Other requests go on meanwhile, and
 * no more than these bytes is held for a peer that does not read. False: the peer is gone, or has
 * read nothing for the idle timeout. */
__attribute__((warn_unused_result)) bool http_reply_part(struct http_exchange *exchange,
                                                         const char *bytes, size_t length);
/* Begin a reply of unknown length, such as an event stream. http_reply_part() continues it until
 * the handler returns, and then the connection ends. A peer that has closed its side is gone. */
__attribute__((warn_unused_result)) bool http_reply_stream(struct http_exchange *exchange,
                                                           int status, const char *content_type);
/* Begin a reply in chunks, which may follow until the handler returns. The connection stays. False:
 * no body is wanted, for HEAD. */
__attribute__((warn_unused_result)) bool http_reply_chunked(struct http_exchange *exchange,
                                                            int status, const char *content_type);
/* Add a chunk, which is copied. All chunks of one turn of the loop leave in one write, at its end.
 * Does not wait, so it holds everything that the peer does not read. In any fiber, while the
 * handler waits. */
void http_reply_chunk(struct http_exchange *exchange, const char *bytes, size_t length);
bool http_reader_is_gone(const struct http_exchange *exchange);
/* Send nothing and cut the connection: for the drop-reply failpoint only. */
void http_reply_drop(struct http_exchange *exchange);

/* The body as a JSON object (duplicate keys refused, depth bounded), a new reference. Or NULL,
 * after a 400 with the position of the error, or a 415 for a Content-Type that is not JSON. */
json_t *http_body_json(struct http_exchange *exchange);
/* Read the UUID in the string `name` of the body, a JSON object, in lower case; without a tree if
 * the object is flat (json_flat.h). False when a 400 or 415 has been sent, with the message
 * `otherwise` when there is no such UUID. */
bool http_body_uuid(struct http_exchange *exchange, const char *name, char uuid[UUID_TEXT],
                    const char *otherwise);
/* False: its Content-Type is not JSON. */
bool http_body_is_json(const struct http_exchange *exchange);

#endif
