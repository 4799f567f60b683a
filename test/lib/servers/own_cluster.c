/* Starts three servers and makes them a cluster. */
#include "own_cluster.h"

#include "own_folder.h"
#include "own_port.h"
#include "own_process.h"
#include "test.h"

#include <stdbool.h>
#include <unistd.h>

#define SLOTS       16384
#define PATIENCE_MS 20000

void own_cluster_restart(struct own_cluster *cluster, int index) {
    struct own_redis *node = &cluster->nodes[index];
    char port[12], bus[12], file[32];

    (void)snprintf(port, sizeof port, "%d", node->port);
    (void)snprintf(bus, sizeof bus, "%d", cluster->buses[index]);
    (void)snprintf(file, sizeof file, "nodes-%d.conf", node->port);
    node->pid = own_process_start(
        NULL, NULL, SIGKILL, "redis-server", "--port", port, "--bind", "127.0.0.1", "--save", "",
        "--dir", cluster->folder, "--cluster-enabled", "yes", "--cluster-port", bus,
        "--cluster-config-file", file, "--cluster-node-timeout", "2000", (char *)NULL);
    own_redis_connect(node);
}

static void start_node(struct own_cluster *cluster, int index) {
    struct own_redis *node = &cluster->nodes[index];
    redisReply *reply;

    cluster->buses[index] = own_port();
    node->port = own_port();
    (void)snprintf(node->url, sizeof node->url, "redis://127.0.0.1:%d", node->port);
    own_cluster_restart(cluster, index);
    reply = redisCommand(node->admin, "CLUSTER MYID");
    (void)snprintf(cluster->ids[index], sizeof cluster->ids[index], "%s", reply->str);
    freeReplyObject(reply);
    (void)own_redis_do(node, "CLUSTER ADDSLOTSRANGE %d %d", index * SLOTS / CLUSTER_NODES,
                       (index + 1) * SLOTS / CLUSTER_NODES - 1);
}

static bool is_whole(struct own_redis *node) {
    redisReply *reply = redisCommand(node->admin, "CLUSTER INFO");
    bool answer = strstr(reply->str, "cluster_state:ok") != NULL &&
                  strstr(reply->str, "cluster_size:3") != NULL;

    freeReplyObject(reply);
    return answer;
}

void own_cluster_start(struct own_cluster *cluster) {
    own_folder_make(cluster->folder, sizeof cluster->folder, "own-cluster");
    for (int i = 0; i < CLUSTER_NODES; i++)
        start_node(cluster, i);
    for (int i = 1; i < CLUSTER_NODES; i++)
        (void)own_redis_do(&cluster->nodes[0], "CLUSTER MEET 127.0.0.1 %d %d",
                           cluster->nodes[i].port, cluster->buses[i]);
    for (int i = 0; i < CLUSTER_NODES; i++)
        for (int waited_ms = 0; !is_whole(&cluster->nodes[i]); waited_ms += 10) {
            if (waited_ms >= PATIENCE_MS)
                fail_msg("the cluster did not become whole");
            (void)usleep(10000);
        }
}

void own_cluster_stop(struct own_cluster *cluster) {
    for (int i = 0; i < CLUSTER_NODES; i++)
        own_redis_stop(&cluster->nodes[i]);
    own_folder_remove(cluster->folder);
}

void own_cluster_begin_moving(struct own_cluster *cluster, int slot, int from, int to) {
    (void)own_redis_do(&cluster->nodes[to], "CLUSTER SETSLOT %d IMPORTING %s", slot,
                       cluster->ids[from]);
    (void)own_redis_do(&cluster->nodes[from], "CLUSTER SETSLOT %d MIGRATING %s", slot,
                       cluster->ids[to]);
}

void own_cluster_move_keys(struct own_cluster *cluster, int slot, int from, int to) {
    redisReply *keys =
        redisCommand(cluster->nodes[from].admin, "CLUSTER GETKEYSINSLOT %d 100", slot);

    for (size_t i = 0; i < keys->elements; i++)
        (void)own_redis_do(&cluster->nodes[from], "MIGRATE 127.0.0.1 %d %s 0 5000",
                           cluster->nodes[to].port, keys->element[i]->str);
    freeReplyObject(keys);
}

void own_cluster_end_moving(struct own_cluster *cluster, int slot, int to) {
    (void)own_redis_do(&cluster->nodes[to], "CLUSTER SETSLOT %d NODE %s", slot, cluster->ids[to]);
    for (int i = 0; i < CLUSTER_NODES; i++)
        if (i != to)
            (void)own_redis_do(&cluster->nodes[i], "CLUSTER SETSLOT %d NODE %s", slot,
                               cluster->ids[to]);
}
