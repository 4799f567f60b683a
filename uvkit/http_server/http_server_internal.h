/* What the HTTP server's own files share: the server, its inbound connections, their exchanges.
 *
 * The life of one inbound connection:
 *
 *            first byte        last byte          handler over      reply written
 *     IDLE -----------> READING ------> HANDLING -----------> REPLYING ---.
 *      ^                   |                                   ^   |      |
 *      |                   '----- refused without a handler ---'   |      |
 *      '------------------------- kept alive ---------------------'       |
 *                                 LINGERING <----- not kept alive --------'
 *
 * and from anywhere to CLOSED, when the peer is gone, a deadline passes, or the server is cut. A
 * handler that still runs then goes on; the memory goes when the socket is closed and the handler
 * is over. */
#ifndef UVKIT_HTTP_SERVER_INTERNAL_H
#define UVKIT_HTTP_SERVER_INTERNAL_H

#include "buffer.h"
#include "http_lines.h"
#include "http_server.h"

#include <llhttp.h>
#include <sys/queue.h>
#include <time.h>

#define HTTP_INPUT_BYTES (64 * 1024) /* one read; all connections share the buffer */

/* Why no handler will run; status 0: one will. The texts are static. */
struct http_refusal {
    int status;
    const char *code, *message;
};

struct http_inbound;

struct http_exchange {
    struct http_inbound *inbound;
    const struct http_route *route;
    struct http_refusal refusal;
    struct buffer head;   /* target NUL name NUL value NUL name NUL ... */
    size_t headers_start; /* in head */
    struct http_lines lines;
    const char *path;  /* in head, still percent-encoded */
    const char *query; /* in head, or "" */
    struct buffer body;
    struct buffer params;      /* decoded: name NUL value NUL ..., of the path, then of the query */
    size_t query_params_start; /* in params */
    struct buffer reply_headers; /* lines, each with its CRLF */
    size_t head_bytes;           /* on the wire, so far: all that is not body */
    size_t reply_left;           /* bytes that http_reply_begin() promised, and are to come */
    const char *method;
    char id[20]; /* our own request id, made when asked for */
    bool is_head, is_head_complete, keeps_alive, is_replied;
    bool is_stream;       /* http_reply_stream() has begun it */
    bool is_chunked;      /* http_reply_chunked() has */
    bool has_lost_header; /* no memory for a reply header */
};

enum http_inbound_state { IDLE, READING, HANDLING, REPLYING, LINGERING, CLOSED };

struct http_inbound {
    struct http_server *server;
    LIST_ENTRY(http_inbound) entry;    /* in server->inbounds */
    TAILQ_ENTRY(http_inbound) by_turn; /* in server->waiting, when it `is_waiting` */
    TAILQ_ENTRY(http_inbound) unsent;  /* in server->unsent, when it `is_unsent` */
    uv_tcp_t tcp;
    uv_shutdown_t shutdown;
    llhttp_t parser;
    struct http_exchange exchange;
    struct buffer pending; /* input that came while a request was answered, or after its share */
    struct buffer output;  /* to be sent at the end of this turn of the loop */
    uint64_t turn;         /* of the loop, when it last began a request */
    unsigned begun;        /* requests in that turn */
    uint64_t number;       /* for the log */
    int64_t deadline_ms;   /* on uv_now() */
    size_t drained;        /* bytes read and dropped while LINGERING */
    unsigned writes;       /* uv_write()s that have not called back */
    /* How the socket calls up: a write is out; closed, and no handler: it may be freed. */
    void (*on_written)(struct http_inbound *inbound), (*on_over)(struct http_inbound *inbound);
    enum http_inbound_state state;
    bool has_handler;      /* its fiber is not over */
    bool is_handle_closed; /* on_closed has run */
    bool is_pumping;       /* a caller up the stack feeds the parser */
    bool is_paused;        /* reading has stopped: too much is pending */
    bool is_ended;         /* the peer has sent its FIN */
    bool is_waiting;       /* it has had its share of the turn, and more is pending */
    bool is_unsent;        /* there is `output` */
};

struct http_server {
    uv_loop_t *loop;
    struct http_server_options options;
    struct http_server_stats stats;
    uv_tcp_t listener;
    uv_check_t turn;
    uv_idle_t more;    /* active while there are waiting ones */
    uv_idle_t sending; /* active while there are unsent ones */
    uv_timer_t sweep, drain;
    uv_poll_t room; /* of the highest descriptor, never active */
    LIST_HEAD(, http_inbound) inbounds;
    TAILQ_HEAD(http_inbounds, http_inbound) waiting, unsent;
    uint64_t turns;             /* of the loop */
    struct http_inbound *spare; /* so that without memory there is still one to accept with */
    uint64_t accepted;
    unsigned accepted_this_turn;
    int64_t swept_ms; /* when the sweep was last here */
    uint64_t id_seed, ids;
    char date[48]; /* the Date header of `dated`, with its CRLF */
    time_t dated;
    unsigned open_handles; /* of all these */
    int port;
    bool is_draining, is_accept_waiting;
    http_server_cb on_closed;
    void *on_closed_data;
    char input[HTTP_INPUT_BYTES];
};

/* The files, each calling only those above it; what goes down comes up again by callback. */

/* http_exchange.c */
/* Say why no handler will run; http_inbound_refuse() answers. False, for `return`. The texts are
 * static. */
bool http_exchange_refuse(struct http_exchange *exchange, int status, const char *code,
                          const char *message);
bool http_exchange_refuse_for_memory(struct http_exchange *exchange);
/* Ready for the next request. */
void http_exchange_reset(struct http_exchange *exchange);
void http_exchange_free(struct http_exchange *exchange);

/* http_host.c */
/* Is it for this server, and not sent by a page of another site? Otherwise it is refused. */
bool http_host_is_welcome(struct http_exchange *exchange);

/* http_router.c */
/* Take the target apart and find its route: sets path, query, params and route, or refusal. False:
 * the refusal ends the connection. */
bool http_route(struct http_exchange *exchange);

/* http_inbound_socket.c */
/* Write now what the socket takes, and the rest when it takes more; the bytes are copied. Nothing
 * happens when closed. */
void http_inbound_send(struct http_inbound *inbound, uv_buf_t *bufs, unsigned count);
/* The same at the end of this turn of the loop, with all that it is told until then. */
void http_inbound_queue(struct http_inbound *inbound, uv_buf_t *bufs, unsigned count);
/* The end of the turn. */
void http_inbound_send_all(struct http_server *server);
/* Write the bytes, which stay the caller's, and wait for it: in the handler's fiber. False: it is
 * closed. */
bool http_inbound_write(struct http_inbound *inbound, const char *bytes, size_t length);
/* Give up and close. May be called in any state, any number of times. */
void http_inbound_close(struct http_inbound *inbound, const char *why);
/* Call on_over() unless libuv or a handler still needs the inbound. */
void http_inbound_maybe_over(struct http_inbound *inbound);

/* http_request.c */
extern const llhttp_settings_t http_request_callbacks;
/* What the parser's error means to the client. */
void http_exchange_refuse_malformed(struct http_exchange *exchange, const llhttp_t *parser);

/* http_reply.c */
/* The last chunk is out. */
void http_reply_end(struct http_exchange *exchange);

/* http_inbound.c */
void http_inbound_init(struct http_inbound *inbound, struct http_server *server,
                       void (*on_over)(struct http_inbound *inbound));
/* Start reading, after uv_accept(). */
void http_inbound_start(struct http_inbound *inbound);
/* What its deadline calls for. */
void http_inbound_time_out(struct http_inbound *inbound);
/* Answer the exchange with its refusal, and end the connection unless it may go on. */
void http_inbound_refuse(struct http_inbound *inbound);
/* Close when idle, end the connection after this request otherwise. Who has just connected is about
 * to ask, and may do so once. */
void http_inbound_drain(struct http_inbound *inbound);

#endif
