/* Slots of a Redis Cluster, and what its nodes say of them. */
#ifndef LOCKKIT_CLUSTER_SLOT_H
#define LOCKKIT_CLUSTER_SLOT_H

#include <stdbool.h>

#define CLUSTER_SLOTS     16384
#define CLUSTER_HOST_SIZE 256

/* Of the keys of a lock, `lk:{name}` and those that begin so; -1 when they are not in one slot. */
int cluster_slot(const char *name);

/* `MOVED slot host:port`, or ASK. */
struct cluster_redirection {
    bool is_ask;
    int slot;
    char host[CLUSTER_HOST_SIZE]; /* "": that of the node which said it */
    int port;
};
/* False when `text` is none. */
bool cluster_redirection_parse(struct cluster_redirection *redirection, const char *text);

#endif
