/* What a URL says of a ZooKeeper ensemble and of the locks in it, and where they are in its tree.
 */
#ifndef LOCKKIT_ZK_URL_H
#define LOCKKIT_ZK_URL_H

#include "backend.h"
#include "server_name.h"

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
    struct server_name servers[ZK_SERVERS_MOST];
    size_t server_count;
    char base[ZK_BASE_MAX + 1]; /* below which the locks are: "/..."; empty: the root */
    uint32_t session_ms;        /* to ask for [10,000] */
    bool is_fair;
    enum zk_layout layout;
};

/* 0, or -1 when it is no such URL. */
int zk_url_parse(struct zk_url *parsed, const char *url);

/* A folder's path with its NUL, and that of a node in it. A node's name that is longer than that
 * leaves room for was given by somebody else. */
#define ZK_FOLDER_SIZE (ZK_BASE_MAX + 1 + 3 * NAME_MAX_BYTES + 1)
#define ZK_PATH_SIZE   (ZK_FOLDER_SIZE + 1 + 1024)

/* The folder of lock `name`. Anything but printable ASCII, a slash, a percent sign, and the names .
 * and .. are percent-encoded: ZooKeeper knows only well-formed text. */
void zk_folder(char folder[ZK_FOLDER_SIZE], const char *base, const char *name);

/* The path of `node` in `folder`; false when it is too long. */
bool zk_path(char path[ZK_PATH_SIZE], const char *folder, const char *node);

/* The last part of a path. */
const char *zk_node_of(const char *path);

#endif
