/* While a part sends, it tells its run its times since the line before, in the JSON of its progress.
 * So the run knows its percentiles before the histories arrive.
 *
 * A text has pairs of numbers, each with a space after it: the distance from the bucket of the pair
 * before, and the values in this bucket. */
#ifndef LOADGEN_TALLY_H
#define LOADGEN_TALLY_H

#include "record.h"

#include <jansson.h>

#define TALLY_LATE_NS 10000000 /* shorter lateness is left out */

/* Zeroed, nothing was told. */
struct tally {
    struct histogram latency, service, lateness; /* 0.8 MB: allocate it */
};

/* The times that `told` lacks, a new reference; then `told` has them. NULL without memory. */
json_t *tally_json(struct tally *told, const struct recorder *recorder);
/* Adds them to the histograms of `recorder`, each value as the lowest of its bucket. Ignores what it
 * cannot read. */
void tally_add(const json_t *json, struct recorder *recorder);

#endif
