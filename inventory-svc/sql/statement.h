/* Running one SQL statement in a fiber, and what its end means for a sale. */
#ifndef INVENTORY_STATEMENT_H
#define INVENTORY_STATEMENT_H

#include "decimal.h"
#include "log.h"
#include "metrics.h"
#include "pg.h"
#include "store.h"
#include "why.h"

#include <inttypes.h>

/* A statement with its wait for a connection. Longer than what the server gives a statement, so
 * that a slow one ends with the server's definite "cancelled" and not with our "unknown". */
#define STATEMENT_MS 4000
#define SERVER_MS    2000
#define IDLE_MS      5000 /* that the server lets a transaction stand idle before it ends it */

/* What holds the server to that, whatever the connection string says. And every table is read by an
 * index: a plan that was made while the ledger was small would go on reading all of it. */
#define STATEMENT_SESSION                                                                          \
    "-c enable_seqscan=off -c statement_timeout=" STATEMENT_TEXT(                                  \
        SERVER_MS) " -c idle_in_transaction_session_timeout=" STATEMENT_TEXT(IDLE_MS)
#define STATEMENT_TEXT(number)    STATEMENT_TEXT_OF(number)
#define STATEMENT_TEXT_OF(number) #number

/* How long after its deadline a write that was not answered may still land: the server begins none
 * later (each write names its last moment), gives it up after SERVER_MS, and needs COMMIT_MS to
 * flush the commit, which statement_timeout does not bound: a disk that stalls for longer breaks
 * this. */
#define COMMIT_MS 1000
#define LAND_MS   (SERVER_MS + COMMIT_MS)

/* A statement and the times that it took; static in a *_sql.c file. */
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
 * from now): OK; BUSY when the store could not answer; FAILED when it refused; CONFLICT as below.
 * `why` says why. The caller clears the query in every case. */
enum outcome statement_read(struct pg_pool *pool, struct statement *statement,
                            struct pg_query *query, struct why *why);

/* Have the held connection query->on know the statement, so that nothing comes before it when it is
 * run there: OK, BUSY, FAILED. */
enum outcome statement_prepare(struct pg_pool *pool, struct statement *statement,
                               struct pg_query *query, struct why *why);

/* Run one that writes, as statement_read() does: OK, BUSY and FAILED (no effect), REPEATED (the
 * ledger has this order; no effect), UNKNOWN (it may have happened, or may still); on a held
 * connection also CONFLICT (the isolation forbids it, or it would have waited for ever; no effect).
 */
enum outcome statement_write(struct pg_pool *pool, struct statement *statement,
                             struct pg_query *query, struct why *why);

#endif
