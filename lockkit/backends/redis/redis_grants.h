/* Hand-overs that this client has been told of: they answer the ACQUIRE of their owner, without a
 * round trip.
 *
 * A message may have been under way for any time, so its arrival does not say when the TTL began;
 * the server's clock does. An answer that says what that clock showed was asked for at a known
 * moment of ours, and cannot have been given before: counted from there, the TTL ends too early
 * rather than too late. Redis's is a wall clock, whose steps forward end its TTLs early anyhow: one
 * between that answer and a hand-over makes a hand-over of the future, which is not believed,
 * unless its message was under way for longer than the step. Whoever is not believed asks the
 * server. */
#ifndef LOCKKIT_REDIS_GRANTS_H
#define LOCKKIT_REDIS_GRANTS_H

#include "backend.h"

#include <sys/queue.h>

struct redis_grant {
    char owner[OWNER_SIZE];
    uint64_t fence;
    uint32_t ttl_ms;
    uint64_t at_ms;   /* by the server's clock */
    int64_t began_ms; /* by ours, or before */
    TAILQ_ENTRY(redis_grant) entry;
};

struct redis_grants {
    TAILQ_HEAD(, redis_grant) list; /* as they came */
    int64_t server_ms, sent_ms;     /* the same moment, or later and earlier; 0: not known */
};

void redis_grants_init(struct redis_grants *grants);

/* By our clock, which goes on while the machine sleeps. */
int64_t redis_grants_now_ms(void);

/* What was sent at `sent_ms` was answered when the server's clock showed `server_ms`. */
void redis_grants_clock(struct redis_grants *grants, int64_t sent_ms, int64_t server_ms);

/* News, with all but `began_ms`. Without memory it is as if it had been lost. */
void redis_grants_put(struct redis_grants *grants, const struct redis_grant *news);

/* The owner asks, or gives up: what there is for it goes. True if it answers `command`: it is what
 * was asked for, with most of the TTL to come. */
bool redis_grants_take(struct redis_grants *grants, struct lk_command *command);

/* The connection was lost, and the next may be to another server. */
void redis_grants_forget(struct redis_grants *grants);

#endif
