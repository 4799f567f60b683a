/* Runs of a correct sale, simulated: what its customers are told, and its ledgers.
 *
 * Each product has a stock row for each shard, and sells as inventory-svc and order-svc do: shard
 * by shard, then a unit that came back, then "sold out"; a key buys once; an order is recorded
 * before the yes, or settled at the end. On the way there are lost requests and replies, timeouts
 * before and after the sale took effect, instances that crash between a sale and its order or stand
 * still, locks not won, several workers, and a clock so coarse that much happens at the same time.
 * Without keys a sale may be undone; its unit is sold again, from a list or from the count. */
#ifndef JUDGE_TEST_SIMULATED_SALE_H
#define JUDGE_TEST_SIMULATED_SALE_H

#include "test.h"
#include "verdict.h"

#define ITEMS    2
#define SHARDS   3
#define REQUESTS 48
#define ROOM     (REQUESTS + 48) /* for what a test adds */
#define CUT_NONE INT64_MAX

/* The shop and its customers. */
struct simulated_shop {
    bool is_lying;         /* now and then sold out although there are units */
    bool is_losing;        /* requests and replies */
    bool is_faulty;        /* instances crash and stand still, and events tell of it */
    bool is_keyless;       /* no request has a key, and sales are undone */
    bool returns_to_count; /* units that come back; there is one row */
    int items, shards;     /* 0: by lot */
    int workers;           /* the second sends late now and then */
    int requests, units;   /* of all products, the most; 0: REQUESTS, and 24 units */
};

/* The run that simulate() made; a test may change it, and then calls sum_up(). */
struct simulated_sale {
    int items, shards;
    bool is_keyless;           /* its requests may have given units back */
    int64_t cut;               /* the run was interrupted and its ledgers were read; or CUT_NONE */
    struct recorder *recorder; /* the test's, with room for ROOM */
    struct ledger ledgers[ITEMS];
    struct ledger_sale sales[ITEMS][ROOM];
    struct ledger_order orders[ITEMS][ROOM];
    struct ledger_row rows[ITEMS][SHARDS];
    struct ledger_returned returned[ITEMS][ROOM];
    struct event events[ROOM];
    struct event_list event_list;
};
extern struct simulated_sale sim;

/* A run of its own for each seed. */
void simulate(uint64_t seed, const struct simulated_shop *shop);

/* Numbers that the seed decides: between the two, and true once in so many calls. */
int64_t pick(int64_t from, int64_t to);
bool one_in(int64_t chances);

/* Add rows to the ledgers, and find them: NULL when there is none. */
void write_id(char id[UUID_TEXT], int key);
void add_sale(uint32_t item, const char *id, int64_t shard, int64_t unit, int64_t remaining,
              int64_t now);
void add_order(uint32_t item, const struct ledger_sale *sale);
struct ledger_sale *sale_of(uint32_t item, const char *id);
struct ledger_order *order_of(uint32_t item, const char *id);
/* Requests of the product that were told this. */
size_t count_of(uint32_t item, enum record_outcome outcome);
/* The sums of the ledgers, and their order. */
void sum_up(void);
/* In the rows of the product, of those that never were sold. */
int64_t units_left(uint32_t item);

#endif
