/* The arrival schedule: when each request is to be sent, made from a seed before the run.
 *
 * The same seed, rate and count give the same schedule on every machine, so that every strategy
 * meets the same arrivals. */
#ifndef LOADGEN_PLAN_H
#define LOADGEN_PLAN_H

#include <stddef.h>
#include <stdint.h>

enum plan_arrival {
    PLAN_POISSON, /* as independent customers come: bursts and gaps */
    PLAN_CONSTANT /* every 1/rate seconds */
};

struct plan {
    size_t count;
    int64_t span_ns; /* count / rate: every request is planned in 0 .. span_ns */
    int64_t *due_ns; /* nanoseconds from the start, ascending */
};

/* "poisson" or "constant": 0, or -1 when it is neither. */
__attribute__((warn_unused_result)) int plan_parse_arrival(const char *text,
                                                           enum plan_arrival *arrival);

/* `count` arrivals at `per_second` on average. 0, or -1 without memory, and then there is nothing
 * to free. */
__attribute__((warn_unused_result)) int plan_make(struct plan *plan, size_t count,
                                                  int64_t per_second, enum plan_arrival arrival,
                                                  uint64_t seed);
void plan_free(struct plan *plan);

#endif
