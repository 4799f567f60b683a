/* A judge of small simulated runs that knows nothing of the other one: it follows README's section
 * "The verdict" word by word, and tries all orders.
 *
 * A run is valid when each reply is true, and each product can have been sold so by a correct shop:
 * there is a moment for each sale and each refusal, within its request's time, and for each unit
 * that a request without a key took and gave back, at which the stock was just as the ledger
 * says, up to the stock that is left at the end. */
#ifndef JUDGE_TEST_REFEREE_H
#define JUDGE_TEST_REFEREE_H

#include "simulated_sale.h"

#define REFEREE_UNITS 7  /* of a product, the most */
#define REFEREE_OPS   10 /* sales and refusals of a product, the most; and as many others */

/* Why the run in `sim` is no run of a correct shop, or NULL when it is. */
const char *referee_objects(void);

#endif
