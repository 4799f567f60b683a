/* How far from first come, first served a round was, as its customers saw it. */
#ifndef JUDGE_OVERTAKEN_H
#define JUDGE_OVERTAKEN_H

#include "record.h"

#include <stddef.h>

/* Whose request was sent so much later certainly came later to the line of who was sent before, on
 * a machine that stands still for less. */
#define OVERTAKEN_LATER_NS INT64_C(250000000)
#define OVERTAKEN_NOMEM    SIZE_MAX

/* Of all that were sold a unit, or told that it is too busy: the most others that were overtaken
 * by, each of whom was sent OVERTAKEN_LATER_NS later or more, for the same product, and had a unit
 * before. OVERTAKEN_NOMEM without memory. */
size_t overtaken_most(const struct recorder *recorder);

#endif
