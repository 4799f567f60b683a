/* The auditor: makes products, waits until their ledgers are quiet, and reads the ledgers.
 *
 * It reads both databases directly, with a role of its own: a service's word about itself is no
 * evidence. All functions run in a fiber. */
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

/* One query of sql/audit.sql: $1 is the product, $2 the earliest time of its rows. */
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
    int64_t query_ms;     /* limit of each query of an audit; may change at any time */
    int postgres_version; /* of the server: 150014 is 15.14 */
};

/* Opens both pools, and waits until the databases answer. The conninfos are copied. `orders` may be
 * NULL if only products will be made. Returns 0; or -1, with the database and the remedy in `why`.
 * Call auditor_close() either way. */
__attribute__((warn_unused_result)) int auditor_open(struct auditor *auditor, uv_loop_t *loop,
                                                     const char *inventory, const char *orders,
                                                     struct why *why);
/* Returns when both pools are closed. */
void auditor_close(struct auditor *auditor);

/* Makes a product, and fills in `product`. Returns 0; or -1 with the reason in `why`. */
__attribute__((warn_unused_result)) int auditor_create(struct auditor *auditor, const char *name,
                                                       int64_t stock, const char *spec,
                                                       struct product *product, struct why *why);

struct audit_found {
    bool is_there;
    int64_t stock; /* initial */
    char spec[STRATEGY_SPEC_SIZE];
};
/* Looks up product->id, and fills in the rest. Returns 0; or -1 with the reason in `why`. */
__attribute__((warn_unused_result)) int auditor_find(struct auditor *auditor,
                                                     struct product *product,
                                                     struct audit_found *found, struct why *why);
/* Whether nothing of it was ever sold. Returns 0; or -1 with the reason in `why`. */
__attribute__((warn_unused_result)) int auditor_is_fresh(struct auditor *auditor,
                                                         const struct product *product,
                                                         bool *is_fresh, struct why *why);

/* Returns true once each sale has its order and nothing was sold for `still_ms`. Returns false at
 * the deadline or when *is_interrupted is set. After an unknown outcome a sale may still come: it
 * may wait for the lock of a dead holder, but no longer than its wait=. So if nothing is sold for
 * longer than that, all sales have ended. */
__attribute__((warn_unused_result)) bool auditor_wait_quiet(struct auditor *auditor,
                                                            const struct product *product,
                                                            int64_t still_ms, int64_t deadline_ms,
                                                            const bool *is_interrupted);

/* Reads the ledger. Returns 0; or -1 with the reason in `why`. Call ledger_free() either way. */
__attribute__((warn_unused_result)) int auditor_read(struct auditor *auditor,
                                                     const struct product *product,
                                                     struct ledger *ledger, struct why *why);

/* Waits until the table lab_event gets no new rows of the product, and adds them to `events`.
 * `item` is the product's number in the round. A time of the database plus `offset_us` is
 * microseconds from the round's start. Returns 0; or -1 with the reason in `why`. */
__attribute__((warn_unused_result)) int auditor_read_events(struct auditor *auditor,
                                                            const struct product *product,
                                                            uint32_t item, int64_t offset_us,
                                                            struct event_list *events,
                                                            struct why *why);

/* A look at the clock of the database: it read its clock between the question and the answer. */
struct clock_sample {
    int64_t asked_ns, answered_ns; /* by our monotonic clock; in a history from the round's start */
    int64_t told_us;               /* by the database's, since 1970, cut to whole microseconds */
};
/* Asks once. Returns 0, or -1: no answer. */
__attribute__((warn_unused_result)) int auditor_ask_clock(struct auditor *auditor,
                                                          struct clock_sample *sample);
/* Measures the skew: a time of the database inventory plus `skew_us` is a time of our wall clock.
 * It takes the fastest of a few round trips; the error is at most half of that trip, about 50 µs on
 * one machine. Returns 0, or -1 if the database does not answer. */
__attribute__((warn_unused_result)) int auditor_skew(struct auditor *auditor, int64_t *skew_us);

#endif
