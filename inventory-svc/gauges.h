/* Metrics that are asked for when they are printed: the pool's and lockkit's own counts. */
#ifndef INVENTORY_GAUGES_H
#define INVENTORY_GAUGES_H

#include "product.h"
#include "store_live.h"

/* `store` and `products` must live as long as metrics may be printed. */
void gauges_register(const struct store *store, const struct product_table *products);

#endif
