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
    TAKES_CART = 256,
};

/* Servers that only some strategies need: the end of the variable with their address, and their
 * name in `scripts/stack up --with`. */
#define STRATEGY_SERVERS(X)                                                                        \
    X(REDLOCK, "redlock")                                                                          \
    X(ZOOKEEPER, "zookeeper")                                                                      \
    X(ETCD, "etcd")

enum strategy_server {
    NEEDS_NONE, /* other than Postgres and Redis */
#define X(name, with) NEEDS_##name,
    STRATEGY_SERVERS(X)
#undef X
};

/* The faults that `lab explore` injects. */
#define SALE_FAULTS(X)                                                                             \
    X(PAUSE, "pause", "an instance pauses until leases of it have ended, and then goes on")        \
    X(CRASH, "crash", "an instance is killed; a write that it sent may still land")                \
    X(LOST_REPLY, "lost-reply", "a request takes effect, now or later, and its reply is lost")     \
    X(EXPIRY, "expiry", "time passes, or renewals fail, until a TTL has expired")                  \
    X(FAILOVER, "failover", "the keys' server fails; the replica that lags most takes over")

enum sale_fault {
#define X(name, text, meaning) FAULT_##name,
    SALE_FAULTS(X)
#undef X
        FAULT_COUNT
};
#define SURVIVES(name) (1U << FAULT_##name)
#define SURVIVES_ALL   ((1U << FAULT_COUNT) - 1)

const char *sale_fault_name(enum sale_fault fault);

/* Each text is one line, and a cell of a table. */
struct strategy {
    const char *name;
    const char *family;
    const char *summary; /* how it guards the stock */
    const char *promise; /* its guarantee */
    const char *breaks;  /* cases in which it fails */
    const char *source;  /* where it is described */
    unsigned takes;      /* enum strategy_option */
    enum strategy_server needs;
    /* As `lab explore` finds without options, each fault at most once in a schedule, with three
     * customers, two instances and two units, within three preemptions. */
    bool is_right;     /* every schedule without a fault is right */
    unsigned survives; /* and every one with all these faults: 1 << enum sale_fault */
    int default_shards;
    int default_handover;
    /* Sell one unit: SOLD, SOLD_OUT, BUSY, CONFLICT, REPEATED, UNKNOWN or FAILED. NULL:
     * lock_then_write() sells, under `lock`. */
    enum outcome (*sell)(struct sale *sale);
    enum lock_kind lock;
    /* Work that may be done before the first sale, when the product is first shown. Or NULL. */
    enum outcome (*prepare)(struct sale *sale);
};

/* Sell one unit by this strategy. If it sold none, look whether this order, if it may be a repeat,
 * already has its unit. After SOLD_OUT take a unit that came back, if there is one. */
enum outcome strategy_sell(const struct strategy *strategy, struct sale *sale);

#endif
