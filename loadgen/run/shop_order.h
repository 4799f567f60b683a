/* The command `loadgen shop order FILE`. */
#ifndef LOADGEN_SHOP_ORDER_H
#define LOADGEN_SHOP_ORDER_H

#include "options.h"
#include "shop.h"

#include <stdio.h>
#include <uv.h>

/* Orders one unit by the shop file, and shows the way. Returns the exit code. */
__attribute__((warn_unused_result)) int shop_order(uv_loop_t *loop, const struct options *options,
                                                   const struct shop *shop, FILE *to);

#endif
