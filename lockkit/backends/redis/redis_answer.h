/* What the scripts answer, brought to a command. */
#ifndef LOCKKIT_REDIS_ANSWER_H
#define LOCKKIT_REDIS_ANSWER_H

#include "redis_handover.h"

/* Fill in the outcome of what was sent at `sent_ms`, by redis_handovers_now_ms(). `index` is the
 * command's among those of a batch of renewals. The waiter of this client to which the lock was
 * handed over is woken. `*found` is what INSPECT allocated, for free(); the rest of its strings
 * live as long as `reply`. */
void redis_answer_take(struct redis_handovers *handovers, struct lk_command *command,
                       int64_t sent_ms, const redisReply *reply, size_t index,
                       struct lk_holder **found);

#endif
