/* A strategy: one way to guard the stock, a file each. */
#ifndef INVENTORY_STRATEGY_H
#define INVENTORY_STRATEGY_H

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
    int default_shards;
    /* Sell one unit: SOLD, SOLD_OUT, BUSY, CONFLICT, REPEATED, UNKNOWN or FAILED. */
    enum outcome (*sell)(struct sale *sale);
    /* Or NULL: what may be done before the first sale, when the product is first shown. */
    enum outcome (*prepare)(struct sale *sale);
};

/* Sell one unit by it; and where it sold none, look whether the order, which may be a repeat, has
 * its unit already, and whether a unit came back. */
enum outcome strategy_sell(const struct strategy *strategy, struct sale *sale, bool may_be_repeat);

#endif
