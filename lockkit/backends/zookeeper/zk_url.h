/* What a URL says of a ZooKeeper ensemble and of the locks in it. */
#ifndef LOCKKIT_ZK_URL_H
#define LOCKKIT_ZK_URL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ZK_SCHEME        "zookeeper://"
#define ZK_SERVERS_MOST  16
#define ZK_BASE_MAX      255
#define ZK_SESSION_LEAST 100 /* milliseconds */
#define ZK_SESSION_MOST  86400000

/* How the nodes of a lock are named: as Apache Curator or as kazoo names them. */
enum zk_layout { ZK_CURATOR, ZK_KAZOO };

struct zk_url {
    struct zk_server {
        char host[256]; /* without the brackets of an IPv6 address */
        char port[6];
    } servers[ZK_SERVERS_MOST];
    size_t server_count;
    char base[ZK_BASE_MAX + 1]; /* below which the locks are: "/..."; empty: the root */
    uint32_t session_ms;        /* to ask for [10,000] */
    bool is_fair;
    enum zk_layout layout;
};

/* 0, or -1 when it is no such URL. */
int zk_url_parse(struct zk_url *parsed, const char *url);

#endif
