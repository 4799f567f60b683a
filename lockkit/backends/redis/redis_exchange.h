/* One script on its way to the server and back, for one command, or for a batch of renewals.
 *
 *     [ASKING] script [WAIT] -> answer
 *                         `-- too few replicas: RELEASE -> "refused"
 *
 * WAIT goes right behind the script, on the same connection. It goes again when the script had to:
 * its first answer came before the script had run. ASKING is for one command only, so the script
 * behind it takes its text along. */
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
