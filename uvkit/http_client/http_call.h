/* One request of an HTTP client and its reply. */
#ifndef UVKIT_HTTP_CALL_H
#define UVKIT_HTTP_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

enum http_call_outcome {
    HTTP_CALL_ANSWERED, /* a complete reply arrived; see `status` */
    HTTP_CALL_NOT_SENT, /* no byte of it was sent: no connection, queue full, or the deadline passed
                           first */
    HTTP_CALL_UNKNOWN,  /* sent, but no complete reply arrived: the connection broke, the reply was
                           malformed or too large, the deadline passed, or it was broken off */
};

struct fiber_event;
struct http_connection;
struct http_call;

typedef void (*http_call_cb)(struct http_call *call);

#define HTTP_CALL_HEADER_BYTES 192

/* One request and its reply. The caller owns it, zeroes it and fills in the first part. Its memory
 * may go, or be used again, in or after the callback. Strings in must live until the callback. */
struct http_call {
    const char *method;  /* "POST" */
    const char *target;  /* "/orders" */
    const char *headers; /* extra header lines, each ending in \r\n, or NULL */
    const char *body;    /* or NULL */
    size_t body_length;
    int64_t deadline_ms; /* a moment, clock_now_ms(); INT64_MAX: none */
    bool is_urgent;      /* it goes before other calls that wait for a connection */
    void *data;          /* the caller's */
    /* Gets the body piece by piece, for a reply that lasts long; or NULL. Then none of the body is
     * kept, and it may have any length. False breaks the call off. Must not call the client. */
    bool (*on_part)(struct http_call *call, const char *bytes, size_t length);
    /* The name of a reply header to keep, in any case, or NULL. */
    const char *want_header;

    /* Filled in before the callback. */
    enum http_call_outcome outcome;
    int status;  /* HTTP status, when ANSWERED */
    char *reply; /* body, NUL-terminated; the client owns it; valid only in the callback, or until
                    the fiber calls http_call_done() */
    size_t reply_length;
    int64_t sent_ns;     /* before the first write, monotonic; 0 when NOT_SENT */
    int64_t received_ns; /* after the last byte of the reply, or when given up */
    const char *error;   /* why it is not ANSWERED, valid like `reply`; else NULL */
    /* The value of the wanted header; "" when there was none, or when not ANSWERED. Several values
     * are joined by ", ". A value that is too long is cut. */
    char header[HTTP_CALL_HEADER_BYTES];

    struct {
        struct http_connection *connection; /* carries the call; or NULL */
        TAILQ_ENTRY(http_call) entry;       /* in the queue, or in the list of ended calls */
        TAILQ_ENTRY(http_call) by_deadline; /* while it is running */
        http_call_cb cb;
        struct fiber_event *awaited; /* by http_call_await(), or NULL */
        char *body;                  /* of the reply, allocated */
        bool is_running;
    } internal;
};

#endif
