/* A round in the form of a Jepsen history, for checkers of other people: elle-cli, Knossos,
 * Porcupine.
 *
 * An attempt adds one element to a set: `add`, and the value is the id of its order, or else its
 * key. Each request that was sent is an operation of a process of its own: an `invoke` when it was
 * sent; and when it ended
 *     ok      sold; `unit` is the unit that the reply named, if it named one
 *     info    unknown: it may have been sold at any time since
 *     fail    every other outcome, which is the `error`
 * A request that was never sent is no operation. The last operation is a `read` of the ledger: its
 * value has the order of each sale. `products` beside it has the stock, the units left and, if
 * sales have numbers, for each order how many units it left.
 *
 * The operations are in order of time. Of those at the same nanosecond an invoke stands first, so
 * that they overlap. */
#ifndef LOADGEN_JEPSEN_H
#define LOADGEN_JEPSEN_H

#include "round.h"

#include <stdio.h>

enum jepsen_form {
    JEPSEN_EDN, /* a map a line */
    JEPSEN_JSON /* an array with an object a line */
};

/* Writes a round that has its records and ledgers. Returns 0; or -1 with errno. */
__attribute__((warn_unused_result)) int jepsen_write(const struct round *round,
                                                     enum jepsen_form form, FILE *to);

#endif
