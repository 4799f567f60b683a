/* A Redis Cluster of this test's own: three masters without replicas. */
#ifndef TEST_OWN_CLUSTER_H
#define TEST_OWN_CLUSTER_H

#include "own_redis.h"

#define CLUSTER_NODES 3

struct own_cluster {
    struct own_redis nodes[CLUSTER_NODES]; /* each has a third of the slots, in order */
    char ids[CLUSTER_NODES][41];
    int buses[CLUSTER_NODES];
    char folder[64];
};

/* Start it, and wait until each node says that the cluster is complete. */
void own_cluster_start(struct own_cluster *cluster);
void own_cluster_stop(struct own_cluster *cluster);

/* After own_redis_kill(): the node has lost its keys, but is still in the cluster. */
void own_cluster_restart(struct own_cluster *cluster, int node);

/* Node `from` hands the slot to node `to`: begin; move the keys one by one, while both nodes
 * answer; then end, which tells all nodes the new owner. */
void own_cluster_begin_moving(struct own_cluster *cluster, int slot, int from, int to);
void own_cluster_move_keys(struct own_cluster *cluster, int slot, int from, int to);
void own_cluster_end_moving(struct own_cluster *cluster, int slot, int to);

#endif
