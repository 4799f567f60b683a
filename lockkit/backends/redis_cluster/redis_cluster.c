/* Locks in a Redis Cluster: a backend of redis:// for each node, and a map of slots and their nodes
 * (cluster_map.h).
 *
 *     redis+cluster://[[user][:password]@]host[:port][,host[:port]...][?wait=k]
 *
 * The hash tag puts all keys of a lock into one slot, so its scripts run on one node. TRYAGAIN and
 * CLUSTERDOWN are UNAVAILABLE, in the server's words, and the waiter asks again. Renewals go on
 * during TRYAGAIN, because they need one key. A node that does not answer is UNAVAILABLE, too; then
 * the client asks another node for the map.
 *
 * A failover may lose the writes that the replica did not have yet, like that of a single server:
 * `?wait=k`.
 *
 * PUBLISH reaches every node of the cluster. So each node's backend subscribes to hand-overs where
 * it is connected, and moving slots do not matter. */
#include "cluster_map.h"
#include "redis_backend.h"

#include "clock.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* At any speed: a node that is silent must not keep the others from their work. */
#define ACQUIRES_MOST 1024

struct cluster {
    struct lk_backend base;
    struct lk_backend_config config;
    struct cluster_map map; /* the client of a node is a struct redis_server */
    unsigned open;          /* nodes that have not closed yet */
};

/* A command on its way. */
struct routed {
    struct lk_command inner; /* the command of the node's backend */
    struct redis_sent sent;
    struct lk_command *command;
    struct cluster *cluster;
    struct cluster_node *node;
    unsigned redirections;
    int64_t deadline_ms;
    struct redis_call refusal;
};

static struct redis_server *server_of(const struct cluster_node *node) {
    return node->client;
}

static int open_server(void *data, const char *url, struct cluster_node *node) {
    const struct cluster *cluster = data;
    struct lk_backend_config config = cluster->config;
    struct lk_backend *backend;
    enum lk_status status;

    config.url = url;
    status = backend_redis.open(&backend, &config);
    if (status != LK_OK)
        return status == LK_NOMEM ? UV_ENOMEM : status == LK_UNSUPPORTED ? UV_ENOTSUP : UV_EINVAL;
    node->client = backend;
    server_of(node)->is_in_cluster = true;
    node->redis = server_of(node)->link.redis;
    return 0;
}

/* ---- Commands */

static void redis_cluster_on_answer(struct lk_command *inner);

static void route(struct routed *routed, struct cluster_node *node, bool is_ask) {
    struct redis_server *server = server_of(node);
    const struct lk_command *command = routed->command;
    const int64_t left_ms = routed->deadline_ms - clock_now_ms();

    assert(!routed->cluster->map.is_closing && !server->is_asking);
    routed->node = node;
    routed->inner = *command;
    routed->inner.reply_ms = left_ms > 0 ? (uint32_t)left_ms : 0;
    routed->inner.on_answer = redis_cluster_on_answer;
    routed->inner.data = routed;
    routed->inner.internal = &routed->sent;
    server->is_asking = is_ask;
    backend_redis.run(&server->base, &routed->inner);
    server->is_asking = false;
}

/* The node to ask next, or NULL. */
static struct cluster_node *redirect(struct routed *routed, bool *is_ask) {
    struct cluster_node *node = NULL;

    if (routed->inner.status == LK_REFUSED && routed->inner.why != NULL)
        node = cluster_map_redirect(&routed->cluster->map, routed->node, routed->inner.why, is_ask);
    return routed->redirections++ < CLUSTER_REDIRECTIONS_MOST ? node : NULL;
}

static void redis_cluster_on_answer(struct lk_command *inner) {
    struct routed *routed = inner->data;
    struct lk_command *command = routed->command;
    bool is_ask = false;
    struct cluster_node *node = redirect(routed, &is_ask);
    void (*const told)(struct lk_command *) = command->on_answer;
    void *const data = command->data, *const internal = command->internal;
    const uint32_t reply_ms = command->reply_ms;

    assert(inner == &routed->inner && command->on_answer != NULL);
    command->round_trips = inner->round_trips;
    if (node != NULL) {
        route(routed, node, is_ask);
        return;
    }
    if (inner->status == LK_UNAVAILABLE || inner->status == LK_UNKNOWN)
        cluster_map_doubt(&routed->cluster->map, routed->node);
    if (inner->status == LK_REFUSED && inner->why != NULL && cluster_is_for_now(inner->why))
        inner->status = LK_UNAVAILABLE;
    *command = *inner;
    command->on_answer = told;
    command->data = data;
    command->internal = internal;
    command->reply_ms = reply_ms;
    told(command);
}

static void redis_cluster_on_refused(struct redis_call *call, const redisReply *reply) {
    struct routed *routed = call->data;

    (void)reply;
    routed->command->status = LK_UNSUPPORTED;
    routed->command->why = "a name that begins with } has keys in several slots";
    routed->command->on_answer(routed->command);
}

static void redis_cluster_run(struct lk_backend *backend, struct lk_command *command) {
    struct cluster *cluster = (struct cluster *)backend;
    struct routed *routed = command->internal;
    const int slot = cluster_slot(command->name);

    assert(strlen(command->name) <= NAME_MAX_BYTES);
    routed->cluster = cluster;
    routed->command = command;
    routed->deadline_ms = clock_now_ms() + command->reply_ms;
    if (slot < 0) {
        /* A call without arguments ends by itself, in the next turn of the loop. */
        routed->refusal = (struct redis_call){.data = routed};
        redis_call_start(cluster->map.nodes[0].redis, &routed->refusal, redis_cluster_on_refused);
        return;
    }
    route(routed, cluster_map_node(&cluster->map, slot), false);
}

/* ---- Opening and closing */

static void redis_cluster_destroy(struct cluster *cluster) {
    assert(cluster->open == 0);
    cluster_map_free(&cluster->map);
    backend_end(&cluster->base);
}

static void part_closed(void *data) {
    struct cluster *cluster = data;

    assert(cluster->map.is_closing && cluster->open > 0);
    if (--cluster->open == 0)
        redis_cluster_destroy(cluster);
}

static void close_nodes(struct cluster *cluster) {
    struct cluster_map *map = &cluster->map;

    assert(!map->is_closing && map->node_count > 0); /* the last of them frees it */
    cluster_map_close(map);
    cluster->open = map->node_count;
    for (unsigned i = map->node_count; i-- > 0;)
        backend_redis.close(&server_of(&map->nodes[i])->base, part_closed, cluster);
}

static void close_cluster(struct lk_backend *backend, lk_close_cb cb, void *data) {
    struct cluster *cluster = (struct cluster *)backend;

    backend->on_closed = cb;
    backend->data = data;
    close_nodes(cluster);
}

static enum lk_status open_cluster(struct lk_backend **backend,
                                   const struct lk_backend_config *config) {
    struct cluster *cluster = calloc(1, sizeof *cluster);
    int err;

    if (cluster == NULL)
        return LK_NOMEM;
    cluster->base.ops = &backend_redis_cluster;
    cluster->base.acquires_most = cluster->base.acquires_least = ACQUIRES_MOST;
    cluster->config = *config;
    cluster->map.open = open_server;
    cluster->map.data = cluster;
    err = cluster_map_open(&cluster->map, config->url);
    cluster->config.url = NULL;
    if (err == 0)
        *backend = &cluster->base;
    else if (cluster->map.node_count > 0)
        close_nodes(cluster); /* the open nodes close in the next turns of the loop */
    else
        redis_cluster_destroy(cluster);
    return err == 0            ? LK_OK
           : err == UV_ENOMEM  ? LK_NOMEM
           : err == UV_ENOTSUP ? LK_UNSUPPORTED
                               : LK_INVALID;
}

const struct lk_backend_ops backend_redis_cluster = {
    .scheme = CLUSTER_SCHEME,
    .caps = LK_CAP_TTL | LK_CAP_FAIR | LK_CAP_EVENTS | LK_CAP_FENCE_BEST | LK_CAP_CROSS_PROCESS |
            LK_CAP_SHARED | LK_CAP_PERMITS | LK_CAP_BREAK | LK_CAP_WAITERS | LK_CAP_HANDOVER,
    .command_size = sizeof(struct routed),
    .open = open_cluster,
    .close = close_cluster,
    .run = redis_cluster_run,
};
