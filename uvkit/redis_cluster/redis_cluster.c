/* Happy path: the node of the slot answers.
 *
 *     MOVED, ASK     the command goes to the named node, up to 5 times
 *     no answer      the command ends; the slots are learned again, from another node
 *     NOSCRIPT       the node's client sends the script's text. A node that was asked with ASKING
 *                    then answers MOVED, and the way begins again, with the text
 *
 * WAIT goes directly behind the command, on the same connection. Behind a script that is sent again
 * with its text, it was answered before: then nothing is confirmed. */
#include "redis_cluster.h"

#include "cluster_check.h"
#include "cluster_map.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WAIT_MS "100" /* for replicas to confirm a command */

struct redis_cluster {
    struct cluster_map map;
    uv_loop_t *loop;
    char *name;
    unsigned open; /* nodes that have not closed yet */
    redis_close_cb on_closed;
    void *data;
};

static int redis_cluster_open_node(void *data, const char *url, struct cluster_node *node) {
    const struct redis_cluster *cluster = data;
    const struct redis_options options = {.url = url, .name = cluster->name};

    return redis_open(&node->redis, cluster->loop, &options);
}

static void redis_cluster_free(struct redis_cluster *cluster) {
    assert(cluster->open == 0);
    cluster_map_free(&cluster->map);
    free(cluster->name);
    free(cluster);
}

static void redis_cluster_on_node_closed(void *data) {
    struct redis_cluster *cluster = data;
    redis_close_cb on_closed = cluster->on_closed;
    void *theirs = cluster->data;

    assert(cluster->open > 0);
    if (--cluster->open > 0)
        return;
    redis_cluster_free(cluster);
    if (on_closed != NULL)
        on_closed(theirs);
}

void redis_cluster_close(struct redis_cluster *cluster, redis_close_cb cb, void *data) {
    assert(!cluster->map.is_closing && cluster->map.node_count > 0);
    cluster->on_closed = cb;
    cluster->data = data;
    cluster_map_close(&cluster->map);
    cluster->open = cluster->map.node_count;
    for (unsigned i = cluster->map.node_count; i-- > 0;)
        redis_close(cluster->map.nodes[i].redis, redis_cluster_on_node_closed, cluster);
}

int redis_cluster_open(struct redis_cluster **cluster_out, uv_loop_t *loop, const char *url,
                       const char *name) {
    struct redis_cluster *cluster = calloc(1, sizeof *cluster);
    int err = UV_ENOMEM;

    *cluster_out = NULL;
    if (cluster == NULL)
        return err;
    cluster->map.open = redis_cluster_open_node;
    cluster->map.data = cluster;
    cluster->loop = loop;
    cluster->name = strdup(name);
    if (cluster->name != NULL)
        err = strncmp(url, CLUSTER_SCHEME, strlen(CLUSTER_SCHEME)) == 0
                  ? cluster_map_open(&cluster->map, url)
                  : UV_EINVAL;
    if (err == 0)
        *cluster_out = cluster;
    else if (cluster->map.node_count > 0)
        redis_cluster_close(cluster, NULL,
                            NULL); /* the nodes close in the next turns of the loop */
    else
        redis_cluster_free(cluster);
    return err;
}

/* ---- Commands */

static void redis_routed_on_end(struct redis_routed *routed);

static void redis_routed_on_asked(struct redis_call *call, const redisReply *reply) {
    struct redis_routed *routed = call->data;

    (void)reply; /* the command behind it has an answer of its own */
    redis_routed_on_end(routed);
}

static void redis_routed_on_waited(struct redis_call *call, const redisReply *reply) {
    struct redis_routed *routed = call->data;

    routed->is_confirmed = reply != NULL && reply->type == REDIS_REPLY_INTEGER &&
                           reply->integer >= (long long)routed->replicas &&
                           routed->call.status == REDIS_IS_OK &&
                           routed->call.is_whole == routed->internal.was_whole;
    redis_routed_on_end(routed);
}

static void redis_routed_on_answer(struct redis_call *call, const redisReply *reply) {
    struct redis_routed *routed = (struct redis_routed *)(void *)call;

    if (reply != NULL && routed->on_reply != NULL)
        routed->on_reply(routed, reply);
    redis_routed_on_end(routed);
}

static void redis_routed_send(struct redis_routed *routed, struct cluster_node *node, bool is_ask) {
    static const char *const wait_ms = WAIT_MS;
    const int64_t deadline_ms = routed->call.deadline_ms;
    char replicas[12];

    routed->internal.node = node;
    routed->internal.was_whole = routed->call.is_whole;
    routed->internal.running = 1U + is_ask + (routed->replicas > 0);
    routed->internal.asking = (struct redis_call){
        .argc = 1, .argv = {"ASKING"}, .deadline_ms = deadline_ms, .data = routed};
    (void)snprintf(replicas, sizeof replicas, "%u", routed->replicas);
    routed->internal.wait = (struct redis_call){
        .argc = 3, .argv = {"WAIT", replicas, wait_ms}, .deadline_ms = deadline_ms, .data = routed};
    if (is_ask)
        redis_call_start(node->redis, &routed->internal.asking, redis_routed_on_asked);
    redis_call_start(node->redis, &routed->call, redis_routed_on_answer);
    if (routed->replicas > 0)
        redis_call_start(node->redis, &routed->internal.wait, redis_routed_on_waited);
}

/* All calls of a try have ended. */
static void redis_routed_over(struct redis_routed *routed) {
    struct cluster_map *map = &routed->internal.cluster->map;
    struct redis_call *call = &routed->call;
    struct cluster_node *node = NULL;
    bool is_ask = false;

    if (call->status == REDIS_IS_REJECTED && !map->is_closing)
        node = cluster_map_redirect(map, routed->internal.node, call->message, &is_ask);
    if (node != NULL && routed->internal.redirections++ < CLUSTER_REDIRECTIONS_MOST) {
        redis_routed_send(routed, node, is_ask);
        return;
    }
    if (call->status == REDIS_IS_REJECTED && cluster_is_for_now(call->message))
        call->status = REDIS_IS_NOT_SENT;
    else if (call->status == REDIS_IS_NOT_SENT || call->status == REDIS_IS_UNKNOWN)
        cluster_map_doubt(map, routed->internal.node);
    routed->internal.cb(routed);
}

static void redis_routed_on_end(struct redis_routed *routed) {
    assert(routed->internal.running > 0);
    if (--routed->internal.running == 0)
        redis_routed_over(routed);
}

void redis_cluster_start(struct redis_cluster *cluster, struct redis_routed *routed,
                         redis_routed_cb cb) {
    routed->internal.cluster = cluster;
    routed->internal.cb = cb;
    routed->internal.redirections = 0;
    routed->is_confirmed = false;
    redis_routed_send(routed, cluster_map_node(&cluster->map, routed->slot), false);
}

int redis_cluster_check(struct redis_cluster *cluster, const bool slots[CLUSTER_SLOTS],
                        int64_t deadline_ms, struct why *why) {
    return cluster_check(&cluster->map, slots, deadline_ms, why);
}
