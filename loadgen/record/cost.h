/* What a reply tells of the work behind it, in the standard Server-Timing header (W3C,
 * https://www.w3.org/TR/server-timing/):
 *
 *   Server-Timing: wait;dur=1.234, hold;dur=3.001, commit;dur=1.020, pg;desc="2", redis;desc="2",
 *                  retry;desc="0", lock;desc="redis", shard;desc="3"
 *
 * Durations are milliseconds. Anything else in it is skipped, whatever it is. */
#ifndef LOADGEN_COST_H
#define LOADGEN_COST_H

#include "record.h"

#include <stdbool.h>

/* Nothing is known: -1 everywhere. */
void cost_init(struct record_cost *cost);

/* From the header's text, "" for a reply without one. What it does not tell, or not as a number
 * within bounds, is -1. */
void cost_parse(const char *text, struct record_cost *cost);

/* Whether the reply told anything. */
bool cost_is_told(const struct record_cost *cost);

/* Add it to the recorder's histograms and sums. */
void cost_add(struct recorder *recorder, const struct record_cost *cost);

#endif
