/* Brings the sales that Redis made to the ledger in the background.
 *
 * Happy path: a sale takes a unit in Redis, in one call with others. The call notes them
 * (segment_redis.h), and each sale is added here. A fiber writes the added sales in batches, one
 * statement each. It tells the waiting fibers. Once the ledger has all sales of a note, it has Redis
 * delete the note.
 *
 * Failures: a sale keeps its note in Redis if it cannot be written now, does not fit into the
 * queue, or its instance died. Every second each instance looks there for notes older than 2 s, of
 * any instance, and writes their sales. Two instances may bring one sale: the database takes the
 * first and says what became of it (sql/segment_sql.h). If an instance dies between the commit and
 * the deletion of the note, its sales are brought again, without effect. */
#ifndef INVENTORY_PENDING_H
#define INVENTORY_PENDING_H

#include "store.h"

#include <stddef.h>
#include <uv.h>

struct pending;
struct made_note;
struct pg_pool;
struct segment_server;
struct why;

/* A unit that was taken for an order. */
struct pending_sale {
    const char *tag, *order_id; /* of its part, see segment_redis.h; copied */
    int shard;
    int64_t unit;
    struct made_note *note; /* which pending_add() and pending_write() end or keep; or NULL */
};

/* Open, and from now on look for notes of others. `instance` is the seller; it is not copied. NULL
 * without memory. Pool and clients must live until this is closed. */
struct pending *pending_open(uv_loop_t *loop, struct pg_pool *pool,
                             const struct segment_server *server, const char *instance);
/* Write all added sales, if that is possible now. Then `cb` runs exactly once, later, on the loop.
 * Nothing may be added any more. */
void pending_close(struct pending *pending, void (*cb)(void *data), void *data);

/* Have the sale written some time soon. */
void pending_add(struct pending *pending, const struct pending_sale *sale);
/* In a fiber: have the sale written now. SOLD, REPEATED or CONFLICT, see store_write_pending(). Or
 * UNKNOWN, soon after `deadline_ms` at the latest; then the sale is brought later. */
enum outcome pending_write(struct pending *pending, const struct pending_sale *sale,
                           int64_t deadline_ms, struct why *why);
/* In a fiber: if a product has a note with this order, write its sales now, and have Redis delete it.
 * OK; BUSY, UNKNOWN, FAILED. */
enum outcome pending_bring(struct pending *pending, const char *order_id, struct why *why);

#endif
