/* Asks the target for its strategies, and whether it accepts a product.
 *
 * All functions run in a fiber and print nothing. */
#ifndef LOADGEN_TARGET_H
#define LOADGEN_TARGET_H

#include "why.h"

#include <jansson.h>
#include <stdint.h>
#include <uv.h>

struct target {
    char host[256]; /* an address, unless the name is unknown */
    char name[256]; /* of --target */
    int port;
    struct http_client *client;
};

enum target_result {
    TARGET_OK,
    TARGET_REFUSED,     /* it does not accept this strategy: `why` is its own message */
    TARGET_UNREACHABLE, /* no answer, or an error */
};

/* Opens http://host:port; target->host becomes the address. Returns 0; or -1 with the reason in
 * `why`, and nothing to undo. */
__attribute__((warn_unused_result)) int target_open(struct target *target, uv_loop_t *loop,
                                                    const char *url, struct why *why);
void target_close(struct target *target);

/* GET /strategies: sets *strategies to the array, a new reference. */
__attribute__((warn_unused_result)) enum target_result target_strategies(struct target *target,
                                                                         json_t **strategies,
                                                                         struct why *why);

/* GET /products/{id}: makes the target lay out the stock and check the strategy. */
__attribute__((warn_unused_result)) enum target_result target_meet_product(struct target *target,
                                                                           const char *product_id,
                                                                           struct why *why);

/* The target's own count of sales of this product that are not in its ledger yet; 0 if it reports
 * none. */
int64_t target_pending(struct target *target, const char *product_id);

#endif
