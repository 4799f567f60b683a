/* What the target says of itself: its strategies, and whether it takes a product.
 *
 * All functions run in a fiber and print nothing. */
#ifndef LOADGEN_TARGET_H
#define LOADGEN_TARGET_H

#include "why.h"

#include <jansson.h>
#include <stdint.h>
#include <uv.h>

struct target {
    char host[256];
    int port;
    struct http_client *client;
};

enum target_result {
    TARGET_OK,
    TARGET_REFUSED,     /* it does not take this strategy: `why` is its own message */
    TARGET_UNREACHABLE, /* or it answers with an error */
};

/* `url` is http://host:port; `host` becomes its address. 0; or -1, and `why` says what is wrong,
 * with nothing to undo. */
__attribute__((warn_unused_result)) int target_open(struct target *target, uv_loop_t *loop,
                                                    const char *url, struct why *why);
void target_close(struct target *target);

/* GET /strategies: *strategies becomes the array of them, a new reference. */
__attribute__((warn_unused_result)) enum target_result target_strategies(struct target *target,
                                                                         json_t **strategies,
                                                                         struct why *why);

/* GET /products/{id}: the target lays out the stock, and checks the strategy. */
__attribute__((warn_unused_result)) enum target_result target_meet_product(struct target *target,
                                                                           const char *product_id,
                                                                           struct why *why);

/* How many sales of this product the target has made that its ledger does not have yet, by its own
 * word; 0 when it does not say. */
int64_t target_pending(struct target *target, const char *product_id);

#endif
