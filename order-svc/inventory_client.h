/* The inventory instances as order-svc sees them: spread over all, skip one that is down, try it
 * again later.
 *
 * A call goes to the next instance in turn. When it could not be sent at all, the instance is left
 * out for a while and the call goes to the next one; what may have been sent is never sent to
 * another. */
#ifndef ORDER_INVENTORY_CLIENT_H
#define ORDER_INVENTORY_CLIENT_H

#include "http_client.h"

#include <jansson.h>

struct inventory;

#define INVENTORY_MESSAGE_BYTES 160

/* `urls`: "http://host:port,..."; `secret` goes with each call, unless it is "". 0; or a negative
 * libuv code, UV_EINVAL for the URLs or the secret, and then `message` says why. */
__attribute__((warn_unused_result)) int inventory_open(struct inventory **inventory,
                                                       uv_loop_t *loop, const char *urls,
                                                       const char *secret,
                                                       char message[INVENTORY_MESSAGE_BYTES]);
/* `cb` runs once, later, with everything freed. Calls under way end first, and go to no other
 * instance. */
void inventory_close(struct inventory *inventory, http_client_cb cb, void *data);

/* One gauge for each instance; it is read as long as the process has metrics, so `inventory` must
 * live as long as they are asked for. */
void inventory_register_metrics(struct inventory *inventory);

/* True when at least one instance is not known to be down. */
bool inventory_is_up(const struct inventory *inventory);

struct inventory_answer {
    enum http_call_outcome outcome;
    int status;   /* when ANSWERED */
    json_t *body; /* a JSON object, or NULL when there was none; the caller drops it */
    char message[INVENTORY_MESSAGE_BYTES]; /* when not ANSWERED: why */
    char timing[HTTP_CALL_HEADER_BYTES];   /* its Server-Timing header, or "" */
};

/* In a fiber: call `method target` with the JSON `body` and extra header lines (each may be NULL).
 */
void inventory_call(struct inventory *inventory, const char *method, const char *target,
                    const char *headers, const char *body, int64_t deadline_ms,
                    struct inventory_answer *answer);

/* A field of the answer's body: "" when it is missing or no string. */
const char *inventory_text(const struct inventory_answer *answer, const char *field);

#endif
