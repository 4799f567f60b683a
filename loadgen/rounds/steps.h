/* The steps of a shop's order and their times, as the array "steps" of summary.json and of a
 * history:
 *
 *     [{"name": "POST /pay", "line": 61, "sent": 200, "no_reply": 0,
 *       "p50_ms": 9.1, "p99_ms": 31.0, "max_ms": 40.2}, ...]
 *
 * `line` is that of the shop file. The times are those of the replies; null without one. */
#ifndef LOADGEN_STEPS_H
#define LOADGEN_STEPS_H

#include "histogram.h"
#include "round.h"
#include "why.h"

#include <jansson.h>
#include <stddef.h>

#define STEPS_MOST 128 /* of an order: two sections of SHOP_ITEMS steps (shop.h) */

/* A step, read from the array. */
struct step_times {
    const char *name; /* belongs to the array */
    int line;
    size_t sent, no_reply;
    double p50_ms, p99_ms, max_ms; /* negative: no reply came */
};

/* Appends a step. `*steps` is NULL before the first, and becomes NULL without memory. `times` has
 * the nanoseconds of each reply. The name becomes one printable line. */
void steps_add(json_t **steps, const char *name, int line, size_t sent, size_t no_reply,
               const struct histogram *times);

/* The steps of several rounds as one array: counts add up, p50 and p99 are the median of the
 * rounds, max is the highest. NULL: no round has steps, or no memory. A new reference. */
__attribute__((warn_unused_result)) json_t *steps_sum(const struct round *const *rounds,
                                                      size_t count);

/* Reads the step at this place. False: the array has no such step, or it cannot be read. */
__attribute__((warn_unused_result)) bool steps_get(const json_t *steps, size_t place,
                                                   struct step_times *step);

/* Checks an array from a file, and makes its names printable. Returns 0; or -1 with the reason in
 * `why`. */
__attribute__((warn_unused_result)) int steps_check(json_t *steps, struct why *why);

#endif
