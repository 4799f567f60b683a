/* An HTTP/1.1 client for one origin: a pool of keep-alive connections on libuv and llhttp.
 *
 * A call takes an idle connection, or opens one, or waits in a bounded queue. Every call has a
 * deadline for all of it. A call is sent at most once: whatever may have reached the server is
 * never sent again, and its outcome then is UNKNOWN, never "failed". */
#ifndef UVKIT_HTTP_CLIENT_H
#define UVKIT_HTTP_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <uv.h>

enum http_call_outcome {
    HTTP_CALL_ANSWERED, /* a complete reply arrived; see `status` */
    HTTP_CALL_NOT_SENT, /* no byte of it was sent: no connection, queue full, or the deadline passed
                           first */
    HTTP_CALL_UNKNOWN,  /* sent, and no complete reply arrived: the connection broke, the reply was
                           malformed or too large, the deadline passed, or it was broken off */
};

struct fiber_event;
struct http_client;
struct http_connection;
struct http_call;

typedef void (*http_call_cb)(struct http_call *call);

#define HTTP_CALL_HEADER_BYTES 192

/* One request and its reply. The caller owns it, zeroes it and fills in the first part; it may go,
 * or be used again, in or after the callback. Strings in must live until the callback. */
struct http_call {
    const char *method;  /* "POST" */
    const char *target;  /* "/orders" */
    const char *headers; /* extra header lines, each ending in \r\n, or NULL */
    const char *body;    /* or NULL */
    size_t body_length;
    int64_t deadline_ms; /* a moment, clock_now_ms(); INT64_MAX: none */
    void *data;          /* the caller's */
    /* Or NULL: is given the body piece by piece, for a reply that goes on for long; then none of it
     * is kept, and it may be of any length. False breaks the call off. Must not call the client. */
    bool (*on_part)(struct http_call *call, const char *bytes, size_t length);
    /* The name of a reply header to keep, in any case, or NULL. */
    const char *want_header;

    /* Filled in before the callback. */
    enum http_call_outcome outcome;
    int status;  /* HTTP status, when ANSWERED */
    char *reply; /* body, NUL-terminated; owned by the client and valid only in the callback,
                    or until the fiber calls http_call_done() */
    size_t reply_length;
    int64_t sent_ns;     /* before the first write, monotonic; 0 when NOT_SENT */
    int64_t received_ns; /* after the last byte of the reply, or when given up */
    const char *error;   /* why, for as long as `reply`; NULL when ANSWERED */
    /* The value of the wanted header; "" when there was none, and when not ANSWERED. Several are
     * joined by ", ", and what is too long is cut. */
    char header[HTTP_CALL_HEADER_BYTES];

    struct {
        struct http_connection *connection; /* that carries it, or NULL */
        TAILQ_ENTRY(http_call) entry;       /* in the queue, or among the ended */
        TAILQ_ENTRY(http_call) by_deadline; /* while it is running */
        http_call_cb cb;
        struct fiber_event *awaited; /* by http_call_await(), or NULL */
        char *body;                  /* of the reply, allocated */
        bool is_running;
    } internal;
};

/* Zero means the default in brackets. */
struct http_client_options {
    const char *host; /* a literal address or a name, resolved at the start of each connection */
    int port;
    unsigned connections;        /* the most to keep [64] */
    unsigned opening;            /* the most to open at a time for calls that wait [no limit] */
    unsigned queue;              /* calls that may wait for a connection [1,024] */
    size_t reply_limit;          /* bytes of a reply body [64 KiB] */
    uint64_t connect_timeout_ms; /* [1,000] */
    uint64_t idle_ms;            /* close a connection idle for longer [30,000] */
};

struct http_client_stats {
    unsigned connections, idle, in_flight, queued;
    uint64_t opened;           /* connections since the start */
    uint64_t connect_failures; /* in a row, 0 after a success: how a caller knows that it is down */
};

/* Split "http://host:port" (port 80 when missing; no path, no TLS) into `host` and `port`. 0 or
 * UV_EINVAL. */
__attribute__((warn_unused_result)) int http_origin_parse(const char *url, char *host,
                                                          size_t host_size, int *port);

/* 0 or a negative libuv code, and then there is nothing to undo. The strings of `options` are
 * copied. */
__attribute__((warn_unused_result)) int http_client_open(struct http_client **client,
                                                         uv_loop_t *loop,
                                                         const struct http_client_options *options);

/* Pending calls end (NOT_SENT or UNKNOWN); then `cb` runs exactly once, later, on the loop, with
 * the client freed. */
typedef void (*http_client_cb)(void *data);
void http_client_close(struct http_client *client, http_client_cb cb, void *data);

/* Start a call. `cb` runs exactly once, later, on the loop, also when it cannot be sent. */
void http_call_start(struct http_client *client, struct http_call *call, http_call_cb cb);

/* The same in a fiber: returns when the call has ended. The reply stays valid until
 * http_call_done(). */
enum http_call_outcome http_call_await(struct http_client *client, struct http_call *call);
void http_call_done(struct http_call *call);

/* Break off a call that was started and may have ended: if not, its callback runs soon. Not in its
 * on_part. */
void http_call_cancel(struct http_client *client, struct http_call *call);

/* Open connections, until there are `count` or the most to keep, so that calls find them idle. */
void http_client_warm(struct http_client *client, unsigned count);

void http_client_stats(const struct http_client *client, struct http_client_stats *stats);

#endif
