/* The command `loadgen shop check FILE`. */
#ifndef LOADGEN_SHOP_CHECK_H
#define LOADGEN_SHOP_CHECK_H

#include "options.h"
#include "shop.h"

#include <stdio.h>
#include <uv.h>

/* Tests the shop file with orders one after the other, and tells the anomalies that a run can judge.
 * Returns the exit code. */
__attribute__((warn_unused_result)) int shop_check(uv_loop_t *loop, const struct options *options,
                                                   const struct shop *shop, FILE *to);

#endif
