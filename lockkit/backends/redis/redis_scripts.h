/* The four commands as Lua scripts, each atomic on the server. */
#ifndef LOCKKIT_REDIS_SCRIPTS_H
#define LOCKKIT_REDIS_SCRIPTS_H

#include "backend.h"

/* All take the same arguments, used or not:
 *   KEYS  1 lock, 2 fence counter
 *   ARGV  1 owner token, 2 TTL in ms, 3 label, 4 channel, 5 the highest fencing token seen
 * and answer {1, ...} for OK, {0, ...} for BUSY or LOST. The lock's value is `owner:fence:label`;
 * the counter has no TTL, so that it outlives the lock. */
extern const struct redis_script {
    const char *text;
    const char *sha1; /* of the text, for EVALSHA; the tests hold it against the server's */
} redis_scripts[];    /* by enum lk_verb */

#endif
