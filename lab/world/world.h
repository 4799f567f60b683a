/* The state of the model (model.h), and a sale's steps in it.
 *
 * All of the state is one flat struct without pointers, so a scheduler can hash it, compare it and
 * begin again. Sales run in fibers. Before each operation that others could see, model_step() calls
 * world->turn(), which comes back when the scheduler has chosen this order: the effect follows at
 * once, and all that the sale computes up to its next operation. So one turn is one step, and what
 * happens between two steps of one order is what the scheduler chose. */
#ifndef LAB_WORLD_H
#define LAB_WORLD_H

#include "keys.h"
#include "strategy.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MODEL_ORDERS    7 /* and the last customer */
#define MODEL_INSTANCES 4
#define MODEL_SHARDS    16
#define MODEL_GRANTS    12 /* one for each order, and what some left behind */
#define MODEL_LAG       2  /* writes, at most, that a replica lags behind */
#define MODEL_NEVER     INT64_MAX

/* What is explored. Pointers are the caller's and stay valid. */
struct model_setup {
    const struct strategy *strategy;
    struct sale_options options;
    int orders, instances, stock; /* 1..MODEL_ORDERS, 1..MODEL_INSTANCES, 0.. */
    int machines;                 /* that the instances are on, in turn; 0: one */
    unsigned faults;              /* that may happen: bits of 1 << enum sale_fault */
};

enum order_state { ORDER_TO_COME, ORDER_RUNS, ORDER_ENDED, ORDER_KILLED };

/* What an order that cannot make its next step waits for. */
enum order_wait {
    WAITS_NOT,
    WAITS_SLEEP,  /* until wake_ms; whoever chooses it makes the clock jump */
    WAITS_CHANGE, /* before another attempt: for anything to change, or for due_ms */
    WAITS_LOCK,   /* for its lock, or for due_ms */
    WAITS_ROW,    /* for the row that another's transaction holds, or for due_ms */
    WAITS_BATCH,  /* for the statement that sells to it: due_ms is until that is sent */
};

/* What the next step of an order does. */
enum order_step {
    STEP_LOOKS,   /* nothing that others see */
    STEP_LOCKS,   /* its lock is tried */
    STEP_UNLOCKS, /* it is given back */
    STEP_WRITES,  /* stock and ledger, in one statement */
    STEP_SELLS,   /* in another way: a commit, a script, a unit that came back */
    STEP_KEYS,    /* a key is changed */
};

/* A lock, as its holder has it; or, while `times` is 0, as it waits for it. */
struct store_lock {
    uint8_t kind; /* enum lock_kind */
    uint8_t shard, times, is_shared;
    uint8_t behind; /* orders that are before it in the line: bits */
    uint8_t none[3];
    int64_t ends_ms; /* by its holder's count; 0: not while that lives and renews it */
    int64_t fence;
};

/* A lock, as who grants it has it. */
struct model_grant {
    uint8_t owner; /* 1 + the order; 0: there is none */
    uint8_t kind, shard, is_shared;
    uint8_t place; /* 1 + the instance or machine that alone knows of it; 0: all do */
    uint8_t none[3];
    int64_t ends_ms; /* 0: not while its holder lives and renews it; or MODEL_NEVER */
};

/* A write that was not answered and may still land. */
struct model_flight {
    uint8_t owner; /* 1 + the order; 0: there is none */
    uint8_t shard, guard, is_take;
    int32_t available, version, unit, seen_fence, fence;
    uint32_t batch; /* the orders that it sells to, a list as below; 0: it is none */
    uint8_t none[4];
    int64_t until_ms; /* and no later */
};

/* A statement that the order with this index has sent for itself and others of its instance, and
 * those that will go together when it is back; all zero when it has sent none. Orders are listed by
 * four bits each, 1 + the order; the first one lowest. */
struct model_batch {
    uint8_t shard, none[3];
    uint32_t sent, waiting;
};

/* A row of stock; as struct stock_row. */
struct model_row {
    int32_t first_unit, initial, available, version, fence;
    int32_t holder;  /* the order whose transaction has the row; -1: nobody */
    uint64_t loaded; /* the hash of the data set that sells it; 0: none */
};

/* A row of the ledger, of the order with this index; there is one per order. */
struct model_sold {
    bool is_there;
    uint8_t instance, shard;
    uint8_t number; /* the how manyeth row of the ledger it is, from 1 */
    int32_t unit, remaining, fence;
};

struct model_order {
    uint8_t state;   /* enum order_state */
    uint8_t outcome; /* enum outcome, once it ended; or of its batch, until it knows */
    uint8_t instance;
    uint8_t came_after;                    /* orders that had been answered when it began: bits */
    uint8_t waits;                         /* enum order_wait */
    uint8_t step;                          /* enum order_step */
    uint8_t wait_shard;                    /* of WAITS_ROW */
    uint8_t has_changed;                   /* something has, since it began or last tried again */
    int32_t unit, remaining, fence, shard; /* that it was told, once it ended with SOLD */
    int64_t begun_ms;                      /* of its wait= */
    int64_t due_ms;                        /* when it gives up waiting */
    int64_t wake_ms;                       /* of WAITS_SLEEP */
    uint64_t past;                         /* a hash of all that it was answered; 0 when it ended */
    struct store_lock lock;
};

/* A row as a transaction saw it first. */
struct model_seen {
    int16_t available, version, unit, fence;
};

enum txn_state {
    TXN_NONE,
    TXN_READ_COMMITTED,
    TXN_SERIALIZABLE,
    TXN_FAILED,    /* a step of it has; only its end may follow */
    TXN_LOST,      /* it stood idle for too long, and the store has ended it */
    TXN_COMMITTED, /* was serializable, and others that it overlaps with are not over */
};

/* A transaction of the order with this index; all zero when there is none. What it wrote others see
 * once it is committed. */
struct model_txn {
    uint8_t state; /* enum txn_state */
    uint8_t wrote; /* 1 + the shard */
    uint8_t has_snapshot;
    uint8_t is_doomed;              /* the next step of it is a CONFLICT */
    uint8_t before;                 /* the ledger's rows at its snapshot */
    uint8_t after;                  /* and once it was committed */
    uint8_t readers;                /* orders that read what it overwrote, unseen: bits */
    uint8_t none;                   /* no padding */
    int32_t available, unit, fence; /* that it wrote */
    uint16_t read;                  /* shards that it read, as serializable: bits */
    uint16_t overtaken;             /* shards that were written since its snapshot: bits */
    int64_t idle_ms;                /* when the store ends it, unless asked something before */
};

/* A unit that is on its way back, or to the ledger: 0 for none, as units are numbered from 1. */
struct model_unit {
    int16_t shard, unit;
};
#define MODEL_UNITS 16

/* The unit in a place of the count, as in sql/inventory.sql. */
struct model_place {
    int16_t shard, place, unit, none;
};

/* The unit was brought to the ledger for this order. */
struct model_brought {
    int16_t unit, order;
};

/* The state: flat, without padding, and zero wherever nothing is. */
struct model_state {
    int64_t now_ms;
    uint8_t answered;               /* orders: bits */
    uint8_t sold_count;             /* rows that the ledger ever had */
    uint8_t faults_made;            /* bits of enum sale_fault */
    uint8_t paused;                 /* instances: bits */
    uint8_t dealt[MODEL_INSTANCES]; /* the shard that is next */
    uint8_t gave_back;              /* orders that were sold a unit and gave it back: bits */
    uint8_t returned_count, place_count, brought_count;
    uint8_t none[4];
    uint16_t seen_empty[MODEL_INSTANCES]; /* of several rows, those that it last read so: bits */
    struct model_row rows[MODEL_SHARDS];
    struct model_sold sold[MODEL_ORDERS + 1];
    struct model_order orders[MODEL_ORDERS + 1];
    struct model_txn txns[MODEL_ORDERS + 1];
    struct model_seen seen[MODEL_ORDERS + 1][MODEL_SHARDS]; /* of those with a snapshot */
    struct model_grant grants[MODEL_GRANTS];
    int32_t fences[MODEL_SHARDS];     /* the highest token of each lock */
    uint8_t stamped[MODEL_INSTANCES]; /* how often LOCK_STAMPED was won there */
    uint8_t flying;                   /* orders that were killed, and whose step may land: bits */
    uint8_t keyed;                    /* orders that have changed a key: bits */
    uint8_t lag;                      /* writes of keys that a replica may not have yet */
    uint8_t nothing;
    struct model_flight flight;
    struct model_batch batches[MODEL_ORDERS + 1];
    struct model_unit queued[MODEL_ORDERS + 1]; /* sold from keys: its instance brings it */
    struct model_unit returned[MODEL_UNITS];    /* for sale again, by number */
    struct model_place places[MODEL_UNITS];
    struct model_brought brought[MODEL_UNITS];
};

struct model_world;

/* One order's sale, and what is its own in its process. */
struct model_sale {
    struct sale sale;
    struct model_world *world;
    int index;
    int ledger;      /* whose row of the ledger it is: its own, but for a repeat */
    unsigned tokens; /* that it was given */
    char order_id[40], message[MESSAGE_BYTES];
};

struct model_world {
    struct model_setup setup;
    /* Come back when order `index` may make its next step: it is ready then (model_is_ready()). */
    void (*turn)(struct model_world *world, int index);
    /* Or NULL: what a step did, in a sentence without its subject: "reads the stock: 2 left". */
    void (*say)(struct model_world *world, int index, const char *text);
    void *data; /* of the two */

    struct model_state state;
    struct keys keys;                          /* of the product; part of the state, too */
    struct keys saved;                         /* while it is tried what time brings */
    struct keys before[MODEL_LAG];             /* its last writes, the last one first */
    bool is_lost;                              /* the reply of the step that is made now */
    bool is_dropped;                           /* its request is */
    int mover;                                 /* the order that makes it; -1: none */
    struct model_sale sales[MODEL_ORDERS + 1]; /* the last: of who comes when all has ended */
    char instances[MODEL_INSTANCES][24];
    /* What the strategy did before the first sale, which is the same each time. */
    struct {
        bool is_now, is_known;
        struct model_setup setup; /* that it is of */
        struct model_state state;
        struct keys keys;
        unsigned tokens;
    } prepared;
};

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
/* It is offered, and has not been made in this schedule. */
static inline bool model_may_happen(const struct model_world *world, enum sale_fault fault) {
    return ((world->setup.faults & ~(unsigned)world->state.faults_made) >> fault & 1U) != 0;
}

/* Before an effect. The order waits for `waits` until `due_ms`. */
void model_step(struct model_sale *sale, enum order_step step);
void model_wait(struct model_sale *sale, enum order_wait waits, int64_t due_ms);
/* An effect that others can see has happened. */
void model_changed(struct model_world *world);
/* What the operation answers becomes part of the order's past. */
enum outcome model_answer(struct model_sale *sale, enum outcome outcome, const void *more,
                          size_t size);
enum outcome model_answer_row(struct model_sale *sale, const struct stock_row *row); /* OK */
/* Tell a step, if anybody listens. */
__attribute__((format(printf, 2, 3))) void model_say(struct model_sale *sale, const char *format,
                                                     ...);
uint64_t model_mix(uint64_t hash, const void *bytes, size_t size);

/* What was sent and not answered. */
#define LANDS_MS                                                                                   \
    7000 /* of a statement and its commit, from its sending: as the live store has it */
/* It was a write; now it is on its way. UNKNOWN. */
enum outcome model_lose_write(struct model_sale *sale, struct model_flight flight);
/* model_step(). False: what it asks for never arrives. Then it is UNKNOWN, which is answered here,
 * and has no effect. */
bool model_arrives(struct model_sale *sale, enum order_step step);
/* Of a step that took effect: UNKNOWN when its reply is lost. */
enum outcome model_may_lose(const struct model_sale *sale, enum outcome outcome);

/* What those who grant locks know. */
enum lock_end {
    ENDS_WITH_PROCESS, /* no TTL; a crash frees it */
    ENDS_WITH_LEASE,   /* renewed as long as its holder runs, and a TTL after that */
    ENDS_AT_TTL,       /* not renewed */
    ENDS_WITH_NOTHING, /* but being given back */
};
enum lock_line {
    LINE_NONE,       /* luck decides */
    LINE_AT_PROCESS, /* who waits at one instance stands in line there */
    LINE_AT_LOCK,    /* one line for all */
};
enum lock_place { PLACE_PROCESS, PLACE_MACHINE, PLACE_SERVER };
struct lock_traits {
    enum lock_place place;
    enum lock_line line;
    enum lock_end end;
    bool has_fence;
    bool is_at_redis;      /* whose replica may be promoted */
    bool is_free_on_crash; /* at once, though it is a lease: its connection ends */
};
extern const struct lock_traits model_locks[];

#endif
