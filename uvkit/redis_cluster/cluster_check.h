/* Does a Redis Cluster serve these slots now? Asks a node for the master of each slot, then all
 * those masters at once for the state that they see. */
#ifndef UVKIT_CLUSTER_CHECK_H
#define UVKIT_CLUSTER_CHECK_H

#include "cluster_map.h"
#include "why.h"

/* In a fiber. `slots` must live until this returns. 0; or -1 by `deadline_ms` (clock_now_ms()), and
 * `why` names a slot, its master, and a mend:
 *
 *     no node tells the slots      none can be reached, or the time is over
 *     a slot has no master         no node claims it
 *     a master does not answer     it is dead or cut off, and no replica has taken over
 *     a master refuses commands    it sees too few masters, or a slot that none serves */
__attribute__((warn_unused_result)) int cluster_check(struct cluster_map *map,
                                                      const bool slots[CLUSTER_SLOTS],
                                                      int64_t deadline_ms, struct why *why);

#endif
