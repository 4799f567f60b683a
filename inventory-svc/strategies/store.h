/* The store seam: everything that one sale can do to what other sales can see.
 *
 * A strategy is one linear function over `struct sale`. Each effect goes through the sale's table
 * of operations: inventory-svc fills it with Postgres, Redis and lockkit (store_live.c); a model
 * with a virtual clock can fill it as well and enumerate every interleaving. So a strategy never
 * calls libpq, hiredis, lockkit, libuv or a clock.
 *
 * Every operation may suspend the fiber it runs in. */
#ifndef INVENTORY_STORE_H
#define INVENTORY_STORE_H

#include <stdbool.h>
#include <stdint.h>

/* How a sale, or one step of it, ended. OK is for steps, SOLD for the whole; the last three are
 * known before or after a strategy runs, and no strategy answers them. */
#define OUTCOMES(X)                                                                                \
    X(OK, "the step is done")                                                                      \
    X(SOLD, "one unit sold")                                                                       \
    X(SOLD_OUT, "no unit left")                                                                    \
    X(BUSY, "the lock was not won in time, or the store could not be reached; nothing was sold")   \
    X(CONFLICT, "another sale was faster; nothing was sold")                                       \
    X(REPEATED, "this order already has its unit")                                                 \
    X(UNKNOWN, "the store did not answer; a unit may have been sold")                              \
    X(FAILED, "the store refused; nothing was sold")                                               \
    X(UNKNOWN_PRODUCT, "no product has this id")                                                   \
    X(BAD_STRATEGY, "the product's strategy cannot be read")                                       \
    X(KEY_REUSED, "this order id belongs to another product")

enum outcome {
#define X(name, text) OUTCOME_##name,
    OUTCOMES(X)
#undef X
};
const char *outcome_text(enum outcome outcome);
const char *outcome_name(enum outcome outcome);

#define MESSAGE_BYTES 700 /* of why something was not done, with the NUL */

/* One row of stock. Unsold are the units first_unit .. first_unit + available - 1; a sale takes the
 * last of them, so its unit and what remains both follow from the `available` that it saw. */
struct stock_row {
    int shard; /* 0 .. shards - 1 */
    int64_t first_unit;
    int64_t available; /* as read, before the sale */
    int64_t version;   /* counts writes */
    int64_t fence;     /* the highest fencing token that wrote */
};

enum lock_kind {
    LOCK_LOCAL, /* in this process, first come first served */
    LOCK_REDIS, /* across processes: a lease with a TTL, renewed while held */
};

struct store_lock; /* a lock that this sale holds; from store_lock() to store_unlock() */

/* The options of a strategy spec, such as `redis,ttl=2s,work=2ms`. */
struct sale_options {
    int64_t work_ms; /* simulated business time between read and write [0] */
    int64_t wait_ms; /* how long to wait for a lock before BUSY [5000] */
    int64_t ttl_ms;  /* of a lease [10000] */
    int shards;      /* rows of stock [1; sharded 10] */
};

struct store_ops;

/* One sale: what the strategy is given, and what it leaves behind. */
struct sale {
    const struct store_ops *ops;
    const struct sale_options *options;
    int first_shard; /* where this sale should look first: spread evenly by the caller */

    /* What was sold, once the outcome is SOLD: set by the operation that sold it. */
    int shard;
    int64_t unit;
    int64_t remaining; /* in that row, after this sale */
    int64_t fence;     /* the token it wrote under, 0 for none */

    char message[MESSAGE_BYTES]; /* why, when BUSY, UNKNOWN or FAILED */
};

/* The operations. Those that return an outcome return OK when the step is done, or BUSY, UNKNOWN or
 * FAILED when the store fails, and the other values as they say. */
struct store_ops {
    /* Read one row. */
    enum outcome (*read_stock)(struct sale *sale, int shard, struct stock_row *row);
    /* Set the row to what was seen minus one, whatever it is now, and write the ledger row, in one
     * statement. SOLD, or REPEATED when the ledger has this order already (nothing is written
     * then). */
    enum outcome (*write_stock)(struct sale *sale, const struct stock_row *seen,
                                const struct store_lock *under);
    /* Take a unit if there is one, and write the ledger row, in one statement. SOLD, SOLD_OUT,
     * REPEATED. */
    enum outcome (*take_stock)(struct sale *sale, int shard);
    /* Win the lock of this product's shard within options->wait_ms of the sale's start, or BUSY. */
    enum outcome (*lock)(struct sale *sale, enum lock_kind kind, int shard,
                         struct store_lock **lock);
    /* Is it still ours, for long enough to write? OK or BUSY. */
    enum outcome (*check_lock)(struct sale *sale, const struct store_lock *lock);
    /* Give it back; or, when `outcome` is UNKNOWN, keep it from others for as long as the write may
     * still happen. */
    void (*unlock)(struct sale *sale, struct store_lock *lock, enum outcome outcome);
    /* The simulated business time between read and write. */
    void (*work)(struct sale *sale);
};

static inline enum outcome store_read_stock(struct sale *sale, int shard, struct stock_row *row) {
    return sale->ops->read_stock(sale, shard, row);
}

static inline enum outcome store_write_stock(struct sale *sale, const struct stock_row *seen,
                                             const struct store_lock *under) {
    return sale->ops->write_stock(sale, seen, under);
}

static inline enum outcome store_take_stock(struct sale *sale, int shard) {
    return sale->ops->take_stock(sale, shard);
}

static inline enum outcome store_lock(struct sale *sale, enum lock_kind kind, int shard,
                                      struct store_lock **lock) {
    return sale->ops->lock(sale, kind, shard, lock);
}

static inline enum outcome store_check_lock(struct sale *sale, const struct store_lock *lock) {
    return sale->ops->check_lock(sale, lock);
}

static inline void store_unlock(struct sale *sale, struct store_lock *lock, enum outcome outcome) {
    sale->ops->unlock(sale, lock, outcome);
}

static inline void store_work(struct sale *sale) {
    sale->ops->work(sale);
}

#endif
