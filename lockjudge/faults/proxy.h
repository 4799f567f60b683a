/* A TCP proxy between one worker and its servers. It freezes, delays or loses the bytes of that
 * worker, and cuts its connections, to all of its servers at once. Each worker has a proxy of its
 * own, so a fault hits no other worker.
 *
 * Faults follow each other: a new fault replaces the old one, and its held bytes wait on. */
#ifndef LOCKJUDGE_PROXY_H
#define LOCKJUDGE_PROXY_H

#include "why.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <uv.h>

#define PROXY_URL_BYTES   2048
#define PROXY_SERVERS_MAX 16

/* Bits: the bytes of the worker, the bytes of the server. */
#define PROXY_REQUESTS 1u
#define PROXY_REPLIES  2u
#define PROXY_BOTH     (PROXY_REQUESTS | PROXY_REPLIES)

enum proxy_kind {
    PROXY_FREEZE, /* hold all bytes, and the end of a connection; new connections are held, too */
    PROXY_DELAY,  /* pass each byte `delay_ms` later */
    /* Lose all bytes. proxy_heal() cuts each connection that lost one: no network passes a stream
     * with a hole. */
    PROXY_DROP,
    PROXY_CUT,    /* reset all connections, once; held bytes are lost. Ignores `ways` */
    PROXY_REFUSE, /* reset all connections, and each new one until proxy_heal(). Ignores `ways` */
};

enum proxy_moment {
    PROXY_NOW,
    PROXY_BEFORE_REQUEST, /* when the worker sends its next bytes: the server does not get them */
    PROXY_BEFORE_REPLY,   /* when the server sends its next bytes: the worker does not get them */
    PROXY_IN_REPLY,       /* the worker gets only the first `bytes` of the server's next bytes */
};

struct proxy_fault {
    enum proxy_kind kind;
    unsigned ways;    /* the bytes that it hits; 0 means PROXY_BOTH */
    int64_t delay_ms; /* of PROXY_DELAY */
    enum proxy_moment moment;
    unsigned bytes; /* of PROXY_IN_REPLY. If the next bytes are fewer, all of them pass. */
};

/* One server of the worker, and the port where we listen for it. */
struct proxy_gate {
    struct proxy *proxy;
    int port; /* of 127.0.0.1 */
    uv_tcp_t listener;
    struct sockaddr_storage server;
};

struct proxy {
    /* The address for the worker: the servers' URL with our hosts and ports in it. */
    char url[PROXY_URL_BYTES];
    struct proxy_gate gates[PROXY_SERVERS_MAX]; /* in the order of the URL */
    unsigned gate_count;
    unsigned connections, cuts;
    uint64_t bytes[PROXY_BOTH]; /* [0]: read from the worker; [1]: read from the server */
    /* Or NULL. A fault with a later moment begins now. Do not close the proxy in it. */
    void (*on_fault)(struct proxy *proxy);
    void *data; /* the caller's */

    uv_timer_t timer;
    struct proxy_fault fault, next;
    bool has_fault, has_next;
    LIST_HEAD(, proxy_link) links;
    unsigned open; /* handles and links that libuv still uses */
    void (*on_closed)(struct proxy *proxy);
};

/* Listen on a free port of 127.0.0.1 for each server of `url`: [scheme://][user@]host:port[...]. The
 * last '@' before the path ends the user. More servers, host:port or URLs, follow after commas.
 * Looks up names of hosts at once. 0; or -1 with the reason, and proxy_close() must not follow; the
 * memory may go when the loop has run. */
int proxy_open(struct proxy *proxy, uv_loop_t *loop, const char *url, struct why *why);

/* Does the URL have the host and port of each of its servers? */
bool proxy_has_server(const char *url);
/* The fault begins now, or at its moment. Only the newest fault waits for its moment. */
void proxy_set(struct proxy *proxy, const struct proxy_fault *fault);
/* End each fault, and forget a waiting one. Held bytes go on, in order. */
void proxy_heal(struct proxy *proxy);

/* Cut all connections. `on_closed`, or NULL, runs later, once; then the memory may go. */
void proxy_close(struct proxy *proxy, void (*on_closed)(struct proxy *proxy));

#endif
