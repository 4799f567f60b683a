/* What a reply tells of the work behind it, in the standard Server-Timing header (W3C,
 * https://www.w3.org/TR/server-timing/):
 *
 *   Server-Timing: wait;dur=1.234, hold;dur=3.001, commit;dur=1.020, pg;desc="2", redis;desc="2",
 *                  retry;desc="0", lock;desc="redis", shard;desc="3", kept;dur=499.2
 *
 * Durations are milliseconds. Anything else in it is skipped, whatever it is. */
#ifndef JUDGE_COST_H
#define JUDGE_COST_H

#include <stdbool.h>
#include <stdint.h>

/* The kinds of lock: its word, whether each process has one of its own, and what it is called. */
#define RECORD_LOCKS(X)                                                                            \
    X(LOCAL, "local", true, "lock")                                                                \
    X(REDIS, "redis", false, "key")                                                                \
    X(KEY, "key", false, "key")                                                                    \
    X(MKDIR, "mkdir", false, "lock")                                                               \
    X(FLOCK, "flock", false, "lock")                                                               \
    X(REENTRANT, "reentrant", true, "lock")                                                        \
    X(RWLOCK, "rwlock", true, "lock")                                                              \
    X(STAMPED, "stamped", true, "lock")                                                            \
    X(SPIN, "spin", true, "lock")                                                                  \
    X(TABLE, "table", false, "row")                                                                \
    X(REDIS_FAIR, "redis-fair", false, "key")                                                      \
    X(REDIS_WAIT, "redis-wait", false, "key")                                                      \
    X(REDIS_RW, "rw", false, "key")                                                                \
    X(REDLOCK, "redlock", false, "key")                                                            \
    X(ZOOKEEPER, "zookeeper", false, "node")                                                       \
    X(ZOOKEEPER_UNFAIR, "zookeeper-unfair", false, "node")                                         \
    X(ETCD, "etcd", false, "key")                                                                  \
    X(PG_ADVISORY, "pg-advisory", false, "lock")                                                   \
    X(PG_ADVISORY_RAW, "pg-advisory-raw", false, "lock")

enum record_lock {
    RECORD_LOCK_UNTOLD = -1, /* none, or the reply says nothing */
#define X(name, text, is_own, noun) RECORD_LOCK_##name,
    RECORD_LOCKS(X)
#undef X
        RECORD_LOCK_COUNT
};

extern const struct record_lock_row {
    const char *text;
    bool is_own;
    const char *noun;
} record_locks[RECORD_LOCK_COUNT];

/* -1 for what a reply did not tell. */
struct record_cost {
    int32_t wait_us;   /* until the lock was won or given up; -1 when there was none */
    int32_t hold_us;   /* of the lock, from winning it to giving it back; -1 when it was not won */
    int32_t commit_us; /* of the statement that sold, with its wait for a connection and a row */
    int16_t postgres;  /* round trips to Postgres; a reply that tells anything tells these */
    int16_t redis;     /* and to Redis */
    int32_t retries;   /* attempts beyond the first: of the lock, or of the sale */
    int16_t shard;     /* the row of stock that it was sold from */
    int16_t lock;      /* enum record_lock that it asked for */
    int32_t kept_us;   /* of the wait, up to its end: others kept the lock without a change */
};

/* Nothing is known: -1 everywhere. */
void cost_init(struct record_cost *cost);

/* From the header's text, "" for a reply without one. What it does not tell, or not as a number
 * within bounds, is -1. */
void cost_parse(const char *text, struct record_cost *cost);

#endif
