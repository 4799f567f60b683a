/* An HTTP/1.1 client for one origin: a pool of keep-alive connections on libuv and llhttp.
 *
 * A call takes an idle connection, or opens one, or waits in a bounded queue. Every call has one
 * deadline for everything. A call is sent at most once: a call that may have reached the server is
 * never sent again. Its outcome is then UNKNOWN, never "failed". */
#ifndef UVKIT_HTTP_CLIENT_H
#define UVKIT_HTTP_CLIENT_H

#include "http_call.h"
#include "http_origin.h"

#include <stddef.h>
#include <stdint.h>
#include <uv.h>

struct http_client;

/* Zero means the default in brackets. */
struct http_client_options {
    const char *host; /* a literal address, or a name that each new connection looks up */
    /* A name of the literal address `host`, looked up only when that fails: the address that answers
     * then is used from there on. The Host header stays. NULL: none. */
    const char *name;
    int port;
    unsigned connections;        /* most connections to keep [64] */
    unsigned opening;            /* most to open at once for waiting calls [no limit] */
    unsigned queue;              /* calls that may wait for a connection [1,024] */
    size_t reply_limit;          /* bytes of a reply body [64 KiB] */
    uint64_t connect_timeout_ms; /* [1,000] */
    uint64_t idle_ms;            /* close a connection idle for longer [30,000] */
};

struct http_client_stats {
    unsigned connections, idle, in_flight, queued;
    uint64_t opened;           /* connections since the start */
    uint64_t connect_failures; /* in a row, 0 after a success: many mean that the server is down */
};

/* 0; or a negative libuv code, and then there is nothing to undo. The strings of `options` are
 * copied. */
__attribute__((warn_unused_result)) int http_client_open(struct http_client **client,
                                                         uv_loop_t *loop,
                                                         const struct http_client_options *options);

/* Close. Pending calls end (NOT_SENT or UNKNOWN). Then `cb` runs exactly once, later, on the loop,
 * with the client freed. */
typedef void (*http_client_cb)(void *data);
void http_client_close(struct http_client *client, http_client_cb cb, void *data);

/* Start a call. `cb` runs exactly once, later, on the loop, even if the call cannot be sent. */
void http_call_start(struct http_client *client, struct http_call *call, http_call_cb cb);

/* The same in a fiber: returns when the call has ended. The reply stays valid until
 * http_call_done(). */
enum http_call_outcome http_call_await(struct http_client *client, struct http_call *call);
void http_call_done(struct http_call *call);

/* Break off a call that was started. If it has not ended, its callback runs soon. Not allowed in
 * its on_part. */
void http_call_cancel(struct http_client *client, struct http_call *call);

/* Open connections until there are `count`, or the most to keep, so that calls find idle ones. */
void http_client_warm(struct http_client *client, unsigned count);

void http_client_stats(const struct http_client *client, struct http_client_stats *stats);

#endif
