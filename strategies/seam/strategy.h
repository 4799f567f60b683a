/* A strategy: one way to guard the stock. */
#ifndef STRATEGIES_STRATEGY_H
#define STRATEGIES_STRATEGY_H

#include "store.h"

/* Options that only some strategies take, as bits. */
enum strategy_option {
    TAKES_SHARDS = 1,
    TAKES_BORROW = 2,
    TAKES_DEAL = 4,
    TAKES_RETURN = 8,
    TAKES_ACK = 16,
    TAKES_FENCE = 32,
    TAKES_REPLICAS = 64,
    TAKES_HANDOVER = 128,
};

/* Servers that only some strategies need: the end of the variable that has their address, and what
 * `scripts/stack up --with` calls them. */
#define STRATEGY_SERVERS(X)                                                                        \
    X(REDLOCK, "redlock")                                                                          \
    X(ZOOKEEPER, "zookeeper")                                                                      \
    X(ETCD, "etcd")

enum strategy_server {
    NEEDS_NONE, /* but Postgres and Redis */
#define X(name, with) NEEDS_##name,
    STRATEGY_SERVERS(X)
#undef X
};

/* What can go wrong beside bad luck. */
#define SALE_FAULTS(X)                                                                             \
    X(PAUSE, "pause", "an instance stands still for longer than any lease, and goes on")           \
    X(CRASH, "crash", "an instance is killed; what it had sent may still land")                    \
    X(LOST_REPLY, "lost-reply", "a request takes effect, now or later, and its reply is lost")     \
    X(EXPIRY, "expiry", "time passes, until what expires first and is not renewed has expired")    \
    X(FAILOVER, "failover", "the keys' server is replaced by the replica that lags most")

enum sale_fault {
#define X(name, text, meaning) FAULT_##name,
    SALE_FAULTS(X)
#undef X
        FAULT_COUNT
};
#define SURVIVES(name) (1U << FAULT_##name)
#define SURVIVES_ALL   ((1U << FAULT_COUNT) - 1)

const char *sale_fault_name(enum sale_fault fault);

/* All texts are one line, in a table's cell. */
struct strategy {
    const char *name;
    const char *family;
    const char *summary; /* how it guards the stock */
    const char *promise; /* what it keeps */
    const char *breaks;  /* what breaks it */
    const char *source;  /* where it is described */
    unsigned takes;      /* enum strategy_option */
    enum strategy_server needs;
    /* Without options, and each at most once in a schedule, as `lab explore` finds: three customers
     * of two instances and two units, within three preemptions. */
    bool is_right;     /* every schedule without a fault is right */
    unsigned survives; /* and every one with these faults together: 1 << enum sale_fault */
    int default_shards;
    int default_handover;
    /* Sell one unit: SOLD, SOLD_OUT, BUSY, CONFLICT, REPEATED, UNKNOWN or FAILED. NULL: by
     * lock_then_write(), under `lock`. */
    enum outcome (*sell)(struct sale *sale);
    enum lock_kind lock;
    /* Or NULL: what may be done before the first sale, when the product is first shown. */
    enum outcome (*prepare)(struct sale *sale);
};

/* Sell one unit by it; and where it sold none, look whether the order, which may be a repeat, has
 * its unit already, and whether a unit came back. */
enum outcome strategy_sell(const struct strategy *strategy, struct sale *sale);

#endif
