/* Splits a round of carts for the judge. An order for one unit of each of two products is one
 * request for each of them, with one answer. So the judge gets two products, each with its row of
 * stock, and each request twice. It then finds half a cart as a GHOST or an ORPHAN.
 *
 * Units that are left because the other product had fewer do not count. Each product's units are
 * counted from 1. */
#ifndef LOADGEN_CART_H
#define LOADGEN_CART_H

#include "ledger.h"
#include "record.h"

#define CART_PRODUCTS 2

struct cart {
    struct ledger ledgers[CART_PRODUCTS]; /* the ids belong to the whole ledger */
    struct recorder *recorder;            /* the records twice, by product */
};

/* Whether the spec of a strategy sells carts. */
bool cart_is_sold(const char *spec);
/* `ledger` has a sale for each unit, and two rows of stock. Free it with cart_free(), also after a
 * failure. 0, or -1 without memory. */
__attribute__((warn_unused_result)) int cart_split(struct cart *cart, const struct ledger *ledger,
                                                   const struct recorder *recorder);
void cart_free(struct cart *cart);

#endif
