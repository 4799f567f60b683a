/* The places of an instance's locks: servers, a pool and a directory. Each server has a lockkit
 * client for each way in which it is used, opened for the first lock that is wanted that way. */
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
    const char *label;                   /* tells others that this instance holds */
    const char *urls[LOCK_SERVER_COUNT]; /* or NULL; all texts live as long as this struct */
    struct pg_pool *pooled;              /* of Postgres, through a pooler; or the instance's own */
    const char *dir;                     /* on this machine's disk; it may not exist yet */

    struct {
        enum lock_server server;
        char query[LOCK_QUERY_BYTES];
        lk_client *client;
    } clients[LOCK_CLIENTS_MOST];
    unsigned client_count;
};

/* The client for one way to use a server: `query` is added to the server's URL, such as "wait=1";
 * "" adds nothing. On any value but LK_OK *client is NULL.
 *
 *     LK_UNSUPPORTED  the server has no URL, or this build has no client for it
 *     LK_INVALID      the URL cannot be read
 *     LK_NOMEM        also for too many ways */
LK_CHECK enum lk_status lock_servers_client(struct lock_servers *servers, enum lock_server server,
                                            const char *query, lk_client **client);

/* The sum over all clients of a server of the counter at `offset` in struct lk_counters. */
double lock_servers_count(const struct lock_servers *servers, enum lock_server server,
                          size_t offset);

/* Close all. The loop must run until they are closed. */
void lock_servers_close(struct lock_servers *servers);

#endif
