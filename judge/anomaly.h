/* The anomalies of a sale, and the evidence for each. */
#ifndef JUDGE_ANOMALY_H
#define JUDGE_ANOMALY_H

#include "ledger.h"

#include <stdbool.h>

#define ANOMALIES(X)                                                                               \
    X(OVERSELL, "OVERSELL", "more units were sold than there were")                                \
    X(TWIN, "TWIN", "one unit was sold twice")                                                     \
    X(UNDERSELL, "UNDERSELL", "customers were told sold out, and units were left")                 \
    X(EARLY_SOLD_OUT, "EARLY-SOLD-OUT", "a customer was told sold out, and a later one bought")    \
    X(GHOST, "GHOST", "a customer was promised a unit, and the ledger disagrees")                  \
    X(ORPHAN, "ORPHAN", "the ledger has a sale, and its customer was told no")                     \
    X(DUPLICATE, "DUPLICATE", "one key bought two units")                                          \
    X(LEAK, "LEAK", "units left and units sold do not add up to the stock")                        \
    X(STALE, "STALE", "a sale saw an old count, and wrote over a newer one")                       \
    X(STUCK, "STUCK", "at the end nothing was sold any more, and units were left")                 \
    X(UNBACKED, "UNBACKED", "an order holds fewer units than it bought")

enum anomaly {
#define X(id, name, text) ANOMALY_##id,
    ANOMALIES(X)
#undef X
        ANOMALY_COUNT
};
const char *anomaly_name(enum anomaly anomaly);
const char *anomaly_text(enum anomaly anomaly);

#define VERDICT_EXAMPLES 3   /* the most of an anomaly */
#define VERDICT_TEXT     256 /* a line for people, cut to fit */

struct anomaly_found {
    int64_t count;
    size_t examples; /* how many of `example` are filled */
    char example[VERDICT_EXAMPLES][VERDICT_TEXT];
};

#define VERDICT_COUNTEREXAMPLES 5 /* the most in a verdict */
#define COUNTEREXAMPLE_OPS      3
#define COUNTEREXAMPLE_LINES    10
#define COUNTEREXAMPLE_EVENTS   12

/* An operation of a counterexample, with the times that a picture needs. They count from the start
 * of the round; 0: this did not happen. */
struct counterexample_op {
    char instance[LEDGER_INSTANCE]; /* that made the sale; "": none did */
    int64_t sent_ns, answered_ns; /* by the client's clock; answered: by the first yes, or by no */
    int64_t ledger_us;            /* when its row was written: the database's wall clock */
};

/* Something that hit the operations: a failpoint, a raw lock command's result, a server's fault. */
struct counterexample_event {
    int64_t at_ns, until_ns; /* as in event.h */
    char letter;             /* the name of its operation, or '\0' */
    char who[LEDGER_INSTANCE];
    char text[112]; /* "SET NX ttl 200 ms: yes" */
};

/* The fewest operations that a correct sale of this stock cannot have produced together, in prose.
 * The prose calls them A, B, C, in the order of `order_id`. */
struct counterexample {
    enum anomaly anomaly;
    uint32_t item;
    int64_t shard;
    size_t ops;
    char order_id[COUNTEREXAMPLE_OPS][LEDGER_ID]; /* of the request or the ledger row */
    struct counterexample_op op[COUNTEREXAMPLE_OPS];
    size_t lines;
    char line[COUNTEREXAMPLE_LINES][VERDICT_TEXT];
    bool has_chain;  /* a line tells how two orders came to hold one lock */
    bool has_writes; /* its lines show two writes of the count; it has no operations */
    size_t events;   /* in order of time */
    struct counterexample_event event[COUNTEREXAMPLE_EVENTS];
    int64_t from_ns, to_ns; /* when it happened, on the round's clock; 0: not known */
};

#endif
