/* Runs one SQL statement in a fiber, and turns its end into the outcome of a sale's step. */
#ifndef INVENTORY_STATEMENT_H
#define INVENTORY_STATEMENT_H

#include "decimal.h"
#include "log.h"
#include "metrics.h"
#include "pg.h"
#include "store.h"
#include "why.h"

#include <inttypes.h>

/* A statement with its wait for a connection. Longer than the server's limit, so a slow statement
 * ends with the server's definite "cancelled" and not with our "unknown". */
#define STATEMENT_MS 4000
#define SERVER_MS    2000
#define IDLE_MS      5000 /* the server ends a transaction that is idle for so long */

/* Make the server keep these limits, even against the connection string. Also read every table by
 * an index: a plan from the time when the ledger was small would still read all of it. */
#define STATEMENT_SESSION                                                                          \
    "-c enable_seqscan=off -c statement_timeout=" STATEMENT_TEXT(                                  \
        SERVER_MS) " -c idle_in_transaction_session_timeout=" STATEMENT_TEXT(IDLE_MS)
#define STATEMENT_TEXT(number)    STATEMENT_TEXT_OF(number)
#define STATEMENT_TEXT_OF(number) #number

/* A write without an answer may still land so long after its deadline. Each write names its last
 * moment, and the server begins none later. It gives up after SERVER_MS. Then COMMIT_MS is for the
 * commit's flush, which statement_timeout does not bound: a disk that stalls for longer breaks
 * this. */
#define COMMIT_MS 1000
#define LAND_MS   (SERVER_MS + COMMIT_MS)

/* A statement and the times of its runs; static in a *_sql.c file. */
struct statement {
    struct pg_statement pg;
    struct metric times;
    struct log_limit refusals;
};
#define STATEMENT(name_, params_, sql_)                                                            \
    {                                                                                              \
        .pg = {name_, sql_, params_}, .times = {                                                   \
            "inventory_statement_seconds",                                                         \
            STATEMENT_HELP,                                                                        \
            METRIC_TIMES,                                                                          \
            .labels = "statement=\"" name_ "\""                                                    \
        }                                                                                          \
    }
#define STATEMENT_HELP                                                                             \
    "Time from asking for a statement to its answer, with the wait for a connection"

/* An integer parameter as text. */
struct number {
    char text[DECIMAL_BYTES];
};
struct number number_of(int64_t value);

/* A moment STATEMENT_MS from now. */
int64_t statement_deadline_ms(void);

/* Run a statement that only reads, with the parameters and the deadline in `query` (0: STATEMENT_MS
 * from now). The caller clears the query in every case. `why` is set unless it returns OK.
 *
 *     OK
 *     BUSY      the database could not answer
 *     FAILED    the database refused
 *     CONFLICT  see statement_write() */
enum outcome statement_read(struct pg_pool *pool, struct statement *statement,
                            struct pg_query *query, struct why *why);

/* Prepare the statement on the held connection query->on, so that running it there needs no other
 * step first: OK, BUSY, FAILED. */
enum outcome statement_prepare(struct pg_pool *pool, struct statement *statement,
                               struct pg_query *query, struct why *why);

/* Run a statement that writes, in the same way.
 *
 *     OK
 *     BUSY, FAILED  no effect
 *     REPEATED      the ledger has this order; no effect
 *     UNKNOWN       it may have taken effect, or may still
 *     CONFLICT      only on a held connection: the isolation forbids it, or it would wait for
 *                   ever; no effect */
enum outcome statement_write(struct pg_pool *pool, struct statement *statement,
                             struct pg_query *query, struct why *why);

#endif
