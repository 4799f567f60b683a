/* The store seam: everything that a sale can do to what other sales can see.
 *
 * A strategy is one linear function over `struct sale`. It acts only through the sale's table of
 * operations, and never calls libpq, hiredis, lockkit, libuv or a clock. inventory-svc fills the
 * table with Postgres, Redis and lockkit (store/store_live.c). A model with a virtual clock fills
 * it too, and enumerates every interleaving. store.c holds the part that is the same for each
 * store: the order of steps in a write, and the failpoints.
 *
 * Every operation may suspend its fiber. The process may be killed or stopped before and after each
 * one. Then finished work stays, and work not begun does not happen. Work that was begun may still
 * happen later, unless a lease, a transaction or a deadline forbids it. */
#ifndef STRATEGIES_STORE_H
#define STRATEGIES_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How a sale, or one step of it, ended. OK is only for steps, SOLD for the whole sale. A strategy
 * never answers the last three: they are known before or after it runs. */
#define OUTCOMES(X)                                                                                \
    X(OK, "the step is done")                                                                      \
    X(SOLD, "one unit sold")                                                                       \
    X(SOLD_OUT, "no unit left")                                                                    \
    X(BUSY, "the lock was not won in time, or the store cannot be reached; nothing was sold")      \
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
/* Return an outcome of a whole sale unchanged. Turn any other value into FAILED with the message
 * that the strategy `did` it: a strategy may be a stranger's code. */
enum outcome outcome_of_sale(struct sale *sale, enum outcome outcome, const char *did);

#define MESSAGE_BYTES 700 /* of a message that says why, with the NUL */

/* One row of stock. Its unsold units are first_unit .. first_unit + available - 1. A sale takes the
 * last of them, so the `available` that it saw gives its unit and the remainder.
 *
 * With options->returns_to_count, a unit that comes back is the next to be sold, even if its number
 * is not the last. Then `unit` alone names the unit, and only `version` proves that nothing
 * happened. */
struct stock_row {
    int shard; /* 0 .. shards - 1 */
    int64_t first_unit;
    int64_t available; /* as read, before the sale */
    int64_t version;   /* counts writes, and units that came back to the count */
    int64_t unit;      /* the one that a sale takes, if there is one */
    int64_t fence;     /* the highest fencing token that wrote */
    int64_t token;     /* the sale's own for GUARD_FENCE, where it holds no lock of store_lock() */
};

/* A write happens only if this is still true of the row. */
enum guard {
    GUARD_ANY,     /* no condition: the write replaces any value */
    GUARD_VERSION, /* its version is the one that was read */
    GUARD_VALUE,   /* its `available` is the one that was read */
    GUARD_FENCE,   /* its fence is the one that was read, and below the lock's or the row's token */
};

/* The kinds of lock: its name, and the server that answers each attempt. */
#define LOCK_KINDS(X)                                                                              \
    X(LOCAL, "local", NOBODY) /* in this process, first come first served */                       \
    X(REDIS, "redis", REDIS)  /* across processes: a lease with a TTL, renewed while held */       \
    X(KEY, "key", REDIS)      /* a key that store_kv_set_absent() made, until it is deleted */     \
    X(MKDIR, "mkdir", NOBODY) /* a directory on this machine's disk: a crash leaves it for ever */ \
    X(FLOCK, "flock", NOBODY) /* flock(2) on a file there: the kernel frees it after a crash */    \
    X(REENTRANT, "reentrant", NOBODY)  /* in this process: its holder may take it again */         \
    X(RWLOCK, "rwlock", NOBODY)        /* in this process: shared by readers, or exclusive */      \
    X(STAMPED, "stamped", NOBODY)      /* in this process: a stamp shows if it was held since */   \
    X(SPIN, "spin", NOBODY)            /* in this process: waiters retry, without a queue */       \
    X(TABLE, "table", POSTGRES)        /* a row, until it expires by the database's clock */       \
    X(REDIS_FAIR, "redis-fair", REDIS) /* like REDIS; one queue for all instances */               \
    X(REDIS_WAIT, "redis-wait", REDIS) /* like REDIS, once options->replicas have it, too */       \
    X(REDIS_RW, "rw", REDIS)           /* like REDIS: shared by readers, or exclusive */           \
    X(REDLOCK, "redlock", REDIS)       /* a majority of several Redis servers */                   \
    X(ZOOKEEPER, "zookeeper", COORDINATOR) /* the first node of all live sessions holds */         \
    X(ZOOKEEPER_UNFAIR, "zookeeper-unfair", COORDINATOR) /* one node: its creator holds */         \
    X(ETCD, "etcd", COORDINATOR)            /* a key that lives as long as its lease */            \
    X(PG_ADVISORY, "pg-advisory", POSTGRES) /* held by a session that serves only this sale */     \
    X(PG_ADVISORY_RAW, "pg-advisory-raw", POSTGRES) /* held by any session of the pooler's pool */

enum lock_kind {
#define X(name, text, server) LOCK_##name,
    LOCK_KINDS(X)
#undef X
};

const char *lock_kind_name(enum lock_kind kind);

struct store_lock; /* a lock that this sale holds, from store_lock() to store_unlock() */

/* How a sale asks for a lock. */
enum lock_mode {
    MODE_ALONE,     /* wait until no other sale holds it */
    MODE_SHARED,    /* wait until no other sale holds it alone, or waits for that before this one */
    MODE_LOOK,      /* take nothing: `stamp` tells whether a sale holds it */
    MODE_UNCHANGED, /* take it at once if nobody held it since `stamp`; else CONFLICT */
};

struct lock_call {
    enum lock_kind kind;
    enum lock_mode mode;
    int shard;
    uint64_t stamp;          /* in for MODE_UNCHANGED, out of MODE_LOOK */
    struct store_lock *lock; /* out: the lock that was won */
};

/* Moments of a sale at which it can be made to fail. */
#define FAIL_POINTS(X)                                                                             \
    X(AFTER_LOCK, "after-lock")       /* it has won its lock, or set its key */                    \
    X(AFTER_READ, "after-read")       /* it has read the stock */                                  \
    X(BEFORE_WRITE, "before-write")   /* it is about to send the write that sells */               \
    X(AFTER_WRITE, "after-write")     /* it has made that write; a transaction must commit it */   \
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

/* How a read for update treats a row that another transaction holds. */
enum row_wait { ROW_WAIT, ROW_NOWAIT, ROW_SKIP_LOCKED };
#define ANY_SHARD (-1)

/* The row that a sale tries first, where there are several. */
enum deal { DEAL_EVEN, DEAL_RANDOM };

/* Commands of a key-value server. Each is atomic there. */
#define KV_COMMANDS(X)                                                                             \
    X(SET_ABSENT, "SET NX")          /* expires after ttl_ms (0: never); is_yes: it was set */     \
    X(EXPIRE, "PEXPIRE")             /* expires ttl_ms from now; is_yes: the key is there */       \
    X(GET, "GET")                    /* is_yes: it is there, and `reply` its value */              \
    X(DELETE, "DEL")                 /* by any client; is_yes: it was there */                     \
    X(DELETE_IF_EQUAL, "DEL if own") /* is_yes: it had this value */                               \
    X(IS, "GET if own")              /* is_yes: it has this value */                               \
    X(COUNT, "INCR")                 /* is_yes always: `reply` is one more than before, from 1 */

enum kv_command {
#define X(name, text) KV_##name,
    KV_COMMANDS(X)
#undef X
};

#define KV_TEXT    64 /* of one of our keys, or of a value, with the NUL */
#define TOKEN_TEXT 41 /* of a random token, 160 bits in hexadecimal, with the NUL */

/* A command, or a script of up to KV_STEPS. A script is one step at its server: the first command,
 * and after each yes the next one. */
#define KV_STEPS   3
#define KV_SERVERS 3
struct kv_call {
    enum kv_command command;
    const char *key;      /* within the product, such as "lock" */
    const char *value;    /* to set, or to compare with */
    int64_t ttl_ms;       /* 0: never */
    struct kv_call *then; /* the next command, after a yes; or NULL */
    int server;           /* of the first command: 0, with its replicas; or 1 .. KV_SERVERS, which
                             copy nothing from each other (.needs = NEEDS_REDLOCK) */

    bool is_yes; /* out: of this command; false if the script ended before it */
    char reply[KV_TEXT];
};

/* A product's stock as the key-value server has it. It is lost when the keys are. */
struct data_set {
    char token[TOKEN_TEXT]; /* random */
    int last;               /* the row that was loaded last; -1: none */
};

/* A unit that was taken from the data set. */
struct loaded_unit {
    struct stock_row seen; /* shard, first_unit and available, before that */
    bool is_again;         /* this order had taken it before */
    bool is_half_sold;     /* half of the last loaded row is left: load the next */
    bool is_unconfirmed;   /* fewer than options->replicas have it: only the ledger keeps it */
};

/* The options of a strategy spec, such as `redis,ttl=2s,work=2ms`. */
struct sale_options {
    int64_t work_ms; /* simulated business time between read and write [0] */
    int64_t wait_ms; /* longest wait for a lock, or for a retry, before BUSY [5000] */
    int64_t ttl_ms;  /* of a lease [10000] */
    int shards;      /* rows of stock [1; sharded 10] */
    enum deal deal;
    bool borrows;           /* try the other rows before saying sold out [on] */
    bool returns_to_count;  /* a unit that comes back raises the count; it is not sold by number */
    bool acknowledges_late; /* prewarm: answer once the ledger has the sale */
    bool is_fenced;         /* the row refuses a fencing token that is not the newest */
    int replicas;           /* so many must have a lock before it is ours [1] */
    int handover; /* times in a row that a lease stays in the instance [16; redis, pg-advisory 0] */
    bool is_cart; /* an order is for one unit of each of two products: rows 0 and 1 */
};

struct store_ops;

/* One sale: the input of the strategy, and its result. */
struct sale {
    const struct store_ops *ops;
    const struct sale_options *options;
    const char *order_id; /* in no other sale, unless it may be a repeat */
    bool may_be_repeat; /* the id is a customer's key: another sale, of any product, may have it */
    const char *instance; /* the seller */
    unsigned pauses;      /* made so far before retries */
    int first_in_cart;    /* 1 + the row; 0: store_cart() was not called */
    bool is_in_transaction;
    const struct store_lock *held; /* or NULL */
    enum lock_kind held_kind;
    unsigned held_times;

    /* The sale, once the outcome is SOLD: set by the operation that sold. */
    int shard;
    int64_t unit;
    int64_t remaining; /* in that row, after this sale */
    int64_t fence;     /* the token of its write, 0 for none */

    char *message; /* why BUSY, UNKNOWN or FAILED; the store's, MESSAGE_BYTES or more */
};

/* A store: one row for each operation. Strategies call them through the functions below. An
 * operation that returns an outcome returns OK when the step is done, or a value that it names
 * itself. When the store fails, it returns one of these:
 *
 *     BUSY     no effect; another attempt may succeed
 *     FAILED   no effect
 *     UNKNOWN  it took effect, or did not, or still will; never from a read */
struct store_ops {
    enum outcome (*read_stock)(struct sale *sale, int shard, struct stock_row *row);
    enum outcome (*read_for_update)(struct sale *sale, int shard, enum row_wait wait,
                                    struct stock_row *row);
    /* May it write now? The store does all waiting first. Then, unless `under` is NULL, checks the
     * lock. Only another transaction on the row can delay write_stock() after that check. OK; BUSY,
     * also when the lease ends too soon for a write; FAILED. */
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
    bool (*work)(struct sale *sale, int64_t most_ms);
    void (*trace)(struct sale *sale, const char *text); /* or NULL */
    enum outcome (*pass)(struct sale *sale, enum fail_point point);
};

/* ---- The stock */

/* Read one row: in the open transaction, else as it is committed now. Then after-read. */
enum outcome store_read_stock(struct sale *sale, int shard, struct stock_row *row);

/* In a transaction: read one row as it is committed now, and keep it from others' writes and reads
 * for update until the transaction ends. A shard given by number may have no unit. ANY_SHARD looks
 * for a row with units, beginning at the row that store_deal() names. Then after-read.
 *
 *     OK        and then `row`
 *     SOLD_OUT  ANY_SHARD: no row has units
 *     BUSY      another transaction holds the row: at once under ROW_NOWAIT, and under
 *               ROW_SKIP_LOCKED when all rows with units are held; under ROW_WAIT after
 *               options->wait_ms, or after a shorter limit of the store
 *     CONFLICT  the isolation forbids it; or it waited for 1 s, and found a deadlock: the holder of
 *               the row waits for a row of this transaction (Postgres: SQLSTATE 40P01)
 *     FAILED */
enum outcome store_read_for_update(struct sale *sale, int shard, enum row_wait wait,
                                   struct stock_row *row);

/* If the guard holds, set the row to `seen` minus one and write the ledger row, in one statement.
 * It waits while another transaction holds the row. `under` is the lock that the sale holds, or
 * NULL. The store checks the lock, then passes before-write, writes, and passes after-write.
 *
 *     SOLD      final; in a transaction nothing is sold before the commit
 *     CONFLICT  the guard does not hold, or the isolation forbids it, or a deadlock, as in
 *               store_read_for_update(); nothing is written
 *     REPEATED  the ledger has this order: an earlier write made its row, and nothing is written;
 *               or this write did, and its answer was lost
 *     BUSY      the lock may end before the write could; in a transaction also: no answer
 *     UNKNOWN   no answer, and the ledger does not show the sale yet or cannot be read (not in a
 *               transaction); or an error at after-write
 *     FAILED    also for a row that has no unit */
enum outcome store_write_stock(struct sale *sale, const struct stock_row *seen, enum guard guard,
                               const struct store_lock *under);

/* Take a unit if there is one, and write the ledger row, in one statement, between before-write and
 * after-write. SOLD, SOLD_OUT, REPEATED. */
enum outcome store_take_stock(struct sale *sale, int shard);

/* The same for all sales of this row that arrived at this instance during the previous batch. One
 * statement sells to all of them, first come, first served, and each gets its own outcome. BUSY
 * when options->wait_ms passes before the statement starts, or when too many sales wait. */
enum outcome store_take_in_batch(struct sale *sale, int shard);

/* ---- Stock that is sold from keys and values, a row at a time. Opening, handing out and loading
 * sell nothing, so BUSY also stands for UNKNOWN. Each may be repeated. */

/* Open the data set, and make it if there is none. OK, and then `set`. */
enum outcome store_open_data_set(struct sale *sale, struct data_set *set);

/* Hand the first row after set->last that has units to the data set.
 *
 *     OK        and then `row`: the same row again until the data set has loaded it
 *     SOLD_OUT  this data set will never get another row
 *
 * It skips a row that was handed to another data set: nobody knows how much that one sold. */
enum outcome store_hand_out(struct sale *sale, const struct data_set *set, struct stock_row *row);

/* Load the units of the row that was handed out. A row without units means that none is left to
 * load. OK also when nothing happens, because another sale loaded a row since `set` was seen, or
 * because the data set is a new one. */
enum outcome store_load_row(struct sale *sale, const struct data_set *set,
                            const struct stock_row *row);

/* Take a unit for this order and note it, in one step: the last unit of the row on sale, or else of
 * the next loaded row.
 *
 *     OK        and then `taken`: the same unit again if this order has taken one before, or, if
 *               it may be no repeat, as long as the ledger does not have that; taken->seen.available
 *               is 0 when nothing is loaded now
 *     SOLD_OUT  nothing is loaded, and nothing is left to load */
enum outcome store_take_loaded(struct sale *sale, struct loaded_unit *taken);

/* store_take_loaded() took the last unit of `seen` for this order: bring it to the ledger and lower
 * its row, in one statement, then remove the note. Between before-write and after-write.
 *
 *     SOLD      not awaited: an instance does it in the background, and if that one dies, another
 *               does; awaited: it is in the ledger
 *     REPEATED  the ledger has this order with another unit; the unit that was taken has come back
 *     CONFLICT  the unit was brought before, and this order does not own it (any more)
 *     UNKNOWN   it may still come; also after a failure before the write: the unit is taken
 *     FAILED    `seen` is not a row of this product, or has no unit */
enum outcome store_write_pending(struct sale *sale, const struct stock_row *seen, bool is_awaited);

/* ---- The part of a sale outside its strategy; strategy_sell() calls it. */

/* Sell a unit that an earlier customer gave back, by its number: SOLD, SOLD_OUT, REPEATED. SOLD_OUT
 * may be up to 100 ms old. */
enum outcome store_take_returned(struct sale *sale);
/* Does the ledger have this order? */
enum outcome store_find_sale(struct sale *sale, bool *is_found);

/* ---- A cart: with options->is_cart an order is for one unit of each of two products, rows 0 and 1.
 * Two calls of store_write_stock() sell it; in one transaction they sell both or none. Without one,
 * half of a cart may be sold. A take in one step is FAILED. After SOLD the members of the sale tell
 * the unit that it sold first. */

/* The two rows, in the order in which the customer put the products into the cart. The same for each
 * call of a sale. Other sales may have the opposite order. */
void store_cart(struct sale *sale, int rows[2]);

/* ---- Transactions: one at a time, begin to end. Others see its writes when it commits, all at
 * once. A crash rolls it back. So does the store when the sale asks nothing of it for some seconds.
 * Reads and writes of the stock are part of it. Locks, keys and looks at the ledger are not.
 * store_take_stock() is not allowed inside. After a step with an outcome other than OK or SOLD,
 * only store_end() may follow. A step out of place is FAILED. So is a sale that leaves its
 * transaction open, which is then rolled back. */

/* Begin.
 *
 *     READ_COMMITTED  each read sees the latest commits; a write waits for the row and replaces
 *                     its value
 *     SERIALIZABLE    each read sees the moment of the first one; the result is as if transactions
 *                     ran one after another, or a step or the end is CONFLICT
 *
 * BUSY when there is no room for one more. Only after OK is there something to end. */
enum outcome store_begin(struct sale *sale, enum isolation isolation);
/* End. `outcome` is that of the last step. After SOLD the store passes before-commit and commits.
 * After any other it rolls back and returns `outcome`, or FAILED for UNKNOWN, because nothing was
 * sold. The commit returns:
 *
 *     SOLD               and the members of the sale tell its unit
 *     CONFLICT           the isolation forbids it
 *     BUSY, FAILED       nothing was sold
 *     REPEATED, UNKNOWN  no answer: the ledger has the order, or not yet. The commit may still
 *                        land for some seconds, and until then other sales wait for the row */
enum outcome store_end(struct sale *sale, enum outcome outcome);

/* ---- Locks: one at a time, a second one is FAILED. Only LOCK_REENTRANT may be taken again by its
 * holder, which must give it back as often. Giving back a lock that the sale does not hold does
 * nothing. A write under such a lock is FAILED. */

/* Win the lock of this product's shard within options->wait_ms of the sale's start, else BUSY. Then
 * after-lock. */
enum outcome store_lock(struct sale *sale, enum lock_kind kind, int shard,
                        struct store_lock **lock);
/* The same, but shared: it waits while a sale holds the lock by store_lock(), or waits for it in
 * line before this one. LOCK_RWLOCK and LOCK_REDIS_RW only. A sale must give back its share before
 * it asks for the lock alone, or it would wait for itself. */
enum outcome store_lock_shared(struct sale *sale, enum lock_kind kind, int shard,
                               struct store_lock **lock);
/* LOCK_STAMPED: a stamp that changes whenever a sale takes the lock; 0 while a sale holds it. Takes
 * nothing. */
uint64_t store_stamp(struct sale *sale, int shard);
/* Win LOCK_STAMPED at once if nobody held it since `stamp`, so all reads since then are still
 * valid; else CONFLICT. Then after-lock. */
enum outcome store_lock_stamped(struct sale *sale, int shard, uint64_t stamp,
                                struct store_lock **lock);
/* Pass before-unlock and give the lock back. When `outcome` is UNKNOWN, keep it from others for as
 * long as the write may still happen. */
void store_unlock(struct sale *sale, struct store_lock *lock, enum outcome outcome);

/* ---- Keys and values, raw: the commands from which people built locks before there were
 * libraries. BUSY also when nobody can tell whether a command took effect. */

/* Run a command or a script. OK, and then is_yes and `reply` of its commands. */
enum outcome store_kv(struct sale *sale, struct kv_call *call);
/* OK, and *was_set tells whether the key was absent. If it was, then after-lock. `ttl_ms` 0: the
 * key does not expire. */
enum outcome store_kv_set_absent(struct sale *sale, const char *key, const char *value,
                                 int64_t ttl_ms, bool *was_set);
/* After before-expire. Does nothing if the key is not there (any more). */
enum outcome store_kv_expire(struct sale *sale, const char *key, int64_t ttl_ms);
/* `value` is "" when the key is not there. */
enum outcome store_kv_get(struct sale *sale, const char *key, char value[KV_TEXT]);
/* After before-delete. Deletes it even if another client set it. */
enum outcome store_kv_delete(struct sale *sale, const char *key);
/* After before-delete. Deletes it only if it has this value, in one step. */
enum outcome store_kv_delete_if_equal(struct sale *sale, const char *key, const char *value);

/* ---- Everything else */

/* The shard that this sale should try first, by options->deal. */
int store_deal(struct sale *sale);
/* Whether the last store_read_stock() of that row, by any sale of this instance, found no unit. The
 * instance forgets it now and then, and the row may have changed: use it to choose which row to ask
 * first, never as the answer. Always false when there is only one row. */
bool store_saw_empty(struct sale *sale, int shard);
void store_random_token(struct sale *sale, char token[TOKEN_TEXT]);
/* Before a retry: pause for a time that grows with sale->pauses, with jitter. BUSY, at once, when
 * options->wait_ms is over. */
enum outcome store_pause(struct sale *sale);
/* The simulated business time between read and write. */
void store_work(struct sale *sale);
/* A piece of it, of `most_ms` at most. True: some of it is left. A piece may take longer than that:
 * a payment hangs, a packet is late. */
bool store_work_for(struct sale *sale, int64_t most_ms);

#define TRACE_TEXT 64 /* with the NUL */
/* Show a text among the sale's steps: in a schedule of the explorer, and in the log of an instance.
 * It is no step and changes nothing. The text is cut to TRACE_TEXT. snprintf() can make it. */
void store_trace(struct sale *sale, const char *text);

#endif
