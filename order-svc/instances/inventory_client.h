/* The inventory instances as order-svc sees them: spread over all, skip one that is down, try it
 * again later.
 *
 * A call goes to the next instance in turn. When it could not be sent at all, the instance is left
 * out for a while and the call goes to the next one; what may have been sent is never sent to
 * another. */
#ifndef ORDER_INVENTORY_CLIENT_H
#define ORDER_INVENTORY_CLIENT_H

#include "inventory_answer.h"
#include "why.h"

struct inventory;

/* `urls`: "http://host:port,..."; `secret` goes with each call, unless it is "". 0; or a negative
 * libuv code, UV_EINVAL for the URLs or the secret, and then `why` says so. */
__attribute__((warn_unused_result)) int inventory_open(struct inventory **inventory,
                                                       uv_loop_t *loop, const char *urls,
                                                       const char *secret, struct why *why);
/* From now on the instances are these: as in inventory_open(), 64 at most, each a good URL. What is
 * new gets calls from now on; what is not among them gets no more, and those under way end as if
 * nothing had been said. */
void inventory_update(struct inventory *inventory, const char *urls);
/* `cb` runs once, later, with everything freed. Calls under way end first, and go to no other
 * instance. */
void inventory_close(struct inventory *inventory, http_client_cb cb, void *data);

/* One gauge for each instance; it is read as long as the process has metrics, so `inventory` must
 * live as long as they are asked for. */
void inventory_register_metrics(struct inventory *inventory);

/* True when at least one instance is not known to be down. */
bool inventory_is_up(const struct inventory *inventory);

/* In a fiber: call `method target` with the JSON `body` and extra header lines (each may be NULL).
 */
void inventory_call(struct inventory *inventory, const char *method, const char *target,
                    const char *headers, const char *body, int64_t deadline_ms,
                    struct inventory_answer *answer);

/* In a fiber: reserve a unit of the product for the order (UUIDs in lower case), in one request
 * with the others that reserve in this turn of the loop. `may_be_repeat`: under the customer's own
 * key.
 */
void inventory_reserve(struct inventory *inventory, const char *order_id, const char *product_id,
                       bool may_be_repeat, int64_t deadline_ms, struct inventory_answer *answer);

#endif
