/* A hand-made run on one line, and the verdict on it: a table of them is a table of tests.
 *
 * A run is words, in the order of its requests:
 *   sold:10        a sale as it should be, of unit 10: told, in the ledger, recorded
 *   sold:10..7     four of them
 *   busy           a request that was told this, by its record_outcome_name(), and has no sale
 *   busy:10        and has one all the same
 *   busy*20        so many of them
 *   promise:10     told yes, and without a sale
 *   row:10=7       a sale and an order with the id of request 7, whoever asked; sale:, order: one
 *   back:10        a unit that came back
 *   stock=5        units that there were, when it begins; likewise rows=2 of as many units each
 *   left=7         that there are at its end; left1=3 in the row of shard 1; other numbers of the
 *                  ledger and of struct verdict_case likewise, by their names
 *   count=7        all is sold from one row that has 7 left, to whose count units return; list=7:
 *                  they do not
 *   keyless        one of the flags of struct verdict_case
 * A request's word, or a row's, goes on with any of
 *   %10:01:02.123456  written at this time of the day; behind all others
 *   @1-2           sent after 1 ms, answered after 2 (else request i: i + 0.1 ms to i + 3 ms)
 *   #1             by shard 1
 *   /3             3 remain in its row
 *   >9  ^9         told unit 9; recorded for unit 9
 *   =7             with the key of request 7, and so its order
 *   &0             a repeat of request 0, told the same if it is sold
 *   !5             its reply names the order of request 5
 * and begins with ~ when it was sent without a key and no reply named its order. */
#ifndef JUDGE_TEST_SCENE_H
#define JUDGE_TEST_SCENE_H

#include "verdict_fixture.h"

struct scene {
    const char *name, *run;
    /* "valid" or "inconclusive", or all anomalies with their counts; then members of struct
     * verdict: "TWIN 1, LEAK 2, left 9". Then texts in the examples of the first anomaly, one of
     * each, or in the reasons: "LEAK 2: unit 8 is in the stock; unit 9 was passed over". */
    const char *verdict;
};

/* What its counterexample of an anomaly says. */
struct telling {
    const char *name, *run;
    enum anomaly anomaly;
    int line; /* which one; or: */
    const char *lines;
};
#define ALL  (-1)
#define LAST (-2)

/* A test for each row, up to one without a name, and the tests of the file. NULL: no such table. */
int scene_run_group(const struct scene *scenes, const struct telling *tellings,
                    const struct CMUnitTest *tests, size_t count);

#endif
