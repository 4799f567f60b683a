/* Slots of a Redis Cluster, and its nodes' words about them. */
#ifndef UVKIT_CLUSTER_SLOT_H
#define UVKIT_CLUSTER_SLOT_H

#include <stdbool.h>

#define CLUSTER_SLOTS     16384
#define CLUSTER_HOST_SIZE 256

/* The slot of the keys of a lock, `lk:{name}` and keys that begin with it; -1: they are in several.
 */
int cluster_slot(const char *name);

/* `MOVED slot host:port`, or ASK with the same. */
struct cluster_redirection {
    bool is_ask;
    int slot;
    char host[CLUSTER_HOST_SIZE]; /* "": the host of the node that said it */
    int port;
};
/* False when `text` is no redirection. */
bool cluster_redirection_parse(struct cluster_redirection *redirection, const char *text);

#endif
