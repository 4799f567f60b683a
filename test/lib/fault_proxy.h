/* A TCP proxy on the test's own loop, between a client under test and its server. It can hold back
 * bytes in either direction, refuse and cut connections, and lose bytes on the way. */
#ifndef TEST_FAULT_PROXY_H
#define TEST_FAULT_PROXY_H

#include <stdbool.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <uv.h>

/* Faults; bits. Held bytes flow on, in order, when the bit is cleared. They are lost if their
 * connection is cut, or ends by itself, before. */
enum fault_proxy_fault {
    PROXY_PASSES = 0,
    PROXY_HOLDS_REQUESTS = 1 << 0,
    PROXY_HOLDS_REPLIES = 1 << 1,
    PROXY_HOLDS = PROXY_HOLDS_REQUESTS | PROXY_HOLDS_REPLIES,
    PROXY_REFUSES = 1 << 2, /* it cuts all connections, and new ones at once */
};

struct fault_proxy {
    int port;         /* of 127.0.0.1 */
    char url[512];    /* set by fault_proxy_open_url() */
    unsigned clients; /* connections so far */
    unsigned chunks;  /* chunks of bytes from clients */
    unsigned cuts;    /* ended connections */

    uv_tcp_t listener;
    struct sockaddr_storage server;
    unsigned faults;
    LIST_HEAD(, proxy_link) links;
};

/* A proxy for the server at `host`: a name, an address, or the path of a socket. It takes a
 * port, so that no other program gets it, but listens on it only after fault_proxy_listen(). */
struct fault_proxy *fault_proxy_open(uv_loop_t *loop, const char *host, const char *port);
/* The same for the server of a URL, scheme://[...@]host:port[/...]. The member `url` is this URL
 * with the address of the proxy. */
struct fault_proxy *fault_proxy_open_url(uv_loop_t *loop, const char *url);
void fault_proxy_listen(struct fault_proxy *proxy);

void fault_proxy_set(struct fault_proxy *proxy, unsigned faults);
/* Hold everything on the present connections, even their end, until the next fault_proxy_set(). */
void fault_proxy_freeze(struct fault_proxy *proxy);
/* Cut all connections, or the newest one. Held bytes are lost. */
void fault_proxy_cut(struct fault_proxy *proxy);
void fault_proxy_cut_last(struct fault_proxy *proxy);
/* Cut all connections, and free the proxy in the next turns of the loop. */
void fault_proxy_close(struct fault_proxy *proxy);

#endif
