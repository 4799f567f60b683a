/* What the HTTP client's own files share: the client, its connections, their calls.
 *
 * A call:        start -> queue -> on a connection -> ended -> callback (at the end of the read
 *                that ended it, or from an idle handle)
 * A connection:  OPENING -> IDLE <-> BUSY, and from anywhere to CLOSED
 *
 * While a connection is IDLE the queue is empty, and while calls wait, as many connections are
 * OPENING as there are calls, room and `opening`. Functions here only move things; the loop's
 * callbacks end with http_client_dispatch(), which brings calls and connections together again. */
#ifndef UVKIT_HTTP_CLIENT_INTERNAL_H
#define UVKIT_HTTP_CLIENT_INTERNAL_H

#include "addresses.h"
#include "buffer.h"
#include "http_client.h"
#include "http_lines.h"

#include <llhttp.h>

#define HTTP_CLIENT_INPUT_BYTES (64 * 1024)
#define HTTP_CLIENT_HOST_BYTES  256
#define HTTP_CLIENT_NEVER_MS    INT64_MAX

enum http_connection_state {
    CONNECTION_OPENING,
    CONNECTION_IDLE,
    CONNECTION_BUSY,
    CONNECTION_CLOSED, /* until libuv lets go of it */
    CONNECTION_STATES
};

struct http_connection {
    struct http_client *client;
    enum http_connection_state state;
    TAILQ_ENTRY(http_connection) entry; /* in the client's list of its state */
    int64_t since_ms;                   /* when it was opened, or became idle */
    uv_tcp_t tcp;
    uv_connect_t connect;
    uv_getaddrinfo_t resolve;
    struct addresses addresses; /* of the name; none when it is an address */
    int64_t leave_ms;           /* when the one that is tried is left, while it is OPENING */
    bool is_resolving, has_tcp; /* libuv still knows the one, the other */
    bool is_fresh;              /* no call has gone over it */

    struct http_call *call;
    bool is_sent; /* a byte of the call may have left */
    uv_write_t write;
    char *unsent; /* what the socket did not take at once; not NULL: being written */

    llhttp_t parser;
    struct buffer body;
    struct http_lines lines; /* of the head */
    struct {
        bool has_input, has_headers, is_complete, keeps_alive;
        const char *error;  /* why the parser was stopped by us */
        size_t name_length; /* bytes of a header's name that were read */
        bool is_wanted;     /* and so far it is the name that the call wants */
    } reply;
};

TAILQ_HEAD(http_connections, http_connection);
TAILQ_HEAD(http_calls, http_call);

struct http_client {
    uv_loop_t *loop;
    struct http_client_options options;
    char host[HTTP_CLIENT_HOST_BYTES];
    char authority[HTTP_CLIENT_HOST_BYTES + 16]; /* the Host header */
    struct sockaddr_storage literal;             /* ss_family 0: `host` is a name */
    struct sockaddr_storage answered;            /* the last of the name's addresses that did */
    bool has_several;                            /* the name has several addresses */
    char failure[160];                           /* why the last attempt failed, and where */
    struct http_connections connections[CONNECTION_STATES];
    unsigned count[CONNECTION_STATES]; /* of each */
    struct http_calls queue, ended;
    unsigned queued;
    struct http_calls running; /* all that have not ended, by deadline */
    uv_timer_t timer;
    uv_check_t polled; /* active while something is due */
    int64_t armed_ms;  /* when the timer fires, if it is active */
    int64_t retry_ms;  /* until then, while others work, no new connection is tried */
    uv_idle_t ending;  /* active while calls are ended and not told */
    uint64_t opened, connect_failures;
    bool is_closing;
    unsigned closing_handles; /* of the three above, once nothing needs them */
    http_client_cb on_closed;
    void *on_closed_data;
    struct buffer request; /* where requests are put together */
    char input[HTTP_CLIENT_INPUT_BYTES];
};

/* http_client_deadline.c */
/* Have the timer fire at `due_ms` or before, and http_client_expire() run. */
void http_client_arm(struct http_client *client, int64_t due_ms);
/* The call is among the running now, and http_client_expire() ends it at its deadline. */
void http_client_run(struct http_client *client, struct http_call *call);

/* http_client_request.c */
/* NULL, or what is wrong with the call. */
const char *http_request_flaw(const struct http_call *call);
/* The whole request in client->request. False without memory. */
bool http_request_build(struct http_client *client, const struct http_call *call);

/* http_client_reply.c */
void http_reply_expect(struct http_connection *connection);
/* Parse: sets is_complete and keeps_alive; else NULL, or why the connection is of no more use. */
const char *http_reply_parse(struct http_connection *connection, const char *bytes, size_t length);
const char *http_reply_parse_end(struct http_connection *connection);

/* http_client_connection.c */
/* Start to connect. 0, or a libuv code and there is no connection. */
int http_connection_open(struct http_client *client);
/* Send a call on an idle connection, or end it, or put it back in the queue. */
void http_connection_send(struct http_connection *connection, struct http_call *call);
/* An attempt to connect is over, for all addresses. */
void http_connection_fail(struct http_connection *connection, int code);
/* The address that is tried has failed: the next one is tried, or the attempt is over. */
void http_connection_leave(struct http_connection *connection, int code);
/* Ends its call too, with `error`. May be called at any time, any number of times. */
void http_connection_close(struct http_connection *connection, const char *error);

/* http_client.c */
void http_client_move(struct http_connection *connection, enum http_connection_state state);
/* The connection is gone for good. */
void http_client_forget(struct http_connection *connection);
void http_client_requeue(struct http_client *client, struct http_call *call);
/* A connection that was OPENING could not be made: tell the calls that it was for. `why` lives as
 * long as the client. */
void http_client_connect_failed(struct http_client *client, const char *why);
/* Tell the calls that have ended: the last line of a callback of the loop. */
void http_client_tell(struct http_client *client);
/* Its callback runs soon, from the loop. */
void http_client_end(struct http_client *client, struct http_call *call,
                     enum http_call_outcome outcome, const char *error);
void http_client_dispatch(struct http_client *client);
/* Act on all that is due. */
void http_client_expire(struct http_client *client);

static inline struct http_connection *http_client_oldest(const struct http_client *client,
                                                         enum http_connection_state state) {
    return TAILQ_LAST(&client->connections[state], http_connections);
}

#endif
