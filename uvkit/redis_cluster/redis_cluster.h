/* A client of a Redis Cluster: sends a command to the node that serves its slot, and follows
 * redirections (cluster_map.h). */
#ifndef UVKIT_REDIS_CLUSTER_H
#define UVKIT_REDIS_CLUSTER_H

#include "cluster_slot.h"
#include "redis.h"
#include "why.h"

#include <uv.h>

struct redis_cluster;
struct redis_routed;
struct cluster_node;

typedef void (*redis_routed_cb)(struct redis_routed *routed);

/* A command on its way. The caller owns it, zeroes it, and fills in the first part. Its memory may go
 * in or after `cb`. Arguments must live until then. */
struct redis_routed {
    struct redis_call call; /* the first member; like for redis_call_start(), with `data` */
    int slot;               /* of its keys, by cluster_slot() */
    unsigned replicas;      /* ask whether so many have what it wrote (WAIT); 0: do not ask */
    /* Reads the reply, which is valid only inside; before `cb`, and only if the status is OK. */
    void (*on_reply)(struct redis_routed *routed, const redisReply *reply);

    bool is_confirmed; /* out: these replicas have it */

    struct {
        struct redis_cluster *cluster;
        struct cluster_node *node;
        struct redis_call asking, wait;
        redis_routed_cb cb;
        unsigned redirections, running; /* running: calls without an end */
        bool was_whole;
    } internal;
};

/* Open: redis+cluster://..., in the background. `name` is that of its connections. 0; or UV_EINVAL,
 * UV_ENOMEM or UV_ENOTSUP, and then *cluster is NULL. */
__attribute__((warn_unused_result)) int redis_cluster_open(struct redis_cluster **cluster,
                                                           uv_loop_t *loop, const char *url,
                                                           const char *name);
/* Close. Pending commands end. Then `cb` runs exactly once, later, on the loop. */
void redis_cluster_close(struct redis_cluster *cluster, redis_close_cb cb, void *data);

/* Start a command. `cb` runs exactly once, later, on the loop, and then the status is in
 * routed->call. TRYAGAIN and CLUSTERDOWN end as NOT_SENT: the command had no effect, and may be
 * possible soon. */
void redis_cluster_start(struct redis_cluster *cluster, struct redis_routed *routed,
                         redis_routed_cb cb);

/* In a fiber: are these slots served now? See cluster_check(). */
__attribute__((warn_unused_result)) int redis_cluster_check(struct redis_cluster *cluster,
                                                            const bool slots[CLUSTER_SLOTS],
                                                            int64_t deadline_ms, struct why *why);

#endif
