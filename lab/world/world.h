/* The state of the model (model.h), and a sale's steps in it.
 *
 * The whole state is one flat struct without pointers, so a scheduler can hash it, compare it and
 * begin again. Sales run in fibers. Before each operation that others could see, model_step() calls
 * world->turn(). It returns when the scheduler has chosen this order. The effect follows at once,
 * and then everything that the sale computes until its next operation. So one turn is one step, and
 * the scheduler chooses everything that happens between two steps of an order. */
#ifndef LAB_WORLD_H
#define LAB_WORLD_H

#include "keys.h"
#include "strategy.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MODEL_ORDERS    7 /* without the last customer */
#define MODEL_OTHERS    16
#define MODEL_INSTANCES 4
#define MODEL_SHARDS    16
#define MODEL_GRANTS    12 /* one for each order, and some that dead orders left behind */
#define MODEL_LAG       2  /* the most writes that a replica lags behind */
#define MODEL_NEVER     INT64_MAX
#define MODEL_FIRST     (1 << 30) /* the most that a row's version or fence begins with */

/* The names of an order, with its number from 1; of its tokens, with that number and theirs; and of an
 * instance. In a token there are too few zeros for the end of an id. */
#define MODEL_ORDER_ID "00000000-0000-7000-8000-%012d"
#define MODEL_TOKEN    "%04x0fffffffffffffffffffffffffffffff%04x"
#define MODEL_INSTANCE "inventory-%d"

/* The subject of an exploration. The caller owns what the pointers lead to and keeps it valid. */
struct model_setup {
    const struct strategy *strategy;
    struct sale_options options;
    int orders, instances, stock; /* 1..MODEL_ORDERS, 1..MODEL_INSTANCES, 0.. */
    int others;                   /* customers at other shops: each buys just before a write */
    int version;                  /* of each row, at the beginning */
    int fence;                    /* the same: the token of its last write; and of each lock */
    int stall_ms;                 /* so much longer takes the first order's first piece of work */
    int machines;                 /* the instances are on them in turn; 0: one machine */
    unsigned faults;              /* the faults that may happen: bits of 1 << enum sale_fault */
    int serves_all;               /* 1: no customer may be turned away (view.h) */
    int masters;                  /* of prewarm's stock; 2: a Redis Cluster; 0: by replicas= */
    int knows_all;                /* 1: no customer may be told UNKNOWN (view.h) */
};

enum order_state { ORDER_TO_COME, ORDER_RUNS, ORDER_ENDED, ORDER_KILLED };

/* The reason for which an order cannot make its next step. */
enum order_wait {
    WAITS_NOT,
    WAITS_SLEEP,  /* until wake_ms; if it is chosen, the clock jumps there */
    WAITS_CHANGE, /* before another attempt: for any change, or for due_ms */
    WAITS_LOCK,   /* for its lock, or for due_ms */
    WAITS_ROW,    /* for the row that another transaction holds, or for due_ms */
    WAITS_BATCH,  /* for the statement that sells to it; due_ms counts until that is sent */
};

/* The effect of an order's next step. */
enum order_step {
    STEP_LOOKS,   /* no effect that others see */
    STEP_LOCKS,   /* it tries its lock */
    STEP_UNLOCKS, /* it releases its lock */
    STEP_WRITES,  /* it writes stock and ledger, in one statement */
    STEP_SELLS,   /* it sells in another way: a commit, a script, a unit that came back */
    STEP_KEYS,    /* it changes a key */
};

/* A lock, from its holder's view; or, while `times` is 0, from its waiter's view. */
struct store_lock {
    uint8_t kind; /* enum lock_kind */
    uint8_t shard, times, is_shared;
    uint8_t behind; /* the orders before it in the line: bits */
    uint8_t none[3];
    int64_t ends_ms; /* by its holder's count; 0: it is renewed while its holder lives */
    int64_t fence;
};

/* A lock, from its server's view. */
struct model_grant {
    uint8_t owner; /* 1 + the order; 0: there is no grant */
    uint8_t kind, shard, is_shared;
    uint8_t place; /* 1 + the only instance or machine that knows of it; 0: all do */
    uint8_t none[3];
    int64_t ends_ms; /* 0: it is renewed while its holder lives; or MODEL_NEVER */
};

/* A write without an answer, which may still land. */
struct model_flight {
    uint8_t owner; /* 1 + the order; 0: there is no flight */
    uint8_t shard, guard, is_take;
    int32_t available, version, unit, seen_fence, fence;
    uint32_t batch; /* the orders that it sells to, a list as below; 0: it is no batch */
    uint8_t none[4];
    int64_t until_ms; /* it lands by then, or never */
};

/* A statement that the order with this index has sent for itself and other orders of its instance,
 * and the orders that wait to go together when it is back; all zero if it has sent none. A list has
 * four bits for each order: 1 + the order, with the first one lowest. */
struct model_batch {
    uint8_t shard, none[3];
    uint32_t sent, waiting;
};

/* A row of stock, like struct stock_row. */
struct model_row {
    int32_t first_unit, initial, available, version, fence;
    int32_t holder;  /* the order with a transaction that holds the row; -1: none */
    uint64_t loaded; /* the hash of the data set that sells it; 0: none */
};

/* A row of the ledger, of the order with this index. There is one row per order; of a cart, two. */
struct model_sold {
    bool is_there;
    uint8_t instance, shard;
    uint8_t number; /* its place in the ledger, from 1 */
    int32_t unit, remaining, fence;
};

struct model_order {
    uint8_t state;   /* enum order_state */
    uint8_t outcome; /* enum outcome, once it has ended; before that its batch's, until it hears */
    uint8_t instance;
    uint8_t came_after;                    /* the orders with answers when it began: bits */
    uint8_t waits;                         /* enum order_wait */
    uint8_t step;                          /* enum order_step */
    uint8_t wait_shard;                    /* of WAITS_ROW */
    uint8_t has_changed : 1;               /* another order has since its last attempt */
    uint8_t has_deadlocked : 1;            /* a deadlock has ended its last transaction */
    int32_t unit, remaining, fence, shard; /* its answer, once it has ended with SOLD */
    int64_t begun_ms;                      /* its wait= counts from here */
    int64_t due_ms;                        /* when it gives up waiting */
    int64_t wake_ms;                       /* of WAITS_SLEEP */
    uint64_t past;                         /* a hash of all its answers; 0 once it has ended */
    struct store_lock lock;
};

/* A row at a transaction's first read of it. */
struct model_seen {
    int32_t available, version, unit, fence;
};

enum txn_state {
    TXN_NONE,
    TXN_READ_COMMITTED,
    TXN_SERIALIZABLE,
    TXN_FAILED,    /* a step of it has failed; only its end may follow */
    TXN_LOST,      /* it stood idle for too long, so the store has ended it */
    TXN_COMMITTED, /* it was serializable, and overlaps with others that have not ended */
};

/* A write of a transaction. */
struct model_write {
    int32_t available, unit, fence;
};

/* A transaction of the order with this index; all zero if there is none. Others see its write once
 * it has committed. */
struct model_txn {
    uint8_t state; /* enum txn_state */
    uint8_t wrote; /* 1 + the shard of `write`; 0: nothing */
    uint8_t has_snapshot;
    uint8_t is_doomed;    /* its next step is a CONFLICT */
    uint8_t before;       /* the number of the ledger's rows at its snapshot */
    uint8_t after;        /* the same number at its commit */
    uint8_t readers;      /* orders that read the rows before its write: bits */
    uint8_t wrote_second; /* 1 + the shard of the write in model_second */
    struct model_write write;
    uint16_t read;      /* the shards that it read, if serializable: bits */
    uint16_t overtaken; /* the shards that were written since its snapshot: bits */
    int64_t idle_ms;    /* when the store ends it, unless it makes a step before */
};

/* The second unit of a cart of the order with this index. Only with options.is_cart. */
struct model_second {
    struct model_sold sold;
    struct model_write write; /* of its transaction */
    int32_t none;
};

/* A unit on its way back, or to the ledger. 0: none, because units are numbered from 1. */
struct model_unit {
    int16_t shard, unit;
};
#define MODEL_UNITS 16

/* The unit in a place of the count, as in sql/inventory.sql. */
struct model_place {
    int16_t shard, place, unit, none;
};

/* An instance brought the unit to the ledger for this order. */
struct model_brought {
    int16_t unit, order;
};

/* The state: flat, without padding. Unused parts are zero. */
struct model_state {
    int64_t now_ms;
    uint8_t answered;               /* the orders with an answer: bits */
    uint8_t sold_count;             /* all rows that the ledger has ever had */
    uint8_t faults_made;            /* bits of enum sale_fault */
    uint8_t paused;                 /* the instances that stand still: bits */
    uint8_t dealt[MODEL_INSTANCES]; /* the next shard */
    uint8_t gave_back;              /* the orders that gave their unit back: bits */
    uint8_t returned_count, place_count, brought_count;
    uint8_t worked;  /* the orders that have done the work of a sale: bits */
    uint8_t skipped; /* the orders that were sold a unit without it: bits */
    uint8_t freed;   /* the orders that have deleted a key of another */
    uint8_t bought_count;
    uint16_t seen_empty[MODEL_INSTANCES]; /* of several rows: the ones it last saw empty: bits */
    struct model_row rows[MODEL_SHARDS];
    struct model_sold sold[MODEL_ORDERS + 1];
    struct model_order orders[MODEL_ORDERS + 1];
    struct model_txn txns[MODEL_ORDERS + 1];
    struct model_seen seen[MODEL_ORDERS + 1][MODEL_SHARDS]; /* of transactions with a snapshot */
    struct model_grant grants[MODEL_GRANTS];
    int32_t fences[MODEL_SHARDS];     /* the highest token of each lock */
    uint8_t stamped[MODEL_INSTANCES]; /* how often an order won LOCK_STAMPED there */
    uint8_t flying;                   /* killed orders with a step that may land: bits */
    uint8_t keyed;                    /* the orders that have changed a key: bits */
    uint8_t lag : 4;                  /* writes that a replica may not have: 2 bits a master */
    uint8_t down : 4;                 /* the servers of keys that answer no more: bits */
    uint8_t has_bought : 1;           /* another customer has, since an order's last step */
    uint8_t failed : 2;               /* a replica has taken over from the master: bits */
    struct model_flight flight;
    struct model_batch batches[MODEL_ORDERS + 1];
    struct model_unit queued[MODEL_ORDERS + 1]; /* sold from keys; its instance brings it */
    struct model_unit returned[MODEL_UNITS];    /* for sale again, by number */
    struct model_place places[MODEL_UNITS];
    struct model_brought brought[MODEL_UNITS];
    struct model_sold bought[MODEL_OTHERS];        /* by other customers */
    struct model_second seconds[MODEL_ORDERS + 1]; /* the last member: see model_state_size() */
};

struct model_world;

/* One order's sale, and its own data in its process. */
struct model_sale {
    struct sale sale;
    struct model_world *world;
    int index;
    int ledger;        /* the order with its row of the ledger: itself, unless it is a repeat */
    unsigned tokens;   /* the number of tokens that it got */
    int64_t worked_ms; /* of the work that it has begun and not ended */
    bool prolongs;     /* it has given a key more time since its last pause */
    int part;          /* of the stock in Redis, that it asks */
    char order_id[40], message[MESSAGE_BYTES];
};

struct model_world {
    struct model_setup setup;
    /* Return when order `index` may make its next step. It must be ready (model_is_ready()). */
    void (*turn)(struct model_world *world, int index);
    /* Or NULL. Tells a step, in a sentence without its subject: "reads the stock: 2 left". */
    void (*say)(struct model_world *world, int index, const char *text);
    void *data; /* for both callbacks */

    struct model_state state;
    struct keys keys;  /* the product's; also part of the state */
    struct keys saved; /* a copy, while the model tries the future */
    /* The keys before the last writes of a master, newest first. */
    struct keys before[KEYS_PARTS][MODEL_LAG];
    bool is_lost;                              /* the reply of the current step is lost */
    bool is_dropped;                           /* the request of the current step is lost */
    int mover;                                 /* the order that makes the step; -1: none */
    struct model_sale sales[MODEL_ORDERS + 1]; /* the last one is the last customer's */
    char instances[MODEL_INSTANCES][24];
    /* The result of the strategy's preparation. It is the same each time. */
    struct {
        bool is_now, is_known;
        struct model_setup setup; /* the setup that it belongs to */
        struct model_state state;
        struct keys keys;
        unsigned tokens;
    } prepared;
};

/* The bytes of the state that are in use. */
static inline size_t model_state_size(const struct model_setup *setup) {
    return setup->options.is_cart ? sizeof(struct model_state)
                                  : offsetof(struct model_state, seconds);
}
/* The parts of the stock in Redis, each with a master. Row n is of part n modulo their number. A
 * sale that asks for replicas has a cluster. */
static inline int model_parts(const struct model_setup *setup) {
    const bool asks = setup->masters == 0 && setup->strategy != NULL &&
                      (setup->strategy->takes & TAKES_ACK) != 0 && setup->options.replicas > 0;

    return (setup->masters > 1 || asks) && setup->options.shards > 1 ? KEYS_PARTS : 1;
}
/* The writes of a master that its replica may not have. */
static inline int model_lag(const struct model_state *state, int part) {
    return state->lag >> 2 * part & 3;
}
static inline struct model_sale *model_of(struct sale *sale) {
    return (struct model_sale *)(void *)sale;
}
static inline struct model_order *order_of(struct model_sale *sale) {
    return &sale->world->state.orders[sale->index];
}
static inline struct model_txn *txn_of(struct model_sale *sale) {
    return &sale->world->state.txns[sale->index];
}
static inline bool is_open(const struct model_txn *txn) {
    return txn->state == TXN_READ_COMMITTED || txn->state == TXN_SERIALIZABLE;
}
static inline bool is_serial(const struct model_txn *txn) {
    return txn->state == TXN_SERIALIZABLE && txn->has_snapshot != 0;
}
static inline bool is_in_transaction(struct model_sale *sale) {
    return txn_of(sale)->state != TXN_NONE && txn_of(sale)->state != TXN_COMMITTED;
}
/* True if the setup has this fault, and it has not happened in this schedule. */
static inline bool model_may_happen(const struct model_world *world, enum sale_fault fault) {
    return ((world->setup.faults & ~(unsigned)world->state.faults_made) >> fault & 1U) != 0;
}

/* Call this before an effect. */
void model_step(struct model_sale *sale, enum order_step step);
/* Let the order wait for `waits` until `due_ms`. */
void model_wait(struct model_sale *sale, enum order_wait waits, int64_t due_ms);
/* Call this after an effect that others can see. */
void model_changed(struct model_world *world);
/* Return `outcome` as the operation's answer. The answer becomes part of the order's past. */
enum outcome model_answer(struct model_sale *sale, enum outcome outcome, const void *more,
                          size_t size);
enum outcome model_answer_row(struct model_sale *sale, const struct stock_row *row); /* OK */
/* Tell a step to world->say, if it is set. */
__attribute__((format(printf, 2, 3))) void model_say(struct model_sale *sale, const char *format,
                                                     ...);
uint64_t model_mix(uint64_t hash, const void *bytes, size_t size);

/* Requests without an answer. A statement or its commit lands within LANDS_MS of its sending, as in
 * the live store. */
#define LANDS_MS 7000
/* The system closes a dead process's connection behind its last bytes. The server reads both within
 * this time, and ends the transaction. */
#define CLOSES_MS 1000
/* Put a write on its way, and answer UNKNOWN. */
enum outcome model_lose_write(struct model_sale *sale, struct model_flight flight);
/* Call model_step(). False: the request never arrives and has no effect. Then this has answered
 * UNKNOWN. */
bool model_arrives(struct model_sale *sale, enum order_step step);
/* For a step that took effect: UNKNOWN if its reply is lost, otherwise `outcome`. */
enum outcome model_may_lose(const struct model_sale *sale, enum outcome outcome);

/* The properties of each kind of lock. */
enum lock_end {
    ENDS_WITH_PROCESS, /* it has no TTL; a crash frees it */
    ENDS_WITH_LEASE,   /* it is renewed while its holder runs, and expires a TTL after that */
    ENDS_AT_TTL,       /* it is not renewed */
    ENDS_WITH_NOTHING, /* only a release ends it */
};
enum lock_line {
    LINE_NONE,       /* luck decides */
    LINE_AT_PROCESS, /* one line in each instance */
    LINE_AT_LOCK,    /* one line for all */
};
enum lock_place { PLACE_PROCESS, PLACE_MACHINE, PLACE_SERVER };
struct lock_traits {
    enum lock_place place;
    enum lock_line line;
    enum lock_end end;
    bool has_fence;
    bool is_at_redis;      /* a failover may lose it */
    bool is_free_on_crash; /* a crash frees it at once, because its connection ends */
};
extern const struct lock_traits model_locks[];

#endif
