/* The store seam: everything that one sale can do to what other sales can see.
 *
 * A strategy is one linear function over `struct sale`. Each effect goes through the sale's table
 * of operations: inventory-svc fills it with Postgres, Redis and lockkit (store/store_live.c); a
 * model with a virtual clock can fill it as well and enumerate every interleaving. So a strategy
 * never calls libpq, hiredis, lockkit, libuv or a clock. What the operations have in common, the
 * order of steps in a write and the failpoints, is in store.c and the same for each store.
 *
 * Every operation may suspend the fiber it runs in, and the process may be killed or stopped before
 * and after each: what it did stays, what it had not begun does not happen, and what it had begun
 * may happen later, except where a lease, a transaction or a deadline forbids it. */
#ifndef STRATEGIES_STORE_H
#define STRATEGIES_STORE_H

#include <stdbool.h>
#include <stddef.h>
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

struct sale;
/* An outcome of a whole sale, as it is; or, for any other, FAILED, and the sale says that the
 * strategy `did` this: a strategy may be a stranger's. */
enum outcome outcome_of_sale(struct sale *sale, enum outcome outcome, const char *did);

#define MESSAGE_BYTES 700 /* of why something was not done, with the NUL */

/* One row of stock. Unsold are the units first_unit .. first_unit + available - 1; a sale takes the
 * last of them, so its unit and what remains both follow from the `available` that it saw. But with
 * options->returns_to_count a unit that comes back is the last of them until it is sold again,
 * whatever its number: then `unit` says more than `available`, and only the version that nothing
 * happened. */
struct stock_row {
    int shard; /* 0 .. shards - 1 */
    int64_t first_unit;
    int64_t available; /* as read, before the sale */
    int64_t version;   /* counts writes, and units that came back to the count */
    int64_t unit;      /* that a sale takes, if there is one */
    int64_t fence;     /* the highest fencing token that wrote */
};

/* What must still be true of a row for a write to happen. */
enum guard {
    GUARD_ANY,     /* nothing: it is overwritten, whatever it is now */
    GUARD_VERSION, /* its version is the one that was read */
    GUARD_VALUE,   /* its `available` is the one that was read */
    GUARD_FENCE,   /* its fence is the one that was read, and below that of the lock */
};

/* The kinds of lock: its name, and the server that an attempt at it is a round trip to. */
#define LOCK_KINDS(X)                                                                              \
    X(LOCAL, "local", NOBODY) /* in this process, first come first served */                       \
    X(REDIS, "redis", REDIS)  /* across processes: a lease with a TTL, renewed while held */       \
    X(KEY, "key", REDIS)      /* a key that store_kv_set_absent() made, until it is deleted */     \
    X(MKDIR, "mkdir", NOBODY) /* a directory on this machine's disk: a crash leaves it for ever */ \
    X(FLOCK, "flock", NOBODY) /* flock(2) on a file there: the kernel frees it after a crash */    \
    X(REENTRANT, "reentrant", NOBODY) /* in this process: who has it gets it again */              \
    X(RWLOCK, "rwlock", NOBODY)       /* in this process: alone, or shared by those who look */    \
    X(STAMPED, "stamped", NOBODY)     /* in this process: counts who had it, for a look without */ \
    X(SPIN, "spin", NOBODY)     /* in this process: tried again and again, without a queue */      \
    X(TABLE, "table", POSTGRES) /* a row, until it expires by the database's clock */              \
    X(REDIS_FAIR, "redis-fair", REDIS) /* as redis; first come, first served, at all instances */  \
    X(REDIS_WAIT, "redis-wait", REDIS) /* as redis, once options->replicas have it, too */         \
    X(REDIS_RW, "rw", REDIS)           /* as redis: alone, or shared by those who look */          \
    X(REDLOCK, "redlock", REDIS)       /* a majority of several Redis */                           \
    X(ZOOKEEPER, "zookeeper", COORDINATOR) /* the first of the nodes of sessions that live */      \
    X(ZOOKEEPER_UNFAIR, "zookeeper-unfair", COORDINATOR) /* one node: who makes it first has it */ \
    X(ETCD, "etcd", COORDINATOR)            /* a key that lives as long as its lease */            \
    X(PG_ADVISORY, "pg-advisory", POSTGRES) /* of a session that the sale has for itself */        \
    X(PG_ADVISORY_RAW, "pg-advisory-raw", POSTGRES) /* of any session of the pooler's pool */

enum lock_kind {
#define X(name, text, server) LOCK_##name,
    LOCK_KINDS(X)
#undef X
};

const char *lock_kind_name(enum lock_kind kind);

struct store_lock; /* a lock that this sale holds; from store_lock() to store_unlock() */

/* How a lock is asked for. */
enum lock_mode {
    MODE_ALONE,     /* it waits until no other sale has it */
    MODE_SHARED,    /* it waits until no other sale has it alone */
    MODE_LOOK,      /* take nothing: `stamp` tells whether another has it */
    MODE_UNCHANGED, /* at once, if nobody had it since `stamp`; or CONFLICT */
};

struct lock_call {
    enum lock_kind kind;
    enum lock_mode mode;
    int shard;
    uint64_t stamp;          /* of MODE_UNCHANGED; MODE_LOOK answers it */
    struct store_lock *lock; /* that is won */
};

/* Moments of a sale at which it can be made to fail. */
#define FAIL_POINTS(X)                                                                             \
    X(AFTER_LOCK, "after-lock")       /* it has won its lock, or set its key */                    \
    X(AFTER_READ, "after-read")       /* it has read the stock */                                  \
    X(BEFORE_WRITE, "before-write")   /* it is about to send the write that sells */               \
    X(AFTER_WRITE, "after-write")     /* that write has sold a unit */                             \
    X(BEFORE_UNLOCK, "before-unlock") /* it is about to release its lock */                        \
    X(BEFORE_EXPIRE, "before-expire") /* it is about to send EXPIRE for a key of its own */        \
    X(BEFORE_DELETE, "before-delete") /* it is about to delete that key */                         \
    X(BEFORE_COMMIT, "before-commit") /* it is about to commit its transaction */

enum fail_point {
#define X(name, text) FAIL_##name,
    FAIL_POINTS(X)
#undef X
};

enum isolation { READ_COMMITTED, SERIALIZABLE };

/* What a read for update does about a row that another transaction holds. */
enum row_wait { ROW_WAIT, ROW_NOWAIT, ROW_SKIP_LOCKED };
#define ANY_SHARD (-1)

/* Where a sale looks first, of several rows. */
enum deal { DEAL_EVEN, DEAL_RANDOM };

/* Commands of a server of keys and values, each of them atomic there. */
#define KV_COMMANDS(X)                                                                             \
    X(SET_ABSENT, "SET NX")          /* and expire after ttl_ms, 0: never; is_yes: it was set */   \
    X(EXPIRE, "PEXPIRE")             /* expire ttl_ms from now; is_yes: the key is there */        \
    X(GET, "GET")                    /* is_yes: it is there, and `reply` its value */              \
    X(DELETE, "DEL")                 /* whoever set it; is_yes: it was there */                    \
    X(DELETE_IF_EQUAL, "DEL if own") /* is_yes: it had this value */

enum kv_command {
#define X(name, text) KV_##name,
    KV_COMMANDS(X)
#undef X
};

#define KV_TEXT    64 /* of a key of ours and of a value, with the NUL */
#define TOKEN_TEXT 41 /* of a random token, 160 bits in hexadecimal, with the NUL */

struct kv_call {
    enum kv_command command;
    const char *key;   /* within the product, such as "lock" */
    const char *value; /* what to set, or to compare */
    int64_t ttl_ms;    /* 0: never */

    bool is_yes;
    char reply[KV_TEXT];
};

/* All that the server of keys and values has of a product's stock. It stands and falls with the
 * keys. */
struct data_set {
    char token[TOKEN_TEXT]; /* random */
    int last;               /* the row that was loaded last; -1: none */
};

/* A unit that was taken from the data set. */
struct loaded_unit {
    struct stock_row seen; /* shard, first_unit and available, as they were before */
    bool is_again;         /* this order had taken it before */
    bool is_half_sold;     /* of the last row that is loaded, half is left: load the next */
};

/* The options of a strategy spec, such as `redis,ttl=2s,work=2ms`. */
struct sale_options {
    int64_t work_ms; /* simulated business time between read and write [0] */
    int64_t wait_ms; /* how long to wait for a lock, or to try again, before BUSY [5000] */
    int64_t ttl_ms;  /* of a lease [10000] */
    int shards;      /* rows of stock [1; sharded 10] */
    enum deal deal;
    bool borrows;           /* look at the other rows before saying sold out [on] */
    bool returns_to_count;  /* a unit that comes back raises the count, and is not sold by number */
    bool acknowledges_late; /* prewarm: answer when the ledger has the sale */
    bool is_fenced;         /* the row refuses a fencing token that is not the newest */
    int replicas;           /* that must have a lock before it is ours [1] */
    int handover; /* how often in a row a lease stays in the instance [16; redis, pg-advisory 0] */
};

struct store_ops;

/* One sale: what the strategy is given, and what it leaves behind. */
struct sale {
    const struct store_ops *ops;
    const struct sale_options *options;
    const char *order_id; /* in no other sale, unless it may be a repeat */
    bool may_be_repeat; /* the id is a customer's key: another sale, of any product, may have it */
    const char *instance; /* that sells */
    unsigned pauses;      /* that it made before trying again */
    bool is_in_transaction;
    const struct store_lock *held; /* or NULL */
    enum lock_kind held_kind;
    unsigned held_times;

    /* What was sold, once the outcome is SOLD: set by the operation that sold it. */
    int shard;
    int64_t unit;
    int64_t remaining; /* in that row, after this sale */
    int64_t fence;     /* the token it wrote under, 0 for none */

    char *message; /* why, when BUSY, UNKNOWN or FAILED; MESSAGE_BYTES, or more, of the store's */
};

/* What a store is: one row for each thing that it can do, to be called through the functions below.
 * Those that return an outcome return OK when the step is done, or BUSY (no effect, and worth
 * another attempt), FAILED (no effect) or UNKNOWN (an effect, none, or one that is still to come)
 * when the store fails, and the other values as they say. A read is never UNKNOWN. */
struct store_ops {
    enum outcome (*read_stock)(struct sale *sale, int shard, struct stock_row *row);
    enum outcome (*read_for_update)(struct sale *sale, int shard, enum row_wait wait,
                                    struct stock_row *row);
    /* May it write now? First all that may mean waiting, then a look at the lock, unless `under` is
     * NULL: nothing lies between that look and write_stock(), but another's transaction on the row.
     * OK; BUSY, also when the lock is not ours for long enough to write; FAILED. */
    enum outcome (*check_write)(struct sale *sale, enum guard guard,
                                const struct store_lock *under);
    enum outcome (*write_stock)(struct sale *sale, const struct stock_row *seen, enum guard guard,
                                const struct store_lock *under);
    enum outcome (*take_stock)(struct sale *sale, int shard);
    enum outcome (*take_in_batch)(struct sale *sale, int shard);
    enum outcome (*take_returned)(struct sale *sale);
    enum outcome (*find_sale)(struct sale *sale, bool *is_found);
    enum outcome (*open_data_set)(struct sale *sale, struct data_set *set);
    enum outcome (*hand_out)(struct sale *sale, const struct data_set *set, struct stock_row *row);
    enum outcome (*load_row)(struct sale *sale, const struct data_set *set,
                             const struct stock_row *row);
    enum outcome (*take_loaded)(struct sale *sale, struct loaded_unit *taken);
    enum outcome (*write_pending)(struct sale *sale, const struct stock_row *seen, bool is_awaited);

    enum outcome (*begin)(struct sale *sale, enum isolation isolation);
    enum outcome (*commit)(struct sale *sale);
    void (*rollback)(struct sale *sale);

    enum outcome (*lock)(struct sale *sale, struct lock_call *call);
    void (*unlock)(struct sale *sale, struct store_lock *lock, enum outcome outcome);
    enum outcome (*kv)(struct sale *sale, struct kv_call *call);

    int (*deal)(struct sale *sale);
    bool (*saw_empty)(struct sale *sale, int shard);
    void (*random_token)(struct sale *sale, char token[TOKEN_TEXT]);
    enum outcome (*pause)(struct sale *sale);
    void (*work)(struct sale *sale);
    enum outcome (*pass)(struct sale *sale, enum fail_point point);
};

/* ---- The stock */

/* Read one row: in the open transaction, or else as it is committed now. Then after-read. */
enum outcome store_read_stock(struct sale *sale, int shard, struct stock_row *row);

/* In a transaction: read one row as it is committed now, and keep it from others' reads for update
 * and writes until the end of the transaction. A shard by its number may have no unit left;
 * ANY_SHARD looks from the row that is dealt on for one that has: SOLD_OUT when none has. BUSY when
 * a row that is wanted is held by another: at once (ROW_NOWAIT; ROW_SKIP_LOCKED, when all rows with
 * units are held), or when options->wait_ms is over, or a limit of the store before that
 * (ROW_WAIT). CONFLICT when the isolation forbids it. Then after-read. */
enum outcome store_read_for_update(struct sale *sale, int shard, enum row_wait wait,
                                   struct stock_row *row);

/* If the guard holds, set the row to what was seen minus one, and write the ledger row, in one
 * statement. SOLD; CONFLICT when the guard does not hold, or the isolation forbids it; REPEATED
 * when the ledger has this order already (nothing is written then). Outside of a transaction that
 * is final, and an UNKNOWN has been looked up in the ledger. Inside, only SOLD can become a sale,
 * once it is committed: the sale says nothing of a unit before, and a write that is not answered is
 * BUSY. It waits while another transaction holds the row. Under a lock: BUSY when it is not ours
 * for long enough to write. Before-write lies between that look and the write, after-write behind
 * it. `under` may be NULL. A write below zero is FAILED. */
enum outcome store_write_stock(struct sale *sale, const struct stock_row *seen, enum guard guard,
                               const struct store_lock *under);

/* Take a unit if there is one, and write the ledger row, in one statement. SOLD, SOLD_OUT,
 * REPEATED. Between before-write and after-write. */
enum outcome store_take_stock(struct sale *sale, int shard);

/* The same, together with the sales of this row that came to this instance while the batch before
 * was under way: one statement sells to all of them, first come, first served, and each is told its
 * own outcome. BUSY when options->wait_ms is over before it goes, or too many wait. */
enum outcome store_take_in_batch(struct sale *sale, int shard);

/* ---- Stock that is sold from keys and values, a row at a time. To open, to hand out and to load
 * sells nothing, so that BUSY stands for UNKNOWN, too; each may be done again. */

/* The data set, which is made if there is none: OK, and then `set`. */
enum outcome store_open_data_set(struct sale *sale, struct data_set *set);

/* Hand the first row after set->last that has units to the data set: OK, and then `row`, the same
 * one again as long as the data set asks for it; or SOLD_OUT, and then it will never get another. A
 * row that was handed to another data set is left out: nobody knows what that one has sold of it.
 */
enum outcome store_hand_out(struct sale *sale, const struct data_set *set, struct stock_row *row);

/* Load the units of the row that was handed out; a row without units says that none is left to
 * load. Nothing happens when another sale has loaded one since `set` was seen, or the data set is
 * another by now: OK, too. */
enum outcome store_load_row(struct sale *sale, const struct data_set *set,
                            const struct stock_row *row);

/* Take the last unit of the row that is sold from, or else of the next one that is loaded, for this
 * order, and note that, in one step: OK, and then `taken`, the same one again if this order has
 * taken one. taken->seen.available 0: nothing is loaded. SOLD_OUT: nor is anything left to load. */
enum outcome store_take_loaded(struct sale *sale, struct loaded_unit *taken);

/* The last unit of `seen` was taken for this order by store_take_loaded(): bring it to the ledger
 * and lower its row, in one statement, and then remove the note. Not awaited: SOLD; an instance
 * does it in the background, and another one when that has died. Awaited: SOLD, it is in the
 * ledger; REPEATED, the ledger has this order with another unit, and the one that was taken has
 * come back; CONFLICT, the unit was brought there before, and is not this order's (any more);
 * UNKNOWN, it may still come. Between before-write and after-write; as the unit is taken already,
 * an error there is UNKNOWN. */
enum outcome store_write_pending(struct sale *sale, const struct stock_row *seen, bool is_awaited);

/* ---- What a sale does beside its strategy; strategy_sell() does it */

/* Sell a unit that an earlier customer gave back, by its number: SOLD, SOLD_OUT, REPEATED. May
 * answer SOLD_OUT by what was seen up to 100 ms ago. */
enum outcome store_take_returned(struct sale *sale);
/* Does the ledger have this order? */
enum outcome store_find_sale(struct sale *sale, bool *is_found);

/* ---- Transactions: one at a time, begin to end. Others see what it wrote when it is committed,
 * all at once. A crash rolls it back, and so does the store by itself when nothing was asked of the
 * transaction for some seconds. After any outcome but OK and SOLD of a step nothing follows but its
 * end. Reads and writes of the stock are part of it; locks, keys and looks at the ledger are not,
 * and store_take_stock() is not for transactions. A step out of place is FAILED, and so is a sale
 * whose transaction was left open: it is rolled back. */

/* READ_COMMITTED: each read sees what is committed by then, and a write waits for the row and
 * overwrites what it finds. SERIALIZABLE: each sees the moment of the first read, and all is as if
 * one transaction came after the other, or else a step or the end is a CONFLICT. BUSY when there is
 * no room for one more. Unless it is OK, there is nothing to end. */
enum outcome store_begin(struct sale *sale, enum isolation isolation);
/* `outcome` is that of the last step: SOLD is committed, after before-commit, and anything else
 * rolled back and returned, but FAILED for UNKNOWN, as nothing was sold. SOLD, and the sale says
 * what; CONFLICT when the isolation forbids it; BUSY, FAILED; REPEATED or UNKNOWN when the commit
 * was not answered: then it may still come, for some seconds, and until it has, or has not, others
 * wait for the row. */
enum outcome store_end(struct sale *sale, enum outcome outcome);

/* ---- Locks: one at a time, another is FAILED; but LOCK_REENTRANT may be taken again by the sale
 * that has it, and is given back as often. Giving back what the sale does not hold does nothing,
 * and a write under it is FAILED. */

/* Win the lock of this product's shard within options->wait_ms of the sale's start, or BUSY. Then
 * after-lock. */
enum outcome store_lock(struct sale *sale, enum lock_kind kind, int shard,
                        struct store_lock **lock);
/* The same, beside others who share it, while nobody has it by store_lock(). LOCK_RWLOCK and
 * LOCK_REDIS_RW. Who shares it and wants it alone has to give it back first: it would wait for
 * itself. */
enum outcome store_lock_shared(struct sale *sale, enum lock_kind kind, int shard,
                               struct store_lock **lock);
/* LOCK_STAMPED: what tells this moment from any after somebody took the lock; 0 while somebody has
 * it. Takes nothing. */
uint64_t store_stamp(struct sale *sale, int shard);
/* Win LOCK_STAMPED at once if nobody had it since `stamp`, so that what was read since then is as
 * it was; else CONFLICT. Then after-lock. */
enum outcome store_lock_stamped(struct sale *sale, int shard, uint64_t stamp,
                                struct store_lock **lock);
/* Before-unlock, and give it back; or, when `outcome` is UNKNOWN, keep it from others for as long
 * as the write may still happen. */
void store_unlock(struct sale *sale, struct store_lock *lock, enum outcome outcome);

/* ---- Keys and values, raw: what locks were made of before there were libraries for it. BUSY, too,
 * when nobody can tell whether a command took effect. */

/* OK, and *was_set says whether the key was absent; then, if so, after-lock. `ttl_ms` 0: it does
 * not expire. */
enum outcome store_kv_set_absent(struct sale *sale, const char *key, const char *value,
                                 int64_t ttl_ms, bool *was_set);
/* After before-expire; a key that is not there (any more) stays so. */
enum outcome store_kv_expire(struct sale *sale, const char *key, int64_t ttl_ms);
/* `value` is "" when the key is not there. */
enum outcome store_kv_get(struct sale *sale, const char *key, char value[KV_TEXT]);
/* After before-delete; whoever has set it. */
enum outcome store_kv_delete(struct sale *sale, const char *key);
/* After before-delete; only while it has this value, in one step. */
enum outcome store_kv_delete_if_equal(struct sale *sale, const char *key, const char *value);

/* ---- Everything else */

/* The shard at which this sale should look first, by options->deal. */
int store_deal(struct sale *sale);
/* Whether store_read_stock() last found no unit in that row, for any sale of this instance. What
 * was, not what is, and forgotten now and then: it tells what to ask first, and never the answer.
 * Of the only row never. */
bool store_saw_empty(struct sale *sale, int shard);
void store_random_token(struct sale *sale, char token[TOKEN_TEXT]);
/* Before trying again: a pause that grows with sale->pauses, with jitter. BUSY, at once, when
 * options->wait_ms is over. */
enum outcome store_pause(struct sale *sale);
/* The simulated business time between read and write. */
void store_work(struct sale *sale);

#endif
