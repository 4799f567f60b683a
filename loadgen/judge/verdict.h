/* The judgement of one round: from what clients were told and what the ledger says.
 *
 * Pure: it reads records and rows, and calls nothing that waits. */
#ifndef LOADGEN_VERDICT_H
#define LOADGEN_VERDICT_H

#include "ledger.h"
#include "record.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ANOMALIES(X)                                                                               \
    X(OVERSELL, "OVERSELL", "more was sold than there was")                                        \
    X(TWIN, "TWIN", "one unit was sold twice")                                                     \
    X(UNDERSELL, "UNDERSELL", "customers were told sold out, and units were left")                 \
    X(EARLY_SOLD_OUT, "EARLY-SOLD-OUT", "a customer was told sold out before a later one bought")  \
    X(GHOST, "GHOST", "a customer was promised a unit that the ledger does not have")              \
    X(ORPHAN, "ORPHAN", "the ledger has a sale whose customer was told no")                        \
    X(DUPLICATE, "DUPLICATE", "one key bought two units")                                          \
    X(LEAK, "LEAK", "units left and units sold do not add up to the stock")                        \
    X(STALE, "STALE", "a sale saw a count that a finished sale had already lowered")

enum anomaly {
#define X(id, name, text) ANOMALY_##id,
    ANOMALIES(X)
#undef X
        ANOMALY_COUNT
};
const char *anomaly_name(enum anomaly anomaly);
const char *anomaly_text(enum anomaly anomaly);

#define VERDICT_EXAMPLES 3
#define VERDICT_REASONS  8
#define VERDICT_TEXT     256

struct anomaly_found {
    int64_t count;
    size_t examples; /* how many of `example` are filled */
    char example[VERDICT_EXAMPLES][VERDICT_TEXT];
};

#define COUNTEREXAMPLE_OPS   3
#define COUNTEREXAMPLE_LINES 6

/* One of them, as a picture needs it. Times are those of the round; 0 for what did not happen. */
struct counterexample_op {
    char instance[LEDGER_INSTANCE]; /* that made the sale, or "" when none did */
    int64_t sent_ns, answered_ns;   /* by the client's clock; answered: the first yes, or the no */
    int64_t ledger_us;              /* when its row was written: the database's wall clock */
};

/* The fewest operations that no correct sale of this stock could have produced together, in prose.
 * The prose calls them A, B, C, in the order of `order_id`. */
struct counterexample {
    enum anomaly anomaly;
    uint32_t item;
    int64_t shard;
    size_t ops;
    char order_id[COUNTEREXAMPLE_OPS][UUID_TEXT]; /* of the request or the ledger row */
    struct counterexample_op op[COUNTEREXAMPLE_OPS];
    size_t lines;
    char line[COUNTEREXAMPLE_LINES][VERDICT_TEXT];
    int64_t from_ns, to_ns; /* when it happened, on the round's clock; 0 when not known */
};

#define VERDICT_COUNTEREXAMPLES 5

enum verdict_kind {
    VERDICT_VALID,
    VERDICT_VIOLATED,
    VERDICT_INCONCLUSIVE,
    VERDICT_UNJUDGED, /* nobody asked: only the schedule and the latency count */
};
const char *verdict_kind_name(enum verdict_kind kind);

struct verdict {
    enum verdict_kind kind;
    struct anomaly_found found[ANOMALY_COUNT];
    size_t reasons; /* why INCONCLUSIVE; kept when VIOLATED, too */
    char reason[VERDICT_REASONS][VERDICT_TEXT];
    size_t counterexamples; /* of different anomalies first */
    struct counterexample counterexample[VERDICT_COUNTEREXAMPLES];
    int64_t sold;          /* ledger rows */
    int64_t distinct;      /* units among them */
    int64_t left;          /* available + returned */
    int64_t refused_early; /* told sold out before a later buyer's request was sent */
    int64_t unsettled;     /* sales without an order */
    int64_t unknown_sold;  /* UNKNOWN replies that the ledger shows to be sales */
    int64_t pairs;         /* of attempts that overlapped in time, one of which got a unit */
    int64_t overlapping;   /* attempts in such a pair */
};

/* What is judged. `ledgers` has one per product of the round; it is NULL when they could not be
 * read, and `problem` then says why; without a problem either, nobody wants it judged. */
struct verdict_case {
    const struct ledger *ledgers;
    size_t items;
    const struct recorder *recorder;
    const char *problem;
    bool is_interrupted;
    bool is_restless;     /* outcomes are unknown, and the ledger may still be changing */
    int64_t pairs_wanted; /* overlapping pairs below which it is INCONCLUSIVE */
};

/* A race that strikes one pair in ten stays hidden in this many with a chance of 0.9^30 = 4 %. */
#define VERDICT_PAIRS   30

#define VERDICT_LATE_NS 10000000 /* a request sent later than this missed its schedule */

/* 0, or -1 without memory. */
__attribute__((warn_unused_result)) int verdict_judge(const struct verdict_case *judged,
                                                      struct verdict *verdict);

/* The rate of anomalies that n attempts without one leave possible, 95 %: 3 / n (rule of three:
 * Hanley and Lippman-Hand 1983, "If nothing goes wrong, is everything all right?"); -1 when n is
 * too small to say. An attempt that overlapped with no other could show nothing, so n is
 * `overlapping`. */
double verdict_rate_bound(const struct verdict *verdict);

#endif
