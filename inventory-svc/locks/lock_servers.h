/* Where an instance's locks are: servers, with a client of lockkit for each way in which a server
 * is used, opened when the first lock is wanted that way; a pool; a directory. */
#ifndef INVENTORY_LOCK_SERVERS_H
#define INVENTORY_LOCK_SERVERS_H

#include <lockkit.h>

#define LOCK_SERVERS(X)                                                                            \
    X(REDIS, "redis")                                                                              \
    X(REDLOCK, "redlock")                                                                          \
    X(ZOOKEEPER, "zookeeper")                                                                      \
    X(ETCD, "etcd")                                                                                \
    X(POSTGRES, "postgres")

enum lock_server {
#define X(name, text) LOCK_AT_##name,
    LOCK_SERVERS(X)
#undef X
        LOCK_SERVER_COUNT
};

struct pg_pool;

#define LOCK_CLIENTS_MOST 16
#define LOCK_QUERY_BYTES  40

struct lock_servers {
    uv_loop_t *loop;
    const char *label;                   /* who holds */
    const char *urls[LOCK_SERVER_COUNT]; /* or NULL; all of this lives as long as it does */
    struct pg_pool *pooled; /* of Postgres, by way of a pooler; or the instance's own */
    const char *dir;        /* on this machine's disk; need not be there */

    struct {
        enum lock_server server;
        char query[LOCK_QUERY_BYTES];
        lk_client *client;
    } clients[LOCK_CLIENTS_MOST];
    unsigned client_count;
};

/* The client of a server that uses it in this way: `query` is added to its URL, such as "wait=1",
 * "" for nothing. LK_UNSUPPORTED for a server without a URL, or that this build has no client of;
 * LK_INVALID for a URL that cannot be read; LK_NOMEM, also for too many ways; and then *client is
 * NULL. */
LK_CHECK enum lk_status lock_servers_client(struct lock_servers *servers, enum lock_server server,
                                            const char *query, lk_client **client);

/* What all clients of a server have counted, which is at `offset` of struct lk_counters. */
double lock_servers_count(const struct lock_servers *servers, enum lock_server server,
                          size_t offset);

/* Close all; the loop has to run until they are. */
void lock_servers_close(struct lock_servers *servers);

#endif
