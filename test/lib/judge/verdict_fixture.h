/* A hand-made run for the tests of verdicts: requests, replies and the ledger. */
#ifndef JUDGE_TEST_VERDICT_FIXTURE_H
#define JUDGE_TEST_VERDICT_FIXTURE_H

#include "test.h"
#include "verdict.h"

#include <inttypes.h>

#define ROOM 512
#define MS   INT64_C(1000000)

/* A run under construction. Request i has the key of number i and runs from i ms to i + 3 ms. */
extern struct recorder *recorder;
extern struct ledger ledger;
extern struct ledger_sale sales[ROOM];
extern struct ledger_order orders[ROOM];
extern struct ledger_returned returned_units[ROOM];
extern char ids[ROOM][UUID_TEXT];
extern struct verdict verdict;
extern struct verdict_case judged;

int verdict_set_up(void **state);
int verdict_tear_down(void **state);
#define JUDGED(test) cmocka_unit_test_setup_teardown(test, verdict_set_up, verdict_tear_down)

/* Add a request with this outcome. Its reply and rows are added to it. */
struct record *request(enum record_outcome outcome);
/* Set when it was sent and answered. */
struct record *at(struct record *record, int64_t sent_ms, int64_t received_ms);
/* Add a repeat of the key, with the same answer if that is yes. */
struct record *repeat(const struct record *first, enum record_outcome outcome);
/* Add a ledger row for the request of this number. */
struct ledger_sale *ledger_row(int number, int64_t unit);
void order_row(int number, int64_t unit);
void returned_row(int64_t shard, int64_t unit);
/* Add a correct sale: told, in the ledger, recorded, and taken from the stock. */
struct record *sell(int64_t unit);

void judge(void);
/* Judge, and assert that this anomaly was found `count` times, and no other one. */
void assert_only(enum anomaly anomaly, int64_t count);
/* Judge, and assert this kind of verdict, without an anomaly. */
void assert_kind(enum verdict_kind kind);
/* Judge, and return the counterexample of this anomaly. */
const struct counterexample *counterexample_of(enum anomaly anomaly);
#define ORDER "01900000-0000-7000-8000-00000000000" /* the digit of the request follows */
/* Set the time of the day at which the row of this sale was written. */
void at_time(int sale, const char *clock);

#endif
