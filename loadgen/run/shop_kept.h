/* The green checks of shop files, in DIR/.checks of --results, so that a run need not check the
 * same file again. A check counts for a day, for the same text and the same base URLs. */
#ifndef LOADGEN_SHOP_KEPT_H
#define LOADGEN_SHOP_KEPT_H

#include "options.h"
#include "shop.h"

#include <stdint.h>

/* How long an order took in the kept check, in nanoseconds; 0: none is kept. */
int64_t shop_kept_find(const struct options *options, const struct shop *shop);
/* Keeps a green check. A failure only means that the next run checks again. */
void shop_kept_add(const struct options *options, const struct shop *shop, int64_t order_ns);

#endif
