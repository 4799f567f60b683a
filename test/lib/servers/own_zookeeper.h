/* ZooKeeper servers of this test's own: one, or an ensemble of three. */
#ifndef TEST_OWN_ZOOKEEPER_H
#define TEST_OWN_ZOOKEEPER_H

#include <stdbool.h>
#include <sys/types.h>

#define OWN_ZOOKEEPER_MOST 3

struct own_zookeeper {
    int count;
    char url[160]; /* zookeeper://127.0.0.1:...,... */
    struct own_zookeeper_server {
        pid_t pid; /* 0: not running */
        int port;  /* of 127.0.0.1, for clients */
    } servers[OWN_ZOOKEEPER_MOST];
    char folder[64];
};

/* Start 1 or 3 servers without nodes, and wait until they serve. They allow session timeouts of
 * 200 ms and more. This takes seconds, so a test program does it once. They end with this
 * process at the latest. */
void own_zookeeper_start(struct own_zookeeper *own, int count);
void own_zookeeper_stop(struct own_zookeeper *own);

/* Kill one; start it again with its data on disk. */
void own_zookeeper_kill(struct own_zookeeper *own, int server);
void own_zookeeper_restart(struct own_zookeeper *own, int server);
/* The server that leads the ensemble, or serves alone; -1: none at this moment. */
int own_zookeeper_leader(const struct own_zookeeper *own);
/* Whether all running servers serve at this moment. */
bool own_zookeeper_is_up(const struct own_zookeeper *own);

#endif
