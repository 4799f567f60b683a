/* One sale from request to answer: the product, its strategy, and what a repeated order or an empty
 * stock really means. */
#ifndef INVENTORY_SELLING_H
#define INVENTORY_SELLING_H

#include "inventory.h"

struct selling {
    const char *product_id; /* lower case */
    const char *order_id;   /* lower case */
    const char *request_id; /* for the log */
    bool may_be_repeat;     /* then a SOLD_OUT is checked against the ledger first */

    /* The answer. */
    int status;                  /* HTTP: 200 or 201 when sold */
    const char *code;            /* of the error, static; NULL when sold */
    char message[800];           /* of the error */
    struct reservation sold;     /* when sold */
    bool is_reply_dropped;       /* a failpoint wants the connection cut */
    char timing[SALE_COST_TEXT]; /* what it cost, for Server-Timing; "" when no sale was begun */
};

/* Add the cost of the sale to the reply that is to be sent. */
void selling_tell_cost(const struct selling *selling, struct http_exchange *exchange);

/* In a fiber: sell one unit, and fill in the answer. */
void selling_run(struct selling *selling, struct inventory *inventory);

#endif
