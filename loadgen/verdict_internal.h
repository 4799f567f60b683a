/* What the parts of the judgement share: the case, and its rows and records by order id. */
#ifndef LOADGEN_VERDICT_INTERNAL_H
#define LOADGEN_VERDICT_INTERNAL_H

#include "verdict.h"

struct judge {
    const struct ledger *ledger;
    const struct recorder *recorder;
    struct verdict *verdict;
    const struct ledger_sale **by_unit; /* sales, by unit, then time */
    const struct record **by_id;        /* records, by the id their order has or would have */
};

/* The order id of a request: as the reply says, else the key that it was sent with. */
const char *judge_id(const struct record *record);
const struct ledger_sale *judge_find_sale(const struct judge *judge, const char *order_id);
const struct ledger_order *judge_find_order(const struct judge *judge, const char *order_id);
const struct record *judge_find_record(const struct judge *judge, const char *order_id);

/* Count an anomaly `count` times, and keep the text as an example while there is room. */
__attribute__((format(printf, 4, 5))) void judge_found(struct judge *judge, enum anomaly anomaly,
                                                       int64_t count, const char *format, ...);

/* What the ledger alone shows: OVERSELL, TWIN, LEAK, and DUPLICATE rows. */
void judge_units(struct judge *judge);
/* What clients were told against what the ledger says: GHOST, ORPHAN, DUPLICATE. */
void judge_promises(struct judge *judge);
/* What clients were refused: UNDERSELL, EARLY-SOLD-OUT. */
void judge_refusals(struct judge *judge);
/* How many pairs of attempts overlapped: 0, or -1 without memory. */
__attribute__((warn_unused_result)) int judge_overlaps(struct judge *judge);

#endif
