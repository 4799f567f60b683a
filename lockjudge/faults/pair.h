/* Two faults in one trial: the second begins while the first lasts. */
#ifndef LOCKJUDGE_PAIR_H
#define LOCKJUDGE_PAIR_H

#include "fault.h"

/* NULL: the two make a pair, in this order. Else the reason why they do not. */
const char *pair_refusal(const struct fault_case *first, const struct fault_case *second);

/* The worker that the second fault hits: the victim of the first, another one, or either, and then
 * the seed decides. Not for a fault of the server. */
enum pair_target { PAIR_OTHER, PAIR_VICTIM, PAIR_EITHER };
enum pair_target pair_target(const struct fault_case *first, const struct fault_case *second);

#endif
