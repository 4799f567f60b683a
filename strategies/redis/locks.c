/* The strategies of this family that differ only in their lock. Each holds it from the read of the
 * stock to the write (lock_then_write()). */
#include "read_then_write.h"
#include "strategy.h"

/* One holder across all instances, under two conditions. A holder does not pause for longer than
 * the TTL between its last look at the lease and its write. Redis does not forget the holder. */
const struct strategy strategy_redis = {
    .name = "redis",
    .family = "Redis",
    .summary = "a lease in Redis: random owner token, TTL, renewal, compare-and-delete",
    .promise = "one holder across all instances: no unit is sold twice",
    .breaks = "a holder paused past its TTL just before its write; lost keys (FLUSHALL, eviction, "
              "failover)",
    .source = "How a distributed lock is made, 3.3 and 3.6; lockkit.h",
    .takes = TAKES_HANDOVER,
    .is_right = true,
    .survives = SURVIVES(CRASH) | SURVIVES(LOST_REPLY) | SURVIVES(EXPIRY),
    .default_shards = 1,
    .lock = LOCK_REDIS,
};

/* A sale hands the lease to the next sale of its instance without asking Redis, up to handover=
 * times in a row. Then the other instances have their turn. */
const struct strategy strategy_redis_cohort = {
    .name = "redis-cohort",
    .family = "Redis",
    .summary =
        "like redis, but the lease goes to the next sale of the instance, up to handover= times",
    .promise = "like redis; per turn, an instance hands the lease on at most handover= times",
    .breaks = "like redis; an instance hands on a lease that Redis forgot until its next renewal",
    .source = "Dice, Marathe, Shavit: Lock Cohorting, 2012; lockkit.h",
    .takes = TAKES_HANDOVER,
    .is_right = true,
    .survives = SURVIVES(CRASH) | SURVIVES(LOST_REPLY) | SURVIVES(EXPIRY),
    .default_shards = 1,
    .default_handover = 32,
    .lock = LOCK_REDIS,
};

/* Redis keeps one queue for all instances: the first to come is the next to hold. Each waiting sale
 * asks for itself. Under `redis`, one sale asks for all that wait at its instance. */
const struct strategy strategy_redis_fair = {
    .name = "redis-fair",
    .family = "Redis",
    .summary = "like redis, with one queue for all instances: first come, first served",
    .promise = "like redis, and nobody overtakes a waiter, whichever instance it is on",
    .breaks = "like redis; each waiter costs round trips of its own",
    .source = "lockkit.h, is_fair",
    .is_right = true,
    .survives = SURVIVES(CRASH) | SURVIVES(LOST_REPLY) | SURVIVES(EXPIRY),
    .default_shards = 1,
    .lock = LOCK_REDIS_FAIR,
};

/* The lease counts only once that many replicas have confirmed it. Redis may promote a replica that
 * has it, but nobody can tell it to choose that one. */
const struct strategy strategy_redis_wait = {
    .name = "redis-wait",
    .family = "Redis",
    .summary =
        "like redis, but the lease counts only once WAIT confirms that replicas= replicas have it",
    .promise = "like redis, even after a failover to a replica that has the lease",
    .breaks =
        "like redis; a failover to a replica without the lease; without a replica nothing is sold",
    .source = "Redis, WAIT: no strongly consistent store",
    .takes = TAKES_FENCE | TAKES_REPLICAS,
    .is_right = true,
    .survives = SURVIVES(CRASH) | SURVIVES(LOST_REPLY) | SURVIVES(EXPIRY),
    .default_shards = 1,
    .lock = LOCK_REDIS_WAIT,
};

/* `rwlock` across all instances: sales that look share a lease in Redis, and a sale that writes
 * holds it alone. */
static enum outcome sell_by_rw(struct sale *sale) {
    return look_then_write(sale, LOCK_REDIS_RW);
}

const struct strategy strategy_rw = {
    .name = "rw",
    .family = "Redis",
    .summary = "a lease in Redis: shared to check the stock, exclusive to sell",
    .promise = "like redis; sales that only check run side by side",
    .breaks = "like redis; while there is stock, each sale takes two leases",
    .source = "Locks in practice, 2; lockkit.h",
    .is_right = true,
    .survives = SURVIVES(CRASH) | SURVIVES(LOST_REPLY) | SURVIVES(EXPIRY),
    .default_shards = 1,
    .sell = sell_by_rw,
};

/* A lease at a majority of several Redis servers survives the loss of a minority. It is still a
 * lease: a pause outlives it. */
const struct strategy strategy_redlock = {
    .name = "redlock",
    .family = "Redis",
    .summary = "a lease at a majority of five independent Redis servers",
    .promise = "like redis, even when two of the five are lost",
    .breaks = "a holder paused past its TTL just before its write; a clock jump at a majority",
    .source = "Redis, Distributed Locks; Kleppmann, 2016",
    .needs = NEEDS_REDLOCK,
    .takes = TAKES_FENCE,
    .is_right = true,
    .survives = SURVIVES(CRASH) | SURVIVES(LOST_REPLY) | SURVIVES(EXPIRY) | SURVIVES(FAILOVER),
    .default_shards = 1,
    .lock = LOCK_REDLOCK,
};
