/* Placing an order: reserve a unit, record the order, or undo. */
#ifndef ORDER_ORDER_H
#define ORDER_ORDER_H

#include "inventory_client.h"
#include "order_groups.h"

/* The means of order-svc: the `data` of every handler. */
struct order_svc {
    struct inventory *inventory;
    struct pg_pool *pool;
    struct order_groups groups; /* on that pool */
    int64_t inventory_timeout_ms;
    double fail_record; /* the part of the orders that is not recorded on purpose, 0..1 */
    double fail_due;    /* share of the next such order that is due already; 0 at first */
};

#define ORDER_OUTCOMES(X)                                                                          \
    X(PLACED, 201, "placed")                                                                       \
    X(REPEATED, 201, "repeated")                                                                   \
    X(SOLD_OUT, 409, "sold_out")                                                                   \
    X(BUSY, 503, "busy")                                                                           \
    X(UNKNOWN, 504, "unknown")                                                                     \
    X(REFUSED, 422, "refused")                                                                     \
    X(FAILED, 500, "failed")

enum order_outcome {
#define X(name, status, text) ORDER_##name,
    ORDER_OUTCOMES(X)
#undef X
};

struct placement {
    struct order order; /* in: order_id and product_id; out: all, when PLACED or REPEATED */
    bool is_key_given;  /* the customer chose the order id, so it may be a repeat */
    enum order_outcome outcome;
    int status;        /* HTTP */
    char error[40];    /* the error code of the reply */
    char message[512]; /* as long as http_reply_error() takes; a refusal may name a command */
    /* Server-Timing: the cost of the sale, from the inventory, and the time of the record; "" if
     * there is nothing to tell. */
    char timing[HTTP_CALL_HEADER_BYTES + 40];
};

/* Copy the unit from a reservation of this order and product into the order. False: the reservation
 * breaks inventory-svc's promises, and is not a yes. */
bool order_take_unit(struct order *order, const struct inventory_answer *answer);

/* In a fiber: place the order. Counts its outcome. */
void order_place(struct order_svc *svc, struct placement *placement);

void order_register_metrics(void);

#endif
