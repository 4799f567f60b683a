/* The answers of the scripts, and hand-overs to this client, which answer an ACQUIRE without a
 * round trip.
 *
 * The news of a hand-over is `owner:fence:ttl:now:name`. It comes with the answer of a script, or
 * from another client by this client's own channel. A message may be under way for any time, so its
 * arrival does not say when the TTL began. The server's clock does: an answer that tells that clock
 * was asked for at a known moment of this client, and was given no earlier. Counted from that
 * moment, the TTL ends too early rather than too late.
 *
 * The server's clock is a wall clock, and a step forward ends its TTLs early anyhow. A step between
 * that answer and a hand-over puts the hand-over into the future. The client does not believe it,
 * unless its message was under way for longer than the step. If it does not believe a hand-over, it
 * asks the server. */
#ifndef LOCKKIT_REDIS_ANSWER_H
#define LOCKKIT_REDIS_ANSWER_H

#include "backend.h"
#include "redis.h"

#include <sys/queue.h>

#define CLIENT_SIZE 33 /* 32 hex digits */

struct redis_handovers {
    const struct lk_backend_config *config; /* its push() hears LK_PUSH_FREE for each */
    struct redis *redis;                    /* the backend sets it before the first command */
    char client[CLIENT_SIZE];
    char channel[sizeof "lk:client:" + CLIENT_SIZE];
    struct redis_subscription subscription; /* from the first wait on */
    bool is_subscribed;
    bool is_asked_too; /* a hand-over is no grant here: the owner asks the server, too */
    TAILQ_HEAD(, redis_handover) list; /* in the order of arrival */
    /* one moment by both clocks, or the client's earlier; 0: not known */
    int64_t server_ms, sent_ms;
};

/* False: the system gives no random numbers for the client's name. */
bool redis_handovers_init(struct redis_handovers *handovers,
                          const struct lk_backend_config *config);
/* Call it before `redis` is closed. */
void redis_handovers_close(struct redis_handovers *handovers);

/* By the client's clock, which goes on while the machine sleeps. */
int64_t redis_handovers_now_ms(void);

/* The owner asks, or gives up: drop its hand-over. True if the hand-over answers `command`: it is
 * the lock that the owner asks for, and most of the TTL is left. */
bool redis_handovers_take(struct redis_handovers *handovers, struct lk_command *command);

/* The connection was lost, and the next may lead to another server. */
void redis_handovers_forget(struct redis_handovers *handovers);

/* Fill in the outcome of a call that was sent at `sent_ms`, by redis_handovers_now_ms(). `index` is
 * the place of the command in a batch of renewals. It wakes the waiters of this client to which the
 * lock was handed over. `*found` is the memory of INSPECT, for free(); its strings live as long as
 * `reply`. */
void redis_answer_take(struct redis_handovers *handovers, struct lk_command *command,
                       int64_t sent_ms, const redisReply *reply, size_t index,
                       struct lk_holder **found);

#endif
