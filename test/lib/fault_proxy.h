/* A TCP proxy on the test's own loop, between a client under test and its server: it can hold back
 * what flows, in either direction, refuse and cut connections, and lose what was under way. */
#ifndef TEST_FAULT_PROXY_H
#define TEST_FAULT_PROXY_H

#include <stdbool.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <uv.h>

/* What it does with connections; bits. What is held flows on, in order, when the bit is taken back;
 * it is lost when its connection is cut, or ends by itself, before. */
enum fault_proxy_fault {
    PROXY_PASSES = 0,
    PROXY_HOLDS_REQUESTS = 1 << 0,
    PROXY_HOLDS_REPLIES = 1 << 1,
    PROXY_HOLDS = PROXY_HOLDS_REQUESTS | PROXY_HOLDS_REPLIES,
    PROXY_REFUSES = 1 << 2, /* connections are cut, and new ones at once */
};

struct fault_proxy {
    int port;         /* of 127.0.0.1 */
    char url[512];    /* of fault_proxy_open_url() */
    unsigned clients; /* that have connected so far */
    unsigned chunks;  /* that came from them */
    unsigned cuts;    /* connections that have ended */

    uv_tcp_t listener;
    struct sockaddr_storage server;
    unsigned faults;
    LIST_HEAD(, proxy_link) links;
};

/* A proxy for the server at `host`, a name, an address, or the path of a socket. Its port is taken,
 * so that nobody else gets it, but nobody listens on it before fault_proxy_listen(). */
struct fault_proxy *fault_proxy_open(uv_loop_t *loop, const char *host, const char *port);
/* The same for the server of a URL, scheme://[...@]host:port[/...]; `url` is that with the proxy's
 * address in its place. */
struct fault_proxy *fault_proxy_open_url(uv_loop_t *loop, const char *url);
void fault_proxy_listen(struct fault_proxy *proxy);

void fault_proxy_set(struct fault_proxy *proxy, unsigned faults);
/* Hold everything on the connections that there are, their end too, until the next
 * fault_proxy_set(). */
void fault_proxy_freeze(struct fault_proxy *proxy);
/* Cut all connections, or the one that came last, and lose what is held. */
void fault_proxy_cut(struct fault_proxy *proxy);
void fault_proxy_cut_last(struct fault_proxy *proxy);
/* Cuts, and frees itself in the next turns of the loop. */
void fault_proxy_close(struct fault_proxy *proxy);

#endif
