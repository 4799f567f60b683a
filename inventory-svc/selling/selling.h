/* One sale from beginning to end: the product, its strategy, and what a repeated order or an empty
 * stock really means. */
#ifndef INVENTORY_SELLING_H
#define INVENTORY_SELLING_H

#include "store_live.h"

struct selling {
    const char *product_id; /* lower case */
    const char *order_id;   /* lower case */
    bool may_be_repeat;     /* then a SOLD_OUT is checked against the ledger first */

    /* The answer. */
    enum outcome outcome;        /* any but OK */
    struct why why;              /* it was not sold */
    struct reservation sold;     /* when SOLD or REPEATED */
    bool is_reply_dropped;       /* a failpoint wants the connection cut */
    char timing[SALE_COST_TEXT]; /* what it cost, for Server-Timing; "" when no sale was begun */
};

/* In a fiber: what the product's strategy does before the first sale, if it can. */
void selling_prepare(struct store *store, struct product *product);

/* In a fiber: sell one unit, and fill in the answer. */
void selling_run(struct selling *selling, struct store *store);

#endif
