/* Locks in a Redis Cluster: a backend of redis:// for each node, and a table of slots and their
 * nodes.
 *
 *     redis+cluster://[[user][:password]@]host[:port][,host[:port]...][?wait=k]
 *
 * A few nodes are enough: the client learns the others from them. A comma in a password must be
 * percent-encoded.
 *
 * The hash tag puts all keys of a lock into one slot, so its scripts run on one node. A command
 * goes to the node that is known to serve the slot, or to any node. A node that does not serve the
 * slot answers:
 *
 *     MOVED        another node serves it. The client asks that node from now on, and learns the
 *                  whole table again.
 *     ASK          the slot is moving to another node, and this key has arrived. The client asks
 *                  that node this once, with ASKING before the command.
 *     TRYAGAIN     some of the lock's keys have arrived; others have not, or do not exist. No node
 *                  can run the command before the whole slot has arrived. Renewals go on, because
 *                  they need one key.
 *     CLUSTERDOWN  no node serves some slot, and then the cluster serves none.
 *
 * The last two are UNAVAILABLE, in the server's words, and the waiter asks again. A node that does
 * not answer is UNAVAILABLE, too; then the client asks another node for the table.
 *
 * A failover may lose the writes that the replica did not have yet, like that of a single server:
 * `?wait=k`.
 *
 * PUBLISH reaches every node of the cluster. So each node's backend subscribes to hand-overs where
 * it is connected, and moving slots do not matter. */
#include "cluster_slot.h"
#include "redis_backend.h"
#include "server_name.h"

#include "clock.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* At any speed: a node that is silent must not keep the others from their work. */
#define ACQUIRES_MOST     1024
#define DEFAULT_PORT      6379
#define NODES_MOST        256
#define REDIRECTIONS_MOST 5
#define LEARN_MS          1000

struct node {
    struct redis_server *server; /* a backend of redis:// */
    char host[CLUSTER_HOST_SIZE];
    int port;
};

struct cluster {
    struct lk_backend base;
    struct lk_backend_config config;
    char *user;       /* from the URL: `user:password@`, or "" */
    char *parameters; /* from the URL: `?...`, or "" */
    struct node nodes[NODES_MOST];
    unsigned node_count;
    unsigned next;                     /* the node to ask when the right one is not known */
    struct node *slots[CLUSTER_SLOTS]; /* NULL: not known */
    struct redis_call learning;
    struct node *teacher;
    bool is_learning, is_closing;
    unsigned open; /* nodes that have not closed yet */
};

/* A command on its way. */
struct routed {
    struct lk_command inner; /* the command of the node's backend */
    struct redis_sent sent;
    struct lk_command *command;
    struct cluster *cluster;
    struct node *node;
    unsigned redirections;
    int64_t deadline_ms;
    struct redis_call refusal;
};

static struct node *any_node(struct cluster *cluster) {
    assert(cluster->node_count > 0);
    return &cluster->nodes[cluster->next++ % cluster->node_count];
}

/* ---- Nodes and their slots */

static enum lk_status open_node(struct cluster *cluster, const char *host, int port) {
    struct node *node = &cluster->nodes[cluster->node_count];
    struct lk_backend_config config = cluster->config;
    const size_t size = strlen(cluster->user) + strlen(host) + strlen(cluster->parameters) + 32;
    const bool is_ipv6 = strchr(host, ':') != NULL;
    struct lk_backend *backend;
    char *url = malloc(size);
    enum lk_status status;

    assert(cluster->node_count < NODES_MOST && !cluster->is_closing);
    assert(strlen(host) < CLUSTER_HOST_SIZE);
    if (url == NULL)
        return LK_NOMEM;
    (void)snprintf(url, size, "redis://%s%s%s%s:%d%s", cluster->user, is_ipv6 ? "[" : "", host,
                   is_ipv6 ? "]" : "", port, cluster->parameters);
    config.url = url;
    status = backend_redis.open(&backend, &config);
    free(url);
    if (status != LK_OK)
        return status;
    node->server = (struct redis_server *)backend;
    node->server->is_in_cluster = true;
    (void)snprintf(node->host, sizeof node->host, "%s", host);
    node->port = port;
    cluster->node_count++;
    return LK_OK;
}

/* The node at this address; a new one if necessary. NULL: out of memory, or too many nodes. */
static struct node *find_node(struct cluster *cluster, const char *host, int port) {
    for (unsigned i = 0; i < cluster->node_count; i++)
        if (cluster->nodes[i].port == port && strcmp(cluster->nodes[i].host, host) == 0)
            return &cluster->nodes[i];
    if (cluster->node_count == NODES_MOST || cluster->is_closing ||
        open_node(cluster, host, port) != LK_OK)
        return NULL;
    return &cluster->nodes[cluster->node_count - 1];
}

/* first, last, [host, port, ...], replicas. An unknown host is the teacher's. */
static void learn_range(struct cluster *cluster, const redisReply *range) {
    const redisReply *master = range->elements > 2 ? range->element[2] : NULL;
    const char *host;
    struct node *node;

    if (master == NULL || master->type != REDIS_REPLY_ARRAY || master->elements < 2 ||
        range->element[0]->type != REDIS_REPLY_INTEGER ||
        range->element[1]->type != REDIS_REPLY_INTEGER ||
        master->element[1]->type != REDIS_REPLY_INTEGER)
        return;
    host = master->element[0]->type == REDIS_REPLY_STRING ? master->element[0]->str : "";
    if (!host[0] || strlen(host) >= CLUSTER_HOST_SIZE || strcmp(host, "?") == 0)
        host = cluster->teacher->host;
    node = find_node(cluster, host, (int)master->element[1]->integer);
    for (long long i = range->element[0]->integer; i <= range->element[1]->integer; i++)
        if (i >= 0 && i < CLUSTER_SLOTS)
            cluster->slots[i] = node;
}

static void on_learned(struct redis_call *call, const redisReply *reply) {
    struct cluster *cluster = call->data;

    cluster->is_learning = false;
    for (size_t i = 0; reply != NULL && reply->type == REDIS_REPLY_ARRAY && i < reply->elements;
         i++)
        if (reply->element[i]->type == REDIS_REPLY_ARRAY)
            learn_range(cluster, reply->element[i]);
}

/* Ask any node except the doubted one. */
static void learn(struct cluster *cluster, const struct node *doubted) {
    if (cluster->is_learning || cluster->is_closing)
        return;
    cluster->teacher = any_node(cluster);
    if (cluster->teacher == doubted)
        cluster->teacher = any_node(cluster);
    cluster->is_learning = true;
    cluster->learning = (struct redis_call){.argc = 2,
                                            .argv = {"CLUSTER", "SLOTS"},
                                            .deadline_ms = clock_now_ms() + LEARN_MS,
                                            .data = cluster};
    redis_call_start(cluster->teacher->server->link.redis, &cluster->learning, on_learned);
}

/* ---- Commands */

static void redis_cluster_on_answer(struct lk_command *inner);

static void route(struct routed *routed, struct node *node, bool is_ask) {
    const struct lk_command *command = routed->command;
    const int64_t left_ms = routed->deadline_ms - clock_now_ms();

    assert(!routed->cluster->is_closing && !node->server->is_asking);
    routed->node = node;
    routed->inner = *command;
    routed->inner.reply_ms = left_ms > 0 ? (uint32_t)left_ms : 0;
    routed->inner.on_answer = redis_cluster_on_answer;
    routed->inner.data = routed;
    routed->inner.internal = &routed->sent;
    node->server->is_asking = is_ask;
    backend_redis.run(&node->server->base, &routed->inner);
    node->server->is_asking = false;
}

/* The node to ask next, or NULL. */
static struct node *redirect(struct routed *routed, bool *is_ask) {
    struct cluster *cluster = routed->cluster;
    struct cluster_redirection redirection;
    struct node *node;

    if (routed->inner.status != LK_REFUSED || routed->inner.why == NULL ||
        !cluster_redirection_parse(&redirection, routed->inner.why))
        return NULL;
    node = find_node(cluster, redirection.host[0] ? redirection.host : routed->node->host,
                     redirection.port);
    *is_ask = redirection.is_ask;
    if (!redirection.is_ask) {
        assert(redirection.slot >= 0 && redirection.slot < CLUSTER_SLOTS);
        cluster->slots[redirection.slot] = node;
        learn(cluster, NULL);
    }
    return routed->redirections++ < REDIRECTIONS_MOST ? node : NULL;
}

/* The command had no effect, and may be possible soon. */
static bool is_for_now(const char *why) {
    return strncmp(why, "TRYAGAIN", 8) == 0 || strncmp(why, "CLUSTERDOWN", 11) == 0 ||
           strncmp(why, "MOVED ", 6) == 0 || strncmp(why, "ASK ", 4) == 0;
}

static void redis_cluster_on_answer(struct lk_command *inner) {
    struct routed *routed = inner->data;
    struct lk_command *command = routed->command;
    bool is_ask = false;
    struct node *node = redirect(routed, &is_ask);
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
        learn(routed->cluster, routed->node);
    if (inner->status == LK_REFUSED && inner->why != NULL && is_for_now(inner->why))
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
    struct node *node;

    assert(strlen(command->name) <= NAME_MAX_BYTES);
    routed->cluster = cluster;
    routed->command = command;
    routed->deadline_ms = clock_now_ms() + command->reply_ms;
    if (slot < 0) {
        /* A call without arguments ends by itself, in the next turn of the loop. */
        routed->refusal = (struct redis_call){.data = routed};
        redis_call_start(cluster->nodes[0].server->link.redis, &routed->refusal,
                         redis_cluster_on_refused);
        return;
    }
    node = cluster->slots[slot];
    route(routed, node != NULL ? node : any_node(cluster), false);
}

/* ---- Opening and closing */

static void redis_cluster_destroy(struct cluster *cluster) {
    assert(cluster->open == 0);
    free(cluster->user);
    free(cluster->parameters);
    backend_end(&cluster->base);
}

static void part_closed(void *data) {
    struct cluster *cluster = data;

    assert(cluster->is_closing && cluster->open > 0);
    if (--cluster->open == 0)
        redis_cluster_destroy(cluster);
}

static void close_nodes(struct cluster *cluster) {
    assert(!cluster->is_closing && cluster->node_count > 0); /* the last of them frees it */
    cluster->is_closing = true;
    cluster->open = cluster->node_count;
    for (unsigned i = cluster->node_count; i-- > 0;)
        backend_redis.close(&cluster->nodes[i].server->base, part_closed, cluster);
}

static void close_cluster(struct lk_backend *backend, lk_close_cb cb, void *data) {
    struct cluster *cluster = (struct cluster *)backend;

    backend->on_closed = cb;
    backend->data = data;
    close_nodes(cluster);
}

static enum lk_status open_seeds(struct cluster *cluster, const char *at, const char *end) {
    const char *comma;
    enum lk_status status;

    do {
        struct server_name seed;

        comma = memchr(at, ',', (size_t)(end - at));
        if (cluster->node_count == NODES_MOST ||
            server_names_parse(&seed, 1, at, comma != NULL ? comma : end, DEFAULT_PORT) == 0)
            return LK_INVALID;
        status = open_node(cluster, seed.host, seed.port);
        at = comma != NULL ? comma + 1 : end;
    } while (status == LK_OK && comma != NULL);
    return status;
}

static enum lk_status parse_and_open(struct cluster *cluster, const char *url) {
    const char *at = url + strlen(backend_redis_cluster.scheme), *end = at + strcspn(at, "?");
    const char *sign = memrchr(at, '@', (size_t)(end - at));
    const char *seeds = sign != NULL ? sign + 1 : at;

    cluster->user = strndup(at, (size_t)(seeds - at));
    cluster->parameters = strdup(end);
    if (cluster->user == NULL || cluster->parameters == NULL)
        return LK_NOMEM;
    return open_seeds(cluster, seeds, end);
}

static enum lk_status open_cluster(struct lk_backend **backend,
                                   const struct lk_backend_config *config) {
    struct cluster *cluster = calloc(1, sizeof *cluster);
    enum lk_status status;

    if (cluster == NULL)
        return LK_NOMEM;
    cluster->base.ops = &backend_redis_cluster;
    cluster->base.acquires_most = cluster->base.acquires_least = ACQUIRES_MOST;
    cluster->config = *config;
    status = parse_and_open(cluster, config->url);
    cluster->config.url = NULL;
    if (status == LK_OK) {
        learn(cluster, NULL);
        *backend = &cluster->base;
    } else if (cluster->node_count > 0) {
        close_nodes(cluster); /* the open nodes close in the next turns of the loop */
    } else {
        redis_cluster_destroy(cluster);
    }
    return status;
}

const struct lk_backend_ops backend_redis_cluster = {
    .scheme = "redis+cluster://",
    .caps = LK_CAP_TTL | LK_CAP_FAIR | LK_CAP_EVENTS | LK_CAP_FENCE_BEST | LK_CAP_CROSS_PROCESS |
            LK_CAP_SHARED | LK_CAP_PERMITS | LK_CAP_BREAK | LK_CAP_WAITERS | LK_CAP_HANDOVER,
    .command_size = sizeof(struct routed),
    .open = open_cluster,
    .close = close_cluster,
    .run = redis_cluster_run,
};
