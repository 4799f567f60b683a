/* The answers of the scripts, and hand-overs to this client, which answer the ACQUIRE of their
 * owner without a round trip.
 *
 * The news of one is `owner:fence:ttl:now:name`. It comes with the answer of a script, or from
 * another client by this client's own channel. A message may have been under way for any time, so
 * its arrival does not say when the TTL began. The server's clock does: an answer that tells it was
 * asked for at a known moment of ours, and was given no earlier. Counted from that moment, the TTL
 * ends too early rather than too late.
 *
 * The server's is a wall clock, and a step forward ends its TTLs early anyhow. A step between that
 * answer and a hand-over makes a hand-over of the future. It is not believed, unless its message
 * was under way for longer than the step. An owner whose hand-over is not believed asks the server.
 */
#ifndef LOCKKIT_REDIS_ANSWER_H
#define LOCKKIT_REDIS_ANSWER_H

#include "backend.h"
#include "redis.h"

#include <sys/queue.h>

#define CLIENT_SIZE 33 /* 32 hex digits */

struct redis_handovers {
    const struct lk_backend_config *config; /* is told of each: LK_PUSH_FREE */
    struct redis *redis;                    /* set by the owner before the first command */
    char client[CLIENT_SIZE];
    char channel[sizeof "lk:client:" + CLIENT_SIZE];
    struct redis_subscription subscription; /* from the first wait on */
    bool is_subscribed;
    bool is_asked_too;                 /* no hand-over is a grant: the owner asks the server */
    TAILQ_HEAD(, redis_handover) list; /* as they came */
    int64_t server_ms, sent_ms;        /* the same moment, or later and earlier; 0: not known */
};

/* False when the system gives no random numbers for the name of the client. */
bool redis_handovers_init(struct redis_handovers *handovers,
                          const struct lk_backend_config *config);
/* Before its `redis` is closed. */
void redis_handovers_close(struct redis_handovers *handovers);

/* By our clock, which goes on while the machine sleeps. */
int64_t redis_handovers_now_ms(void);

/* The owner asks, or gives up: its hand-over goes. True if that answers `command`: it is what the
 * owner asks for, with most of the TTL to come. */
bool redis_handovers_take(struct redis_handovers *handovers, struct lk_command *command);

/* The connection was lost, and the next may be to another server. */
void redis_handovers_forget(struct redis_handovers *handovers);

/* Fill in the outcome of what was sent at `sent_ms`, by redis_handovers_now_ms(). `index` is the
 * command's among those of a batch of renewals. The waiter of this client to which the lock was
 * handed over is woken. `*found` is what INSPECT allocated, for free(); the rest of its strings
 * live as long as `reply`. */
void redis_answer_take(struct redis_handovers *handovers, struct lk_command *command,
                       int64_t sent_ms, const redisReply *reply, size_t index,
                       struct lk_holder **found);

#endif
