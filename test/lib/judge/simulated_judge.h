/* The judgement of simulated runs, and of what a test plants in them. */
#ifndef JUDGE_TEST_SIMULATED_JUDGE_H
#define JUDGE_TEST_SIMULATED_JUDGE_H

#include "simulated_sale.h"

#define RUNS 4000 /* of each kind */

extern struct verdict simulated_verdict; /* of the last one judged */

/* Of a group of tests. */
int simulated_set_up(void **state);
int simulated_tear_down(void **state);

/* The shop of this number, one of 36: with and without keys, lost replies, faults, several workers
 * and products, units that come back to a list or to the count. */
struct simulated_shop simulated_shop(uint64_t number);

void simulated_judge(void);
void print_run(uint64_t seed);

/* By lot; NULL when there is none. */
struct ledger_sale *any_sale(void);
/* Its customer was told of it, by the request that `told` becomes. */
struct ledger_sale *any_told(struct record **told);
struct record *any_of(enum record_outcome outcome);

uint32_t item_of(const struct ledger_sale *sale);
struct ledger_row *row_of(const struct ledger_sale *sale);
/* Neither a unit that had come back nor the last one of its row, which may be, nor one of a row to
 * whose count units may have come back. */
bool is_of_count(const struct ledger_sale *sale);
bool is_told(const struct ledger_sale *sale);
/* The yes that is the only request of its key, so that it is known when the sale began and ended;
 * or NULL. */
struct record *only_yes(const struct ledger_sale *sale);
/* Requests of the product that may have given a unit back. */
size_t count_givers(uint32_t item);

/* In the ledger, the order, and the replies. */
void set_unit(struct ledger_sale *sale, int64_t unit);
void exchange_units(struct ledger_sale *a, struct ledger_sale *b);
void drop_sale(struct ledger_sale *sale);
void drop_order(uint32_t item, const char *id);
/* The reply says this, and names nothing. */
void tell(struct record *record, enum record_outcome outcome);
/* All requests with this key. */
void tell_all(const char *key, enum record_outcome outcome);
/* Another request, of another customer. */
struct record *add_request(uint32_t item, enum record_outcome outcome, int64_t sent_ns,
                           int64_t received_ns);
void add_returned(uint32_t item, int64_t shard, int64_t unit);
/* After this moment nothing more happened. */
int64_t end_of_run(void);

/* ---- mutants: a run of a correct shop with one thing changed, and the anomaly to be found */

#define MUST(anomaly) (1u << ANOMALY_##anomaly)
#define MUST_LEAK     MUST(LEAK)
#define STAYS_VALID   0u

struct mutant {
    const char *name;
    unsigned must; /* one of these anomalies; STAYS_VALID: none */
    /* One of these, for `number`: it changes
     * - the run in `sim`;
     * - any sale;
     * - any sale whose customer was told of it by `told`;
     * - two sales of one row's count, each told by its only request;
     * - any request with the outcome `number`;
     * - any stock row of the product `item`;
     * - any unit that came back.
     * False where there is no place for it; nothing was changed then. */
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

/* A test that tries each of these, up to one without a name, in many runs: each is judged right,
 * and each sentence that is said of it is true of its rows. */
void judge_mutants(void **state);
#define MUTANTS_TEST(name, kinds)                                                                  \
    { name, judge_mutants, NULL, NULL, (void *)(uintptr_t)(kinds) }

#endif
