/* The strategies of this family that differ in their lock alone: each holds it from the read of the
 * stock to the write (lock_then_write()). */
#include "read_then_write.h"
#include "strategy.h"

/* One holder across all instances, as long as no holder is paused between its last look at the
 * lease and its write for longer than the TTL, and Redis does not forget the holder. */
const struct strategy strategy_redis = {
    .name = "redis",
    .family = "Redis",
    .summary = "a lease in Redis: random owner, TTL, renewal, compare-and-delete",
    .promise = "one holder across all instances: no unit sold twice",
    .breaks = "a holder paused past its TTL just before it writes; lost keys "
              "(FLUSHALL, eviction, failover)",
    .source = "How a distributed lock is made, 3.3 and 3.6; lockkit.h",
    .takes = TAKES_HANDOVER,
    .is_right = true,
    .survives = SURVIVES(CRASH) | SURVIVES(LOST_REPLY) | SURVIVES(EXPIRY),
    .default_shards = 1,
    .lock = LOCK_REDIS,
};

/* A sale hands the lease to the next one of its instance without asking Redis, up to handover=
 * times in a row. Then it is the turn of the other instances. */
const struct strategy strategy_redis_cohort = {
    .name = "redis-cohort",
    .family = "Redis",
    .summary = "as redis, and up to handover= times the lease goes on "
               "to the next sale of an instance",
    .promise = "as redis; no instance keeps the lease for more than so many sales of a turn",
    .breaks = "as redis; a lease that Redis has forgotten goes on until it is to be renewed",
    .source = "Dice, Marathe, Shavit: Lock Cohorting, 2012; lockkit.h",
    .takes = TAKES_HANDOVER,
    .is_right = true,
    .survives = SURVIVES(CRASH) | SURVIVES(LOST_REPLY) | SURVIVES(EXPIRY),
    .default_shards = 1,
    .default_handover = 16,
    .lock = LOCK_REDIS,
};

/* Redis keeps one line for all instances: the first to come is the next to hold. Each sale that
 * waits asks for itself; under `redis` one asks for all that wait at its instance. */
const struct strategy strategy_redis_fair = {
    .name = "redis-fair",
    .family = "Redis",
    .summary = "as redis, with one line for all instances: first come, first served",
    .promise = "as redis, and nobody is overtaken who waits, whichever instance he came to",
    .breaks = "as redis; each who waits costs round trips of his own",
    .source = "lockkit.h, is_fair",
    .is_right = true,
    .survives = SURVIVES(CRASH) | SURVIVES(LOST_REPLY) | SURVIVES(EXPIRY),
    .default_shards = 1,
    .lock = LOCK_REDIS_FAIR,
};

/* The lease counts only once so many replicas have confirmed it. A replica that has it may be
 * promoted; but nobody can tell Redis to promote that one. */
const struct strategy strategy_redis_wait = {
    .name = "redis-wait",
    .family = "Redis",
    .summary = "as redis, and the lease counts once WAIT says that replicas= have it",
    .promise = "as redis, also when a replica is promoted that has the lease",
    .breaks = "as redis; the promotion of a replica that does not have the lease; no replica: "
              "nothing is sold",
    .source = "Redis, WAIT: no strongly consistent store",
    .takes = TAKES_FENCE | TAKES_REPLICAS,
    .is_right = true,
    .survives = SURVIVES(CRASH) | SURVIVES(LOST_REPLY) | SURVIVES(EXPIRY),
    .default_shards = 1,
    .lock = LOCK_REDIS_WAIT,
};

/* `rwlock` across all instances: sales that look share a lease in Redis, and a sale that writes has
 * it alone. */
static enum outcome sell_by_rw(struct sale *sale) {
    return look_then_write(sale, LOCK_REDIS_RW);
}

const struct strategy strategy_rw = {
    .name = "rw",
    .family = "Redis",
    .summary = "a lease in Redis: shared to see whether any is left, alone to sell",
    .promise = "as redis; those who only look do so side by side",
    .breaks = "as redis; while there is stock each sale takes two leases",
    .source = "Locks in practice, 2; lockkit.h",
    .is_right = true,
    .survives = SURVIVES(CRASH) | SURVIVES(LOST_REPLY) | SURVIVES(EXPIRY),
    .default_shards = 1,
    .sell = sell_by_rw,
};

/* A lease at a majority of several Redis outlives the loss of a minority. It is a lease all the
 * same, and ends in a pause. */
const struct strategy strategy_redlock = {
    .name = "redlock",
    .family = "Redis",
    .summary = "a lease at a majority of five Redis that know nothing of each other",
    .promise = "as redis, also when two of the five are lost",
    .breaks =
        "a holder paused past its TTL just before it writes; a clock that jumps at a majority",
    .source = "Redis, Distributed Locks; Kleppmann, 2016",
    .needs = NEEDS_REDLOCK,
    .takes = TAKES_FENCE,
    .is_right = true,
    .survives = SURVIVES(CRASH) | SURVIVES(LOST_REPLY) | SURVIVES(EXPIRY) | SURVIVES(FAILOVER),
    .default_shards = 1,
    .lock = LOCK_REDLOCK,
};
