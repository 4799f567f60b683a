/* Limits that a run must keep: --threshold 'oversell==0' --threshold 'p(99)<250ms'.
 *
 *     metric op value       op is one of == != < <= > >=
 *
 * Metrics: each anomaly in lower case (oversell, early-sold-out, ...), anomalies (all of them),
 * each outcome (sold, sold_out, busy, unknown, ...), offered, p(N), service_p(N), mean, max, rate,
 * retries (for each unit sold), late (the part of requests sent over 10 ms late),
 * overtaken (the most others that came before one although they were sent 250 ms later, or more).
 * A value is a number, a duration for times, or a percentage of the requests for outcomes.
 *
 * A limit is one of each round: it is kept when every round keeps it (summary_make()).
 *
 * While a round is being sent, a limit counts as missed only when nothing that may still come can
 * mend it, so that --abort-on-fail never stops a round that would have passed:
 *
 *     outcomes, offered, max   a count or a maximum only grows: past an upper limit (<, <=, ==)
 *     busy<1%, late<1%         the part of all planned requests, not of those sent so far
 *     p(N), service_p(N)       as many answers over the limit as all planned requests may have:
 *                              with p(99)<250ms, 1 % of them and one more
 *     mean                     the answers so far, spread over all planned requests, exceed it
 *
 * Lower limits (>, >=), !=, rate, retries, overtaken and anomalies are held against whole rounds
 * only.
 *
 * A limit of `diff` is written alike, and its value may have a sign: then it limits the change from
 * run A to run B (threshold_parse_limits()):
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
    char text[THRESHOLD_TEXT];     /* as given */
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

/* One threshold a line; "" is none. 0; or -1, and `why` says what is wrong and what there is. */
__attribute__((warn_unused_result)) int threshold_parse(const char *text,
                                                        struct threshold_list *list,
                                                        struct why *why);

/* The same of the limits of `diff`, whose values may have a sign. */
__attribute__((warn_unused_result)) int threshold_parse_limits(const char *text,
                                                               struct threshold_list *list,
                                                               struct why *why);

struct recorder;
struct verdict;

/* The measured value, and whether it keeps the limit: a time without an answer to measure it by is
 * NAN, and does not. `verdict` is NULL while a round is still
 * being sent: then it is kept until that is out of reach, see above. */
bool threshold_holds(const struct threshold *threshold, const struct recorder *recorder,
                     const struct verdict *verdict, double *measured);
/* It is about what the ledger shows, which --no-judge does not read. */
bool threshold_needs_verdict(const struct threshold *threshold);
/* Whether this value keeps the limit; of one against A the value is the change. NAN does not. */
bool threshold_keeps(const struct threshold *threshold, double value);
/* `value` of the threshold's metric, for people: "212 ms", "0", "1.2 %"; returns `text`. */
const char *threshold_value(const struct threshold *threshold, double value,
                            char text[THRESHOLD_VALUE]);

#endif
