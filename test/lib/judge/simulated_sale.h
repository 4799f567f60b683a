/* Simulates runs of a correct shop: the answers to its customers, and its ledgers.
 *
 * Each product has a stock row for each shard, and sells as inventory-svc and order-svc do: shard
 * by shard, then a unit that came back, then "sold out". A key buys once. An order is recorded
 * before the yes, or settled at the end. Requests and replies are lost, clients time out before and
 * after the sale took effect, instances crash between a sale and its order or stand still, locks
 * are not won, several workers send, and the clock is so coarse that much happens at the same time.
 * Without keys a sale may be undone; its unit is sold again, from a list or from the count. */
#ifndef JUDGE_TEST_SIMULATED_SALE_H
#define JUDGE_TEST_SIMULATED_SALE_H

#include "test.h"
#include "verdict.h"

#define ITEMS    2
#define SHARDS   3
#define REQUESTS 48
#define ROOM     (REQUESTS + 48) /* a test may add some */
#define CUT_NONE INT64_MAX

/* The shop and its customers. */
struct simulated_shop {
    bool is_lying;         /* it sometimes says sold out although it has units */
    bool is_losing;        /* it loses requests and replies */
    bool is_faulty;        /* instances crash and stand still, with events */
    bool is_keyless;       /* no request has a key, and sales are undone */
    bool returns_to_count; /* units come back to the count; there is one row */
    bool is_loaded;        /* an order sometimes gets a second unit, which comes back by number */
    int items, shards;     /* 0: random */
    int workers;           /* the second one sometimes sends late */
    int requests, units;   /* the most of all products; 0: REQUESTS, and 24 units */
};

/* The run that simulate() made. A test may change it; then it calls sum_up(). */
struct simulated_sale {
    int items, shards;
    bool is_keyless;           /* its requests may have given units back */
    bool is_loaded;            /* the same of each that was not told sold out */
    int64_t cut;               /* when the run was interrupted and its ledgers read; or CUT_NONE */
    struct recorder *recorder; /* of the test, with room for ROOM */
    struct ledger ledgers[ITEMS];
    struct ledger_sale sales[ITEMS][ROOM];
    struct ledger_order orders[ITEMS][ROOM];
    struct ledger_row rows[ITEMS][SHARDS];
    struct ledger_returned returned[ITEMS][ROOM];
    struct event events[ROOM];
    struct event_list event_list;
};
extern struct simulated_sale sim;

/* Make a run. Each seed gives another one. */
void simulate(uint64_t seed, const struct simulated_shop *shop);

/* Pseudo-random: a number between the two; true once in so many calls. */
int64_t pick(int64_t from, int64_t to);
bool one_in(int64_t chances);

/* Add rows to the ledgers, and find rows; NULL: there is none. */
void write_id(char id[UUID_TEXT], int key);
/* The same as a text that stays until the next run. */
const char *id_of(int key);
void add_sale(uint32_t item, const char *id, int64_t shard, int64_t unit, int64_t remaining,
              int64_t now);
void add_order(uint32_t item, const struct ledger_sale *sale);
struct ledger_sale *sale_of(uint32_t item, const char *id);
struct ledger_order *order_of(uint32_t item, const char *id);
/* The number of requests of the product with this outcome. */
size_t count_of(uint32_t item, enum record_outcome outcome);
/* Compute the sums of the ledgers, and sort them. */
void sum_up(void);
/* The units of the product that were never sold. */
int64_t units_left(uint32_t item);

#endif
