/* Judges simulated runs, and changes that a test makes in them. */
#ifndef JUDGE_TEST_SIMULATED_JUDGE_H
#define JUDGE_TEST_SIMULATED_JUDGE_H

#include "simulated_sale.h"

#define RUNS 4000 /* of each kind */

extern struct verdict simulated_verdict; /* of the last judged run */

/* For a group of tests. */
int simulated_set_up(void **state);
int simulated_tear_down(void **state);

/* The shop of this number. 36 kinds take turns: with and without keys, lost replies, faults,
 * several workers and products, and units that come back to a list or to the count. */
struct simulated_shop simulated_shop(uint64_t number);

void simulated_judge(void);
void print_run(uint64_t seed);

/* A random one, or NULL: there is none. */
struct ledger_sale *any_sale(void);
/* A sale with a yes; `told` gets that request. */
struct ledger_sale *any_told(struct record **told);
struct record *any_of(enum record_outcome outcome);

uint32_t item_of(const struct ledger_sale *sale);
struct ledger_row *row_of(const struct ledger_sale *sale);
/* Whether its unit certainly did not come back: it is not the last one of its row, and units do not
 * come back to the row's count. */
bool is_of_count(const struct ledger_sale *sale);
bool is_told(const struct ledger_sale *sale);
/* The yes if it is the only request of its key, so that the times of the sale are known; or
 * NULL. */
struct record *only_yes(const struct ledger_sale *sale);
/* Requests of the product that may have given a unit back. */
size_t count_givers(uint32_t item);

/* Change ledger, order and replies. */
void set_unit(struct ledger_sale *sale, int64_t unit);
void exchange_units(struct ledger_sale *a, struct ledger_sale *b);
void drop_sale(struct ledger_sale *sale);
void drop_order(uint32_t item, const char *id);
/* Change the reply to this outcome, without order and unit. */
void tell(struct record *record, enum record_outcome outcome);
/* The same for all requests with this key. */
void tell_all(const char *key, enum record_outcome outcome);
/* Add a request of another customer. */
struct record *add_request(uint32_t item, enum record_outcome outcome, int64_t sent_ns,
                           int64_t received_ns);
void add_returned(uint32_t item, int64_t shard, int64_t unit);
/* The last moment of the run. */
int64_t end_of_run(void);

/* ---- mutants: runs of a correct shop with one change, and the anomaly that must be found */

#define MUST(anomaly) (1u << ANOMALY_##anomaly)
#define MUST_LEAK     MUST(LEAK)
#define STAYS_VALID   0u

struct mutant {
    const char *name;
    unsigned must; /* one of these anomalies must be found; STAYS_VALID: none */
    /* One of these, which gets `number`. In this order they change
     * - the run in `sim`;
     * - any sale;
     * - any sale with a yes, which is `told`;
     * - two sales of one row's count, each with only one request, which was told yes;
     * - any request with the outcome `number`;
     * - any stock row of the product `item`;
     * - any unit that came back.
     * False: nothing fits, and nothing was changed. */
    bool (*of_run)(int64_t number);
    int64_t number;
    bool (*of_sale)(struct ledger_sale *sale, int64_t number);
    bool (*of_told)(struct ledger_sale *sale, struct record *told, int64_t number);
    bool (*of_pair)(struct ledger_sale *lower, struct ledger_sale *higher, int64_t number);
    bool (*of_record)(struct record *record, int64_t number);
    bool (*of_row)(struct ledger_row *row, uint32_t item, int64_t number);
    bool (*of_back)(struct ledger_returned *returned, uint32_t item, int64_t number);
};
#define RUN(function, with)    .of_run = function, .number = with
#define SALE(function, with)   .of_sale = function, .number = with
#define TOLD(function, with)   .of_told = function, .number = with
#define PAIR(function, with)   .of_pair = function, .number = with
#define RECORD(function, with) .of_record = function, .number = with
#define ROW(function, with)    .of_row = function, .number = with
#define BACK(function, with)   .of_back = function, .number = with

/* Gives each customer's requests to one of three machines with clocks that are up to `most_ns` off,
 * so each moment becomes an interval that contains the true one; and judges. */
void simulated_judge_blurred(int64_t most_ns);
/* The first anomaly that was found, or -1. */
int first_found(void);

/* A test that tries each mutant, up to one without a name, in many runs. The verdict must be right,
 * and each of its sentences must be true of the rows. */
void judge_mutants(void **state);
#define MUTANTS_TEST(name, kinds)                                                                  \
    { name, judge_mutants, NULL, NULL, (void *)(uintptr_t)(kinds) }

#endif
