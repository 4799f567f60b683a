/* One script on its way to the server and back, for one command, or for a batch of renewals.
 *
 *     EVALSHA [WAIT] -> answer
 *       |        `-- too few replicas: RELEASE -> "refused"
 *       `-- NOSCRIPT: EVAL [WAIT] -> answer
 *
 * A server that does not know the script has done nothing, so it is sent again in full. Nothing
 * else is ever sent twice here. WAIT goes right behind the script, on the same connection. */
#ifndef LOCKKIT_REDIS_EXCHANGE_H
#define LOCKKIT_REDIS_EXCHANGE_H

#include "redis_server.h"

#define REDIS_BATCH_MOST 100

/* Start. Each of `sent`, which more than one are all of exclusive renewals, is answered exactly
 * once, later. False without memory: then nothing happened. */
__attribute__((warn_unused_result)) bool redis_exchange_start(struct redis_server *server,
                                                              struct redis_sent *const *sent,
                                                              size_t count);

#endif
