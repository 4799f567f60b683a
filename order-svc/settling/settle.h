/* Settling: find reservations without an order, and record their orders.
 *
 * Between the reservation and its order, order-svc can die or lose its database. The unit is then
 * taken, and its customer does not know. What the customer asked for is carried out: the order is
 * recorded, so a repeat with the same idempotency key finds it. Recording is idempotent, so it
 * needs no coordination with other order services.
 *
 * Every `every_ms` the reservations that have become older than `after_ms` are read from
 * inventory-svc, a page at a time, and the missing orders are inserted; the cursor is kept in the
 * database, so that a restart leaves nothing out. A reservation can still come behind the cursor,
 * by a commit that took its time or a clock that was set back: so each pass asks for those, too, up
 * to a minute back. Younger ones are left alone: their request is still under way, and may yet
 * cancel. Whoever is quicker: inventory-svc confirms a reservation before its order is inserted
 * here, and what is confirmed is not cancelled. */
#ifndef ORDER_SETTLE_H
#define ORDER_SETTLE_H

#include "inventory_client.h"
#include "pg.h"

struct settle {
    uv_timer_t timer;
    struct inventory *inventory;
    struct pg_pool *pool;
    int64_t after_ms, step_ms; /* a query or call is given up after `step_ms` */
    unsigned passes;           /* since the one that read the overlap, with it */
    int64_t overlap_at_ms;
    bool is_running, is_closing;
    char failure[PG_MESSAGE_BYTES]; /* of the last pass, "" when it succeeded */
    void (*on_stopped)(void *data);
    void *data;
};

/* Start on `loop`; `settle` lives until `on_stopped`. */
void settle_start(struct settle *settle, uv_loop_t *loop, struct inventory *inventory,
                  struct pg_pool *pool, int64_t after_ms, int64_t every_ms);
/* Stop after the page under way; `on_stopped` runs once, later. The pools must live until then. */
void settle_stop(struct settle *settle, void (*on_stopped)(void *data), void *data);

#endif
