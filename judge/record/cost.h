/* The cost of an order, which its reply tells in the standard Server-Timing header (W3C,
 * https://www.w3.org/TR/server-timing/):
 *
 *   Server-Timing: wait;dur=1.234, hold;dur=3.001, commit;dur=1.020, pg;desc="2", redis;desc="2",
 *                  retry;desc="0", lock;desc="redis", shard;desc="3", kept;dur=499.2
 *
 * Durations are milliseconds. All other metrics are skipped. */
#ifndef JUDGE_COST_H
#define JUDGE_COST_H

#include <stdbool.h>
#include <stdint.h>

/* The kinds of lock: the word in the header, whether each process has its own, and the noun. */
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
    RECORD_LOCK_UNTOLD = -1, /* no lock, or the reply does not say */
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

/* -1: the reply did not tell. */
struct record_cost {
    int32_t wait_us;   /* until the lock was won or given up; -1: no lock */
    int32_t hold_us;   /* from winning the lock to giving it back; -1: it was not won */
    int32_t commit_us; /* the statement that sold, with its wait for a connection and a row */
    int16_t postgres;  /* round trips to Postgres; each reply that tells its cost has these */
    int16_t redis;     /* round trips to Redis */
    int32_t retries;   /* attempts beyond the first: of the lock, or of the sale */
    int16_t shard;     /* the stock row that sold it */
    int16_t lock;      /* enum record_lock of the lock that it asked for */
    int32_t kept_us;   /* the last part of the wait, in which the lock did not change hands */
};

/* Set all to -1: nothing is known. */
void cost_init(struct record_cost *cost);

/* Parse the header's text ("": no header). A value that is missing, no number, or out of bounds is
 * -1. */
void cost_parse(const char *text, struct record_cost *cost);

#endif
