/* The servers of locks: a client of lockkit for each, opened when the first lock there is wanted.
 */
#ifndef INVENTORY_LOCK_SERVERS_H
#define INVENTORY_LOCK_SERVERS_H

#include <lockkit.h>

#define LOCK_SERVERS(X)                                                                            \
    X(LOCAL, "local")                                                                              \
    X(REDIS, "redis")                                                                              \
    X(REDIS_WAIT_1, "redis-wait-1") /* the same, with so many replicas */                          \
    X(REDIS_WAIT_2, "redis-wait-2")                                                                \
    X(REDLOCK, "redlock")                                                                          \
    X(ZOOKEEPER, "zookeeper")                                                                      \
    X(ZOOKEEPER_UNFAIR, "zookeeper-unfair") /* the same, without a line */                         \
    X(ETCD, "etcd")

enum lock_server {
#define X(name, text) LOCK_AT_##name,
    LOCK_SERVERS(X)
#undef X
        LOCK_SERVER_COUNT
};

struct lock_servers {
    uv_loop_t *loop;
    const char *label; /* who holds; lives as long as this */
    char *urls[LOCK_SERVER_COUNT];
    lk_client *clients[LOCK_SERVER_COUNT];
};

/* Where it is: `query` is added to the URL, such as "wait=1", "" for none. Both are copied; an
 * empty URL is none. 0, or -1 without memory. */
__attribute__((warn_unused_result)) int lock_servers_set(struct lock_servers *servers,
                                                         enum lock_server which, const char *url,
                                                         const char *query);

/* The client of a server. LK_UNSUPPORTED for one without a URL, or that this build has no client
 * of; LK_INVALID for a URL that cannot be read; LK_NOMEM; and then *client is NULL. */
LK_CHECK enum lk_status lock_servers_client(struct lock_servers *servers, enum lock_server which,
                                            lk_client **client);

/* Close all; the loop has to run until they are. */
void lock_servers_close(struct lock_servers *servers);

#endif
