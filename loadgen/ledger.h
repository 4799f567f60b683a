/* The ledger of one product, as read from the two databases after a round. */
#ifndef LOADGEN_LEDGER_H
#define LOADGEN_LEDGER_H

#include <stddef.h>
#include <stdint.h>

/* A row of the table reservation: one unit sold. Texts are owned by whoever read the ledger. */
struct ledger_sale {
    const char *order_id;
    int64_t unit;
    int64_t shard;
    const char *instance;
    int64_t fence;
    int64_t remaining; /* in its stock row after this sale; 0 for a unit that had come back */
    const char *at;    /* "2026-11-21T10:01:02.123456Z" */
};

/* A row of the table orders: one promise to a customer. */
struct ledger_order {
    const char *order_id;
    int64_t unit;
    const char *instance;
    const char *at;
};

struct ledger {
    int64_t initial;   /* units there were, numbered 1 .. initial */
    int64_t available; /* units left in the stock rows */
    int64_t returned;  /* units of cancelled reservations, for sale again */
    int64_t counted;   /* sales in the same snapshot as the three above */
    int64_t units;     /* different units among those */
    size_t sale_count, order_count;
    struct ledger_sale *sales;   /* in order of order_id */
    struct ledger_order *orders; /* in order of order_id */
};

#endif
