/* The nodes of a Redis Cluster, and the slots that each one serves.
 *
 *     redis+cluster://[[user][:password]@]host[:port][,host[:port]...][?parameters]
 *
 * A few nodes are enough: the map learns the others from them. A comma in a password must be
 * percent-encoded.
 *
 * A command goes to the node that is known to serve its slot, or to any node. A node that does not
 * serve the slot answers:
 *
 *     MOVED        another node serves it. Ask that node from now on; the map learns all slots
 *                  again.
 *     ASK          the slot is moving to another node, and this key has arrived. Ask that node this
 *                  once, with ASKING before the command.
 *     TRYAGAIN     some of the command's keys have arrived; others have not, or do not exist. No
 *                  node can run the command before the whole slot has arrived.
 *     CLUSTERDOWN  no node serves some slot, and then the cluster serves none.
 *
 * None of them has an effect. */
#ifndef UVKIT_CLUSTER_MAP_H
#define UVKIT_CLUSTER_MAP_H

#include "cluster_slot.h"
#include "redis.h"

#include <stdbool.h>
#include <stddef.h>

#define CLUSTER_SCHEME            "redis+cluster://"
#define CLUSTER_NODES_MOST        256
#define CLUSTER_REDIRECTIONS_MOST 5

struct cluster_node {
    void *client;        /* of `open`: the owner's client of this node */
    struct redis *redis; /* of `open`: its connection */
    char host[CLUSTER_HOST_SIZE];
    int port;
};

struct cluster_map {
    /* Open the client of a node, by redis:// with the cluster's user, password and parameters. 0, or
     * a negative libuv code. The owner sets it before cluster_map_open(). */
    int (*open)(void *data, const char *url, struct cluster_node *node);
    void *data;

    char *user;       /* from the URL: `user:password@`, or "" */
    char *parameters; /* from the URL: `?...`, or "" */
    struct cluster_node nodes[CLUSTER_NODES_MOST];
    unsigned node_count;
    unsigned next;                             /* the node to ask when the right one is not known */
    struct cluster_node *slots[CLUSTER_SLOTS]; /* NULL: not known */
    struct redis_call learning;
    struct cluster_node *teacher;
    bool is_learning, is_closing;
};

/* Open the nodes of the URL, and begin to learn the others. 0; UV_EINVAL, UV_ENOMEM, or a code of
 * `open`: then the owner closes the nodes that are open, and calls cluster_map_free(). */
__attribute__((warn_unused_result)) int cluster_map_open(struct cluster_map *map, const char *url);
/* From now on it opens and learns nothing. The owner closes the nodes, then calls
 * cluster_map_free(). */
void cluster_map_close(struct cluster_map *map);
void cluster_map_free(struct cluster_map *map);

/* The node to ask about a slot. Never NULL. */
struct cluster_node *cluster_map_node(struct cluster_map *map, int slot);
/* The node that `from` names in its error `text`. NULL: the text is no redirection, or no node can
 * be opened. *is_ask: send ASKING first. */
struct cluster_node *cluster_map_redirect(struct cluster_map *map, const struct cluster_node *from,
                                          const char *text, bool *is_ask);
/* Learn the slots from the teacher's answer to CLUSTER SLOTS. A slot that is not in it is not known
 * any more. False: it is no such answer, or the map is closing. */
bool cluster_map_learn(struct cluster_map *map, struct cluster_node *teacher,
                       const redisReply *reply);
/* This node did not answer: learn the slots from another one. */
void cluster_map_doubt(struct cluster_map *map, const struct cluster_node *node);
/* The error of a command that had no effect, and may be possible soon. */
bool cluster_is_for_now(const char *text);

#endif
