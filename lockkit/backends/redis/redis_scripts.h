/* The commands as Lua scripts, each atomic on the server. */
#ifndef LOCKKIT_REDIS_SCRIPTS_H
#define LOCKKIT_REDIS_SCRIPTS_H

#include "redis.h"

/* Of a lock `x`, what starts with `lk:{x}`:
 *   ""      string `owner:fence:label`, with a TTL: who has it alone
 *   :fence  string, the last fencing token given away; without a TTL, so that it outlives the lock
 *   :queue  sorted set of owners by arrival: who waits
 *   :shared sorted set of owners by the end of their TTL (ms of the server's clock): who shares it
 *   :info   hash by owner: of one who waits `alive:bound:ttl:permits:limit:above+more:client:label`
 *           (alive: until when it counts as waiting), of one who shares `fence:permits:label`; and
 *           the permits taken, under `used`
 *
 * All but the counter expire by themselves. Permits are 0 for LK_EXCLUSIVE.
 *
 * Whoever makes room hands over: the first in line that is alive is granted the lock at once, and
 * told by a message to its client's channel `lk:client:<client>`, `owner:fence:ttl:now:name`. A
 * client that gets it in time holds the lock, and has nothing to ask. If nobody listens on the
 * channel, the grant is for a bound of time, its patience, or its TTL when that is less, as the
 * message says; ACQUIRE makes that the whole TTL. One that does not come is passed over, by the
 * next who asks.
 * Nobody overtakes: neither a newcomer one who waits, nor one who would fit the first in line that
 * does not. */
enum redis_script_id {
    /* KEYS lock, fence, queue, shared, info
     * ARGV owner, client, TTL in ms, highest fencing token seen, patience in ms or 0, label,
     *      how many tokens more; and with LK_SHARED permits, limit
     * {1, fence, news}, or {0, remaining ms or -1, 1 when it stands in line, now, news}; now: the
     * server's clock in ms; news: the messages to the same client, which does not get them on its
     * channel; both may be left out */
    REDIS_ACQUIRE,
    /* KEYS locks
     * ARGV of each lock the owner and the TTL in ms
     * of each lock 1 or 0 */
    REDIS_RENEW,
    /* KEYS as REDIS_ACQUIRE
     * ARGV owner, client, TTL in ms
     * {1} or {0} */
    REDIS_RENEW_SHARED,
    /* KEYS as REDIS_ACQUIRE
     * ARGV owner, client
     * {1, news} or {0, news}, as REDIS_ACQUIRE */
    REDIS_RELEASE,
    /* KEYS as REDIS_ACQUIRE
     * two lists, holders and waiters, of each: owner, ms left, fence, permits, label */
    REDIS_INSPECT,
    /* KEYS as REDIS_ACQUIRE
     * ARGV owner, or "" for all; client
     * {1, news} or {0, news}, as REDIS_ACQUIRE */
    REDIS_BREAK,
    REDIS_SCRIPTS
};

extern const struct redis_script *const redis_scripts[REDIS_SCRIPTS];

#endif
