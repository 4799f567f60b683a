/* What is asked of one node, as Lua scripts, each atomic there. */
#ifndef LOCKKIT_REDLOCK_SCRIPTS_H
#define LOCKKIT_REDLOCK_SCRIPTS_H

#include "redis.h"

/* Keys of their own, so that they are in nobody's way on a server which is also used by redis://.
 * What a node holds of a lock, its vote, is `owner:ballot:fence:label`. */
#define REDLOCK_VOTE    "lk:{%s}:vote"
#define REDLOCK_FENCE   "lk:{%s}:vote:fence"
#define REDLOCK_CHANNEL "lk:{%s}:vote:free"

enum redlock_script_id {
    REDLOCK_VOTES,
    REDLOCK_RENEWS,
    REDLOCK_RELEASES,
    REDLOCK_INSPECTS,
    REDLOCK_SCRIPTS
};

/* All take the same arguments, used or not:
 *   KEYS  1 vote, 2 fence counter
 *   ARGV  1 owner token, 2 ballot, 3 TTL in ms, 4 fencing token, 5 "mint" one, or "", 6 label,
 *         7 channel, or ""
 * and answer {1, ...} for yes and {0, ...} for no:
 *   VOTES     {1, fencing token}; {0, the TTL of who is in the way}
 *   RENEWS    {1, fencing token}; {0, 1 when nobody has the vote}
 *   RELEASES  {1}; {0}
 *   INSPECTS  {1, value, TTL}; {0} */
extern const struct redis_script *const redlock_scripts[REDLOCK_SCRIPTS];

#endif
