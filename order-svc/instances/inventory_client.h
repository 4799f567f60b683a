/* The inventory instances of order-svc: it spreads calls over all, skips one that is down, and
 * tries it again later.
 *
 * A call goes to the next instance in turn. If the call could not be sent at all, the instance
 * pauses for a while and the call goes to the next one. A call that may have been sent never goes
 * to another instance. */
#ifndef ORDER_INVENTORY_CLIENT_H
#define ORDER_INVENTORY_CLIENT_H

#include "inventory_answer.h"
#include "why.h"

struct inventory;

/* `urls`: "http://host:port,...". Each call carries `secret`, unless it is "". 0; or a negative
 * libuv code and `why`: UV_EINVAL for the URLs or the secret. */
__attribute__((warn_unused_result)) int inventory_open(struct inventory **inventory,
                                                       uv_loop_t *loop, const char *urls,
                                                       const char *secret, struct why *why);
/* Replace the instances. `urls` has the same form, with 64 good URLs at most. New ones get calls
 * from now on. Missing ones get no more calls, and their calls under way end normally. */
void inventory_update(struct inventory *inventory, const char *urls);
/* `cb` runs once, later, with everything freed. Calls under way end first, and go to no other
 * instance. */
void inventory_close(struct inventory *inventory, http_client_cb cb, void *data);

/* Register one gauge for each instance. The metrics read it as long as the process has any, so
 * `inventory` must live as long. */
void inventory_register_metrics(struct inventory *inventory);

/* True when at least one instance is not known to be down. */
bool inventory_is_up(const struct inventory *inventory);

/* In a fiber: call `method target` with the JSON `body` and extra header lines (each may be NULL).
 */
void inventory_call(struct inventory *inventory, const char *method, const char *target,
                    const char *headers, const char *body, int64_t deadline_ms,
                    struct inventory_answer *answer);

/* In a fiber: reserve a unit of the product for the order (UUIDs in lower case), in one request
 * with all orders of this turn of the loop. `may_be_repeat`: the order id is the customer's own
 * key. */
void inventory_reserve(struct inventory *inventory, const char *order_id, const char *product_id,
                       bool may_be_repeat, int64_t deadline_ms, struct inventory_answer *answer);

#endif
