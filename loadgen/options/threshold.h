/* Limits that a run must keep: --threshold 'oversell==0' --threshold 'p(99)<250ms'.
 *
 *     metric op value       op is one of == != < <= > >=
 *
 * Metrics: each anomaly in lower case (oversell, early-sold-out, ...), anomalies (all of them),
 * each outcome (sold, sold_out, busy, unknown, ...), offered, p(N), service_p(N), mean, max, rate,
 * retries (per unit sold), late (the part of requests sent over 10 ms late), overtaken (the largest
 * number of requests that were served before another one although sent at least 250 ms later).
 * A value is a number, a duration for times, or a percentage of the requests for outcomes.
 *
 * A limit holds for each round: it is kept if every round keeps it (summary_make()).
 *
 * While a round is being sent, a limit counts as missed only if no later request can mend it, so
 * --abort-on-fail never stops a round that would have passed:
 *
 *     outcomes, offered, max   an upper limit (<, <=, ==) is passed: the value can only grow
 *     busy<1%, late<1%         the count is too large a part of all planned requests
 *     p(N), service_p(N)       too many answers are over the limit for all planned requests:
 *                              with p(99)<250ms, 1 % of them and one more
 *     mean                     the sum so far, divided by all planned requests, exceeds the limit
 *
 * Lower limits (>, >=), !=, rate, retries, overtaken and anomalies are checked only for whole
 * rounds.
 *
 * A limit of `diff` has the same form. If its value has a sign, it limits the change from run A to
 * run B (threshold_parse_limits()):
 *
 *     p(99)<250ms     in B
 *     p(99)<+20%      at most a fifth more than in A
 *     p(99)<+50ms     at most 50 ms more than in A
 *     rate>-10%       at most a tenth less than in A */
#ifndef LOADGEN_THRESHOLD_H
#define LOADGEN_THRESHOLD_H

#include "why.h"

#include <stdbool.h>
#include <stddef.h>

#define THRESHOLDS_MAX   16
#define THRESHOLD_METRIC 24
#define THRESHOLD_TEXT   64
#define THRESHOLD_VALUE  32

enum threshold_op {
    THRESHOLD_EQ,
    THRESHOLD_NE,
    THRESHOLD_LT,
    THRESHOLD_LE,
    THRESHOLD_GT,
    THRESHOLD_GE
};

enum threshold_against {
    THRESHOLD_ALONE,
    THRESHOLD_DIFFERENCE, /* to A, in the metric's unit */
    THRESHOLD_RATIO,      /* the difference as a part of A */
};

struct threshold {
    char text[THRESHOLD_TEXT];     /* as the user wrote it */
    char metric[THRESHOLD_METRIC]; /* "p", "service_p", "oversell" */
    double percentile;             /* of p and service_p */
    enum threshold_op op;
    double value; /* ns for times, 0..1 for parts, else a count or a rate */
    bool is_part; /* of the requests */
    enum threshold_against against;
};

struct threshold_list {
    size_t count;
    struct threshold items[THRESHOLDS_MAX];
};

/* Reads one threshold per line; "" is none. Returns 0; or -1 with the reason and the possible
 * values in `why`. */
__attribute__((warn_unused_result)) int threshold_parse(const char *text,
                                                        struct threshold_list *list,
                                                        struct why *why);

/* The same for the limits of `diff`: their values may have a sign. */
__attribute__((warn_unused_result)) int threshold_parse_limits(const char *text,
                                                               struct threshold_list *list,
                                                               struct why *why);

struct recorder;
struct verdict;

/* Sets `measured`, and returns whether it keeps the limit. A time is NAN without any answer, and
 * NAN does not keep a limit. While a round is being sent, `verdict` is NULL: then a limit is kept
 * as long as the round can still keep it, see above. */
bool threshold_holds(const struct threshold *threshold, const struct recorder *recorder,
                     const struct verdict *verdict, double *measured);
/* Whether the metric needs the ledger, which --no-judge does not read. */
bool threshold_needs_verdict(const struct threshold *threshold);
/* Whether this value keeps the limit; NAN does not. For a limit against A the value is the
 * change. */
bool threshold_keeps(const struct threshold *threshold, double value);
/* Writes a `value` of the threshold's metric for people: "212 ms", "0", "1.2 %". Returns `text`. */
const char *threshold_value(const struct threshold *threshold, double value,
                            char text[THRESHOLD_VALUE]);

#endif
