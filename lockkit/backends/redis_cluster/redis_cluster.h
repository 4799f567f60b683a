/* Locks in a Redis Cluster: those of redis://, each on the node that serves its slot.
 *
 *     redis+cluster://[[user][:password]@]host[:port][,host[:port]...][?wait=k]
 *
 * Some nodes are enough: the others are learned from them. A comma in a password must be
 * percent-encoded. */
#ifndef LOCKKIT_REDIS_CLUSTER_H
#define LOCKKIT_REDIS_CLUSTER_H

#include "backend.h"

extern const struct lk_backend_ops backend_redis_cluster;

#endif
