/* The URL of a ZooKeeper ensemble, and a session with it on the caller's loop, through
 * libzookeeper-st. The session connects by itself, and again when the connection breaks. If it
 * expires, a new one begins. */
#ifndef LOCKKIT_ZK_SESSION_H
#define LOCKKIT_ZK_SESSION_H

#include "backend.h"
#include "server_name.h"

#include <netinet/in.h>
#include <zookeeper/zookeeper.h>

/* ---- The URL:
 * zookeeper://host[:port][,host[:port]...][/path][?session=ms][&fair=0|1][&layout=curator|kazoo] */

#define ZK_SCHEME        "zookeeper://"
#define ZK_SERVERS_MOST  16
#define ZK_BASE_MAX      255
#define ZK_SESSION_LEAST 100 /* milliseconds */
#define ZK_SESSION_MOST  86400000

/* The names of a lock's nodes: like Apache Curator's, or like kazoo's. */
enum zk_layout { ZK_CURATOR, ZK_KAZOO };

struct zk_url {
    struct server_name servers[ZK_SERVERS_MOST];
    size_t server_count;
    char base[ZK_BASE_MAX + 1]; /* the parent of all lock folders: "/..."; empty: the root */
    uint32_t session_ms;        /* the timeout to ask for [10,000] */
    bool is_fair;
    enum zk_layout layout;
};

/* 0; -1: it is no such URL. */
int zk_url_parse(struct zk_url *parsed, const char *url);

/* ---- The session */

#define ZK_ADDRESSES_SIZE (ZK_SERVERS_MOST * 4 * (INET6_ADDRSTRLEN + 7))

/* All run on the loop, never inside a call of zk_session_...(). */
struct zk_session_events {
    void (*on_up)(void *data);      /* requests can be sent (again) */
    void (*on_doubt)(void *data);   /* the connection broke; the session may go on */
    void (*on_expired)(void *data); /* the session ended, and all its nodes with it */
    void (*on_turn)(void *data);    /* after zk_session_turn() */
    void *data;
};

struct zk_session {
    /* Use it to send requests, only inside these events and completions. A request is completed
     * once, on the loop. While the session closes it may be completed with ZCLOSING on another
     * thread; the loop's thread waits for that one. */
    zhandle_t *handle;
    int64_t id;
    /* The agreed timeout; before that, the timeout to ask for. The server ends a session that was
     * silent for so long. */
    uint32_t timeout_ms;

    /* The rest belongs to the session. */
    uv_loop_t *loop;
    const struct zk_url *url;
    struct zk_session_events events;
    uv_prepare_t prepare;
    uv_timer_t timer;
    uv_getaddrinfo_t resolving;
    size_t resolved; /* number of servers resolved, while there is no handle */
    bool is_resolving;
    char addresses[ZK_ADDRESSES_SIZE];

    struct socket *socket;
    bool told_up;
    uint64_t down_since_ms; /* by uv_now(), unless told_up */

    uv_work_t closing;
    bool is_closing, is_tearing_down;
    unsigned handles; /* handles that have not closed yet */
    void (*on_closed)(void *data);
    void *data;
};

/* Zero the session first. `url` belongs to the caller and must stay. */
void zk_session_open(struct zk_session *session, uv_loop_t *loop, const struct zk_url *url,
                     const struct zk_session_events *events);

/* Whether requests can be sent. */
bool zk_session_is_up(const struct zk_session *session);
/* Run on_turn before the loop waits again. */
void zk_session_turn(struct zk_session *session);

/* The server is silent: go to another one, if there is one. The library would wait for two thirds
 * of the session. */
void zk_session_leave_server(struct zk_session *session);

/* End the session at the server, within a second. Then `cb` runs, later, and may free the session.
 */
void zk_session_close(struct zk_session *session, void (*cb)(void *data), void *data);

#endif
