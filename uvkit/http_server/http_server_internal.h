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

#include "http_server.h"

#include <llhttp.h>
#include <time.h>

#define HTTP_INPUT_BYTES (64 * 1024) /* one read; all connections share the buffer */

/* Bytes that grow; zeroed is empty. Pointers into it hold until the next append. */
struct http_buffer {
    char *bytes;
    size_t length, capacity;
};

__attribute__((warn_unused_result)) bool http_buffer_append(struct http_buffer *buffer,
                                                            const char *bytes, size_t length);
/* Empty it; a large one gives its memory back, so that an idle connection is small. */
void http_buffer_reset(struct http_buffer *buffer);
void http_buffer_drop_front(struct http_buffer *buffer, size_t length);
void http_buffer_free(struct http_buffer *buffer);

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
    struct http_buffer head; /* target NUL name NUL value NUL name NUL ... */
    size_t headers_start;    /* in head */
    const char *path;        /* in head, still percent-encoded */
    const char *query;       /* in head, or "" */
    struct http_buffer body;
    struct http_buffer params; /* decoded: name NUL value NUL ..., of the path, then of the query */
    size_t query_params_start; /* in params */
    struct http_buffer reply_headers; /* lines, each with its CRLF */
    size_t head_bytes;                /* on the wire, so far: all that is not body */
    const char *method;
    char id[20]; /* our own request id, made when asked for */
    bool is_head, is_head_complete, keeps_alive, is_replied;
    bool has_lost_header; /* no memory for a reply header */
    bool is_http_1_0;
};

enum http_inbound_state { IDLE, READING, HANDLING, REPLYING, LINGERING, CLOSED };

struct http_inbound {
    struct http_server *server;
    struct http_inbound *next, *previous; /* in server->inbounds */
    uv_tcp_t tcp;
    uv_shutdown_t shutdown;
    llhttp_t parser;
    struct http_exchange exchange;
    struct http_buffer pending; /* input that came while a request was being answered */
    uint64_t number;            /* for the log */
    int64_t deadline_ms;        /* on uv_now(); INT64_MAX: none */
    size_t drained;             /* bytes read and dropped while LINGERING */
    unsigned writes;            /* uv_write()s that have not called back */
    enum http_inbound_state state;
    bool has_handler;      /* its fiber is not over */
    bool is_handle_closed; /* on_closed has run */
    bool is_pumping;       /* a caller up the stack feeds the parser */
    bool is_paused;        /* reading has stopped: too much is pending */
    bool is_ended;         /* the peer has sent its FIN */
};

struct http_server {
    uv_loop_t *loop;
    struct http_server_options options;
    struct http_server_stats stats;
    uv_tcp_t listener;
    uv_check_t turn;
    uv_timer_t sweep, drain;
    struct http_inbound *inbounds;
    struct http_inbound *spare; /* so that without memory there is still one to accept with */
    uint64_t accepted;
    unsigned accepted_this_turn;
    int64_t swept_ms; /* when the sweep was last here */
    uint64_t id_seed, ids;
    char date[48]; /* the Date header of `dated`, with its CRLF */
    time_t dated;
    unsigned open_handles; /* listener, check and timers */
    int port;
    bool is_draining, is_accept_waiting;
    http_server_cb on_closed;
    void *on_closed_data;
    char input[HTTP_INPUT_BYTES];
};

/* http_server.c */
/* The inbound's last word: its memory becomes the spare or goes. */
void http_server_forget(struct http_server *server, struct http_inbound *inbound);

/* http_inbound.c */
void http_inbound_init(struct http_inbound *inbound, struct http_server *server);
/* Start reading, after uv_accept(). */
void http_inbound_start(struct http_inbound *inbound);
/* Give up and close. May be called in any state, any number of times. */
void http_inbound_close(struct http_inbound *inbound, const char *why);
/* What its deadline calls for. */
void http_inbound_time_out(struct http_inbound *inbound);
/* Answer the exchange with its refusal, and end the connection unless it may go on. */
void http_inbound_refuse(struct http_inbound *inbound);
/* Go on when the reply is out: with the next request, or to the end. */
void http_inbound_advance(struct http_inbound *inbound);
/* Close when idle, end the connection after this request otherwise. */
void http_inbound_drain(struct http_inbound *inbound);

/* http_inbound_write.c */
/* Write now what the socket takes, and the rest when it takes more; the bytes are copied. Nothing
 * happens when closed. */
void http_inbound_send(struct http_inbound *inbound, uv_buf_t *bufs, unsigned count);

/* http_request.c */
extern const llhttp_settings_t http_request_callbacks;
/* Say why no handler will run; http_inbound_refuse() answers. False, for `return`. The texts are
 * static. */
bool http_exchange_refuse(struct http_exchange *exchange, int status, const char *code,
                          const char *message);
bool http_exchange_refuse_for_memory(struct http_exchange *exchange);
/* What the parser's error means to the client. */
void http_exchange_refuse_malformed(struct http_exchange *exchange, const llhttp_t *parser);
/* Ready for the next request. */
void http_exchange_reset(struct http_exchange *exchange);
void http_exchange_free(struct http_exchange *exchange);

/* http_router.c */
/* Take the target apart and find its route: sets path, query, params and route, or refusal. False:
 * the refusal ends the connection. */
bool http_route(struct http_exchange *exchange);

#endif
