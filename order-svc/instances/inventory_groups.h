/* Groups: all reservations that orders ask for in one turn of the loop go to an instance as one
 * request, POST /reservations. Each order has its answer when its own line of the reply arrives,
 * and does not wait for other lines.
 *
 * A broken connection leaves unknown only the orders without a line so far. So does a reply without
 * their line. A reply other than 200 is the answer to each order. */
#ifndef ORDER_INVENTORY_GROUPS_H
#define ORDER_INVENTORY_GROUPS_H

#include "fiber.h"
#include "inventory_answer.h"

#include <sys/queue.h>

/* One order's reservation. It and its strings live until inventory_groups_await() returns. */
struct inventory_member {
    const char *order_id, *product_id; /* UUIDs in lower case */
    bool may_be_repeat;                /* an earlier call may have sold it a unit */
    int64_t deadline_ms;

    struct inventory_answer *answer;
    TAILQ_ENTRY(inventory_member) entry;
    struct fiber_event is_over;
    bool is_alone;
};
TAILQ_HEAD(inventory_members, inventory_member);

struct inventory_group;
TAILQ_HEAD(inventory_group_list, inventory_group);

struct inventory_groups {
    const char *headers; /* for each request */
    struct inventory_group_list gathering, answered, spare;
    unsigned spares;
    uv_check_t turn; /* both active while there is work for the end of the turn */
    uv_idle_t soon;
    unsigned open_handles;
    http_client_cb on_closed;
    void *data;
};

/* `headers` (lines, or "") remain the caller's. */
void inventory_groups_init(struct inventory_groups *groups, uv_loop_t *loop, const char *headers);
/* No order gathers any more. Gathered ones are sent now. Call it before their clients close. */
void inventory_groups_end(struct inventory_groups *groups);
/* Call it after their clients have closed. `cb` runs once, later, and then the memory may go. */
void inventory_groups_close(struct inventory_groups *groups, http_client_cb cb, void *data);

/* In a fiber: reserve together with the other orders of this turn. False: there are none, or it
 * cannot go with them; nothing was sent. True: `answer` is filled in. */
bool inventory_groups_await(struct inventory_groups *groups, struct http_client *client,
                            struct inventory_member *member, struct inventory_answer *answer);

#endif
