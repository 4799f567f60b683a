/* Settling: find reservations without an order, and record their orders.
 *
 * order-svc can die or lose its database between a reservation and its order. Then the unit is
 * taken, and its customer does not know. Settling carries out the customer's wish: it records the
 * order, so a repeat with the same idempotency key finds it. Recording is idempotent, so several
 * order services need no coordination.
 *
 * Every `every_ms` it reads the reservations that have become older than `after_ms` from
 * inventory-svc, a page at a time, and inserts the missing orders. The database keeps the cursor,
 * so a restart skips nothing. A slow commit or a clock that was set back can still put a
 * reservation behind the cursor, so each tenth pass at least also reads up to a minute back.
 *
 * It leaves younger reservations alone: their request is under way, and may still cancel. If both
 * act at once, inventory-svc decides: it confirms a reservation before its order is inserted here,
 * and never cancels a confirmed one. */
#ifndef ORDER_SETTLE_H
#define ORDER_SETTLE_H

#include "inventory_client.h"
#include "pg.h"

struct settle {
    uv_timer_t timer;
    struct inventory *inventory;
    struct pg_pool *pool;
    int64_t after_ms, step_ms; /* `step_ms`: limit of a query or call */
    unsigned passes;           /* since the last one that read the overlap, including it */
    int64_t overlap_at_ms;
    bool is_running, is_closing;
    char failure[PG_MESSAGE_BYTES]; /* of the last pass, "" if it succeeded */
    void (*on_stopped)(void *data);
    void *data;
};

/* Start on `loop`. `settle` lives until `on_stopped`. */
void settle_start(struct settle *settle, uv_loop_t *loop, struct inventory *inventory,
                  struct pg_pool *pool, int64_t after_ms, int64_t every_ms);
/* Stop after the page under way. `on_stopped` runs once, later. The pools must live until then. */
void settle_stop(struct settle *settle, void (*on_stopped)(void *data), void *data);

#endif
