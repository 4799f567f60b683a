/* The live store's transactions: a connection of the pool, held from begin to commit or rollback,
 * on which all that the sale does with the stock meanwhile is run.
 *
 * What is not answered before the commit was sent has sold nothing: the connection is closed then,
 * and the server rolls back. A COMMIT that is not answered may still land: the server reads it, at
 * the latest, when it would have ended a transaction that stands idle, IDLE_MS after the write, and
 * then it needs COMMIT_MS. */
#include "store_live_internal.h"

#include "clock.h"
#include "transaction_sql.h"

#include <assert.h>
#include <stdio.h>

enum outcome live_begin(struct sale *sale, enum isolation isolation) {
    struct live_sale *live = live_of(sale);
    const int64_t wait_ms = live->lock_deadline_ms, usual_ms = live_due_ms(live);
    enum outcome outcome;

    assert(live->conn == NULL);
    /* Sales that wait for the row keep others from a connection: it is the same wait. */
    live->conn = pg_hold(live->store->pool, wait_ms > usual_ms ? wait_ms : usual_ms);
    if (live->conn == NULL) {
        (void)snprintf(sale->message, MESSAGE_BYTES, "no connection to the database in time");
        return OUTCOME_BUSY;
    }
    live->cost.postgres++;
    outcome = transaction_sql_begin(live->store->pool, live->conn, isolation, live_due_ms(live),
                                    sale->message);
    live->is_transaction = outcome == OUTCOME_OK;
    if (outcome != OUTCOME_OK)
        live_give_back_conn(live);
    return outcome;
}

enum outcome live_read_for_update(struct sale *sale, int shard, enum row_wait wait,
                                  struct stock_row *row) {
    struct live_sale *live = live_of(sale);
    const struct row_wanted wanted = {
        .product_id = live->product->id,
        .shard = shard,
        .first = shard == ANY_SHARD ? sale->ops->deal(sale) : 0,
        .shards = sale->options->shards,
        .wait = wait,
        .wait_ms = earlier(live->lock_deadline_ms - clock_now_ms(), SERVER_MS)};
    enum outcome outcome;
    int64_t server_us;

    assert(live->is_transaction);
    live->cost.postgres++;
    outcome = transaction_sql_read(live->store->pool, live->conn, &wanted, row, &server_us,
                                   live_due_ms(live), sale->message);
    if (outcome == OUTCOME_OK)
        live->server_ahead_us = server_us - clock_now_ms() * 1000;
    return outcome;
}

/* The connection is free for others once the server has rolled back. */
static void end(struct live_sale *live) {
    live->is_transaction = false;
    live_give_back_conn(live);
}

enum outcome live_commit(struct sale *sale) {
    struct live_sale *live = live_of(sale);
    int64_t due_ms = live_due_ms(live);
    const int64_t lands_until_ms = clock_now_ms() + IDLE_MS + COMMIT_MS;
    enum outcome outcome;

    assert(live->is_transaction);
    live->cost.postgres++;
    outcome = transaction_sql_commit(live->store->pool, live->conn, due_ms, sale->message);
    end(live);
    if (outcome == OUTCOME_UNKNOWN)
        live->lands_until_ms = lands_until_ms;
    return outcome == OUTCOME_OK ? live_note_sold(live) : outcome;
}

void live_rollback(struct sale *sale) {
    struct live_sale *live = live_of(sale);

    assert(live->is_transaction);
    end(live);
}
