/* The command `loadgen shop check FILE`. */
#ifndef LOADGEN_SHOP_CHECK_H
#define LOADGEN_SHOP_CHECK_H

#include "options.h"
#include "shop.h"

#include <stdio.h>
#include <uv.h>

#define SHOP_TIDYING "interrupted: tidying up the shop; interrupt again to stop at once"

/* Tests the shop file with orders one after the other, and tells the anomalies that a run can
 * judge. Returns the exit code. */
__attribute__((warn_unused_result)) int shop_check(uv_loop_t *loop, const struct options *options,
                                                   const struct shop *shop, FILE *to);

/* The same, always in words. On `terminal`, if it is not NULL, one line shows the last step until
 * the end. `order_ns` gets how long a sold order takes, from its first request to
 * its last reply: the median. 0: none was sold. */
__attribute__((warn_unused_result)) int shop_check_learn(uv_loop_t *loop,
                                                         const struct options *options,
                                                         const struct shop *shop, FILE *to,
                                                         FILE *terminal, int64_t *order_ns);

/* Whether a step captures the id of the order as `order`. */
bool shop_names_order(const struct shop *shop);
/* Whether a request of `order` sends {{key}}. */
bool shop_sends_key(const struct shop *shop);

#endif
