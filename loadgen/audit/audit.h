/* The auditor: makes products, waits until their ledgers are quiet, and reads them.
 *
 * It reads both databases directly, with a role of its own: what the services say of themselves
 * is not evidence. All functions run in a fiber. */
#ifndef LOADGEN_AUDIT_H
#define LOADGEN_AUDIT_H

#include "event.h"
#include "ledger.h"
#include "pg.h"
#include "plan.h"
#include "strategy_list.h"
#include "why.h"

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#define AUDIT_QUERIES_MAX 16

/* One query of sql/audit.sql: $1 is the product and $2 the time since which to look. */
struct audit_query {
    struct pg_statement statement;
    bool is_orders; /* runs on the database orders, else on inventory */
    char name[32];
    char *sql;
};

struct auditor {
    uv_loop_t *loop;
    struct pg_pool *inventory, *orders;
    size_t query_count;
    struct audit_query queries[AUDIT_QUERIES_MAX];
    int64_t query_ms;     /* for each query of an audit; may be changed at any time */
    int postgres_version; /* of the server: 150014 is 15.14 */
};

/* Open both pools; the conninfos are copied, `orders` may be NULL when only products are to be
 * made. Waits until the databases answer. 0; or -1, and `why` names the database and says what to
 * do. Close either way. */
__attribute__((warn_unused_result)) int auditor_open(struct auditor *auditor, uv_loop_t *loop,
                                                     const char *inventory, const char *orders,
                                                     struct why *why);
/* In a fiber: returns when both pools are closed. */
void auditor_close(struct auditor *auditor);

__attribute__((warn_unused_result)) int auditor_create(struct auditor *auditor, const char *name,
                                                       int64_t stock, const char *spec,
                                                       struct product *product, struct why *why);

struct audit_found {
    bool is_there, is_fresh; /* fresh: never sold from */
    int64_t stock;           /* at first */
    char spec[STRATEGY_SPEC_SIZE];
};
/* Look for a product by its id, and fill in the rest. 0; or -1, and `why` says what failed. */
__attribute__((warn_unused_result)) int auditor_find(struct auditor *auditor,
                                                     struct product *product,
                                                     struct audit_found *found, struct why *why);

/* Wait until each sale has its order and nothing was sold for `still_ms`: true; or until the
 * deadline, or until *is_interrupted: false. After unknown outcomes sales may still come, and stand
 * still as long as a lock's dead holder keeps it; but none waits for it longer than its wait=, so
 * what is still for longer has ended. */
__attribute__((warn_unused_result)) bool auditor_wait_quiet(struct auditor *auditor,
                                                            const struct product *product,
                                                            int64_t still_ms, int64_t deadline_ms,
                                                            const bool *is_interrupted);

/* 0; or -1, and `why` says what failed. ledger_free() it either way. */
__attribute__((warn_unused_result)) int auditor_read(struct auditor *auditor,
                                                     const struct product *product,
                                                     struct ledger *ledger, struct why *why);

/* Add what the table lab_event has of a product of the round, number `item`, to `events`, once no
 * more is coming in. `offset_us` is what to add to a time of the database to have microseconds from
 * the round's start. 0; or -1, and `why` says what failed. */
__attribute__((warn_unused_result)) int auditor_read_events(struct auditor *auditor,
                                                            const struct product *product,
                                                            uint32_t item, int64_t offset_us,
                                                            struct event_list *events,
                                                            struct why *why);

/* What to add to a time of the database inventory to have it on our wall clock, from the fastest of
 * a few round trips: right to half of its length, some 50 µs nearby. 0, or -1 when the database
 * does not answer. */
__attribute__((warn_unused_result)) int auditor_skew(struct auditor *auditor, int64_t *skew_us);

#endif
