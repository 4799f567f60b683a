/* A second judge, of small simulated runs. It shares no rule with the first one, follows
 * docs/verdict.md word by word, and tries all orders.
 *
 * A run is valid if each reply is true, and a correct shop can have sold each product so: each
 * sale and each refusal has a moment within its request's time, and so has each unit that a request
 * without a key took and gave back; at these moments the stock was as the ledger says, up to the
 * stock that is left at the end. */
#ifndef JUDGE_TEST_REFEREE_H
#define JUDGE_TEST_REFEREE_H

#include "simulated_sale.h"

#define REFEREE_UNITS 7  /* the most of a product */
#define REFEREE_OPS   10 /* the most sales and refusals of a product, and as many other requests */

/* Why no correct shop can have made the run in `sim`, or NULL. */
const char *referee_objects(void);

#endif
