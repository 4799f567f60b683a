/* One sale from beginning to end: its product, its strategy, and the real answer for a repeated
 * order or an empty stock. */
#ifndef INVENTORY_SELLING_H
#define INVENTORY_SELLING_H

#include "store_live.h"

struct selling {
    const char *product_id; /* lower case */
    const char *order_id;   /* lower case */
    bool may_be_repeat;     /* then the ledger is checked before a SOLD_OUT */

    /* The answer. */
    enum outcome outcome;        /* any but OK */
    struct why why;              /* why it was not sold */
    struct reservation sold;     /* when SOLD or REPEATED */
    bool is_reply_dropped;       /* a failpoint wants the connection cut */
    char timing[SALE_COST_TEXT]; /* its cost, for Server-Timing; "" when no sale began */
};

/* In a fiber: run the strategy's `.prepare`, if it has one. It may fail: the sales then do its
 * work. */
void selling_prepare(struct store *store, struct product *product);

/* In a fiber: sell one unit, and fill in the answer. */
void selling_run(struct selling *selling, struct store *store);

#endif
