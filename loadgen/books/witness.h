/* The witness of a round: a trigger on the count of a shop in Postgres. For each write of the
 * product's rows it notes the number that the write found and the number that it left.
 *
 * Open it. For each round: begin, sell, read, drop. Then close it. The trigger, its function and
 * its table are in a schema of the round, loadgen_witness_<random>. A run that is killed leaves its
 * schema; the next begin in that database drops it.
 *
 * The trigger fails no write of the shop: it runs with the rights of the witness's role. If an
 * expression of the file fails in it, witness_read() has the reason. Its table is UNLOGGED, so no
 * replica gets it. */
#ifndef LOADGEN_WITNESS_H
#define LOADGEN_WITNESS_H

#include "ledger.h"
#include "shop.h"
#include "values.h"
#include "why.h"

#include <stdint.h>
#include <uv.h>

struct witness;

enum witness_answer {
    WITNESS_OK,
    WITNESS_WRONG, /* [Witness] or a right of the role is missing or wrong: `why` has the mend */
    WITNESS_AWAY,  /* the database does not answer, or a lock was not free in time */
};

/* Takes the ledger's address from `values`, and connects in the background. `shop` must live as
 * long as the witness. 0; or -1 with the reason, and then there is nothing to undo: the file has no
 * [Witness], or libpq cannot read the address. */
__attribute__((warn_unused_result)) int witness_open(struct witness **witness, uv_loop_t *loop,
                                                     const struct shop *shop,
                                                     const struct values *values, struct why *why);

/* In a fiber, after `setup`: drop the schemas of runs that were killed, and make the trigger for
 * the rows that `values` name. `left` is what [Stock] says now. It may take `ms`. Unless OK, this
 * round has no schema. */
__attribute__((warn_unused_result)) enum witness_answer witness_begin(struct witness *witness,
                                                                      const struct values *values,
                                                                      int64_t left, int64_t ms,
                                                                      struct why *why);

/* In a fiber, once the books are read and nothing changes any more: read the writes into `ledger`,
 * whose `available` is what [Stock] said; they replace those of [Writes]. Unless OK, the ledger is
 * as it was. WRONG: the writes do not explain the count, or an expression failed. */
__attribute__((warn_unused_result)) enum witness_answer witness_read(struct witness *witness,
                                                                     struct ledger *ledger,
                                                                     int64_t ms, struct why *why);

/* In a fiber, after each begin: drop the trigger and its schema. OK if there is none. It waits at
 * most half a second at a time for the shop's transactions, so it holds up no other one for longer,
 * and tries again until `ms` are over. If it fails, the reason has the SQL that drops them. */
__attribute__((warn_unused_result)) enum witness_answer witness_drop(struct witness *witness,
                                                                     int64_t ms, struct why *why);

/* `cb` runs once, later, with the witness freed. A schema that was not dropped stays. */
typedef void (*witness_cb)(void *data);
void witness_close(struct witness *witness, witness_cb cb, void *data);

#endif
