/* The server, its inbound connections and their exchanges, for the HTTP server's own files.
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
 * handler that still runs then goes on. The memory goes when the socket is closed and the handler
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

/* Why no handler will run; status 0: a handler will. The texts are static. */
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
    struct buffer params; /* decoded: name NUL value NUL ..., first of the path, then the query */
    size_t query_params_start;   /* in params */
    struct buffer reply_headers; /* lines, each with its CRLF */
    size_t head_bytes;           /* all bytes on the wire so far that are not body */
    size_t reply_left;           /* bytes that http_reply_begin() promised and that are missing */
    const char *method;
    char id[20]; /* our own request id, made when asked for */
    bool is_head, is_head_complete, keeps_alive, is_replied;
    bool is_whole;        /* its last byte has come */
    bool is_broken;       /* the connection cannot go on: see `refusal` */
    bool is_stream;       /* http_reply_stream() has begun it */
    bool is_chunked;      /* http_reply_chunked() has begun it */
    bool has_lost_header; /* memory for a reply header was short */
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
    struct buffer pending; /* input that waits for the current answer, or for the next turn */
    struct buffer output;  /* to be sent at the end of this turn of the loop */
    uint64_t turn;         /* of the loop, when it last began a request */
    unsigned begun;        /* requests in that turn */
    uint64_t number;       /* for the log */
    int64_t deadline_ms;   /* on uv_now() */
    size_t drained;        /* bytes read and dropped while LINGERING */
    unsigned writes;       /* uv_write()s that have not called back */
    /* Calls from the socket: a write is out; closed and without a handler, so it may be freed. */
    void (*on_written)(struct http_inbound *inbound), (*on_over)(struct http_inbound *inbound);
    enum http_inbound_state state;
    bool has_handler;      /* its fiber still runs */
    bool is_handle_closed; /* on_closed has run */
    bool is_pumping;       /* a caller up the stack feeds the parser */
    bool is_paused;        /* reading has stopped: too much is pending */
    bool is_ended;         /* the peer has sent its FIN */
    bool is_waiting;       /* it has had its share of the turn, but more is pending */
    bool is_unsent;        /* there is `output` */
};

struct http_server {
    uv_loop_t *loop;
    struct http_server_options options;
    struct http_server_stats stats;
    uv_tcp_t listener;
    uv_check_t turn;
    uv_idle_t more;    /* active while connections are in `waiting` */
    uv_idle_t sending; /* active while connections are in `unsent` */
    uv_timer_t sweep, drain;
    uv_poll_t room; /* of the highest descriptor, never active */
    LIST_HEAD(, http_inbound) inbounds;
    TAILQ_HEAD(http_inbounds, http_inbound) waiting, unsent;
    uint64_t turns;             /* of the loop */
    struct http_inbound *spare; /* for accepting one connection without memory */
    struct buffer output;       /* spare: the last one that a connection has sent */
    uint64_t accepted;
    unsigned accepted_this_turn;
    int64_t swept_ms; /* time of the last sweep */
    uint64_t id_seed, ids;
    char date[48]; /* the Date header of `dated`, with its CRLF */
    time_t dated;
    unsigned open_handles; /* of all these */
    bool is_draining, is_accept_waiting;
    http_server_cb on_closed;
    void *on_closed_data;
    char input[HTTP_INPUT_BYTES];
};

/* The files. Each calls only those above it; calls up go by callback. */

/* http_reply.c */
/* Write the bytes that the socket takes now, and the rest later. The bytes are copied. Does nothing
 * when closed. */
void http_inbound_send(struct http_inbound *inbound, uv_buf_t *bufs, unsigned count);
/* At the end of a turn of the loop: send everything queued in it. */
void http_inbound_send_all(struct http_server *server);
/* Give up and close. May be called in any state, any number of times. */
void http_inbound_close(struct http_inbound *inbound, const char *why);
/* The last chunk is out. */
void http_reply_end(struct http_exchange *exchange);

/* http_request.c */
void http_request_init(struct http_inbound *inbound);
/* Give the parser up to one request's bytes. Returns how many it took. Sets `is_whole`; or
 * `is_broken` and `refusal`. */
size_t http_request_feed(struct http_inbound *inbound, const char *bytes, size_t length);
/* Make it ready for the next request. */
void http_exchange_reset(struct http_exchange *exchange);
/* Set why no handler will run. Returns false, for `return`. The texts are static. */
bool http_exchange_refuse(struct http_exchange *exchange, int status, const char *code,
                          const char *message);
bool http_exchange_refuse_for_memory(struct http_exchange *exchange);

#endif
