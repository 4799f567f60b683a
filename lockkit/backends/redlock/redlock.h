/* Locks on a majority of independent Redis servers, after the Redlock algorithm.
 *
 *     redlock:redis://a:6379,redis://b:6379,redis://c:6379[?longest=30000&quarantine=30000&cutoff=50]
 *
 * A comma or question mark in a password must be percent-encoded. The options, in milliseconds:
 *   longest     the longest TTL that anybody uses on these nodes; a longer one is refused [30,000]
 *   quarantine  how long a node has no vote after its start [longest]. 0 when nodes are known to
 *               forget nothing (appendfsync always), or to have been started for the first time
 *   cutoff      how long a node may take to answer an ACQUIRE [a twentieth of the TTL, 10..50] */
#ifndef LOCKKIT_REDLOCK_H
#define LOCKKIT_REDLOCK_H

#include "backend.h"

extern const struct lk_backend_ops backend_redlock;

#endif
