/* A reservation: one row of the ledger, one unit promised to one order, or the two of a cart. */
#ifndef INVENTORY_RESERVATION_H
#define INVENTORY_RESERVATION_H

#include "uuid.h"

#include <stdint.h>

#define INSTANCE_BYTES 64 /* of an instance's name, with the NUL */
#define PRICE_BYTES    24 /* of a price as text: numeric(12, 2), with the NUL */

struct reservation {
    char order_id[UUID_TEXT];
    char product_id[UUID_TEXT];
    int shard;
    int64_t unit;
    int64_t remaining; /* in that row, after this sale */
    int64_t fence;     /* the token of the write, 0 for none */
    char instance[INSTANCE_BYTES];
    char price[PRICE_BYTES]; /* the product's */
};

#endif
