/* Running one SQL statement in a fiber, and what its end means for a sale. */
#ifndef INVENTORY_STATEMENT_H
#define INVENTORY_STATEMENT_H

#include "metrics.h"
#include "pg.h"
#include "store.h"

#include <inttypes.h>

/* A statement with its wait for a connection. Longer than what the server gives a statement
 * (statement_timeout, set in main.c), so that a slow one ends with the server's definite
 * "cancelled" and not with our "unknown". */
#define STATEMENT_MS 4000
#define SERVER_MS    2000

/* The times of one statement, a static struct metric. */
#define STATEMENT_TIMES(text)                                                                      \
    {                                                                                              \
        .name = "inventory_statement_seconds",                                                     \
        .help = "Time from asking for a statement to its "                                         \
                "answer, with the wait for a connection",                                          \
        .type = METRIC_TIMES, .labels = "statement=\"" text "\""                                   \
    }

/* An integer parameter as text. */
struct number {
    char text[24];
};
struct number number_of(int64_t value);

/* A moment STATEMENT_MS from now. */
int64_t statement_deadline_ms(void);

/* Run a query that only reads: OK; BUSY when the store could not answer; FAILED when it refused.
 * `message` says why. The caller clears the query in every case. */
enum outcome statement_read(struct pg_pool *pool, struct pg_query *query, struct metric *times,
                            char message[MESSAGE_BYTES]);

/* Run a query that writes: OK, BUSY and FAILED (no effect), REPEATED (the ledger has this order; no
 * effect), UNKNOWN (it may have happened, or may still). */
enum outcome statement_write(struct pg_pool *pool, struct pg_query *query, struct metric *times,
                             char message[MESSAGE_BYTES]);

#endif
