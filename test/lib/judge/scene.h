/* A hand-made run on one line, and its verdict. A table of them is a table of tests.
 *
 * A run is a list of words, in the order of its requests:
 *   sold:10        a correct sale of unit 10: told, in the ledger, recorded
 *   sold:10..7     four such sales
 *   busy           a request with this outcome, by its record_outcome_name(), and without a sale
 *   busy:10        the same with a sale
 *   busy*20        20 such requests
 *   promise:10     told yes, without a sale
 *   row:10=7       a sale and an order with the id of request 7; sale: or order: only one of both
 *   back:10        a unit that came back
 *   stock=5        units at the beginning; likewise rows=2, of as many units each
 *   left=7         units at the end; left1=3: in the row of shard 1; other numbers of the ledger
 *                  and of struct verdict_case likewise, by their names
 *   count=7        one row sells all, has 7 left, and units return to its count; list=7: they
 *                  return to the list
 *   keyless        a flag of struct verdict_case
 *   loaded         Redis sold the first row; it comes after list=
 * The word of a request or a row may continue with
 *   %10:01:02.123456  written at this time of the day; it comes last
 *   @1-2           sent after 1 ms, answered after 2 (else request i: i + 0.1 ms to i + 3 ms)
 *   #1             sold by shard 1
 *   /3             3 remain in its row
 *   >9  ^9         told unit 9; recorded for unit 9
 *   =7             with the key of request 7, and so its order
 *   &0             a repeat of request 0, told the same if it is sold
 *   !5             its reply names the order of request 5
 * and it begins with ~ if the request had no key and no reply named its order. */
#ifndef JUDGE_TEST_SCENE_H
#define JUDGE_TEST_SCENE_H

#include "verdict_fixture.h"

struct scene {
    const char *name, *run;
    /* "valid", "inconclusive", or all anomalies with their counts; then members of struct
     * verdict: "TWIN 1, LEAK 2, left 9". Then texts in the examples of the first anomaly, one of
     * each, or in the reasons: "LEAK 2: unit 8 is in the stock; unit 9 was passed over". */
    const char *verdict;
};

/* The words of its counterexample of an anomaly. */
struct telling {
    const char *name, *run;
    enum anomaly anomaly;
    int line; /* which one; or: */
    const char *lines;
};
#define ALL  (-1)
#define LAST (-2)

/* Run a test for each row, up to one without a name, and the tests of the file. NULL: no table. */
int scene_run_group(const struct scene *scenes, const struct telling *tellings,
                    const struct CMUnitTest *tests, size_t count);

#endif
