/* How far a round was from first come, first served, by the times of its customers. */
#ifndef JUDGE_OVERTAKEN_H
#define JUDGE_OVERTAKEN_H

#include "record.h"

#include <stddef.h>

/* A request that was sent so much later than another certainly arrived later, unless the machine
 * stood still for so long. */
#define OVERTAKEN_LATER_NS INT64_C(250000000)
#define OVERTAKEN_NOMEM    SIZE_MAX

/* The most other customers that overtook one customer. The one customer was sold a unit or told
 * busy. Each of the others asked for the same product, at least OVERTAKEN_LATER_NS later, and
 * got a unit earlier. OVERTAKEN_NOMEM: out of memory. */
size_t overtaken_most(const struct recorder *recorder);

#endif
