/* The arrival schedule: the sending time and the product of each request, made from a seed before
 * the run.
 *
 * The same seed and shape give the same schedule, so every strategy meets the same arrivals. On
 * another machine a moment may differ by a nanosecond, because C libraries may round the last digit
 * of log() differently. */
#ifndef LOADGEN_PLAN_H
#define LOADGEN_PLAN_H

#include "uuid.h"
#include "why.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum plan_arrival {
    PLAN_POISSON, /* independent customers: bursts and gaps */
    PLAN_CONSTANT /* equal steps of the expected number of arrivals */
};

#define PLAN_STAGES 32

/* The rate goes from `from` to `to` requests a second, linearly, over `span_ns`. */
struct plan_stage {
    int64_t span_ns;
    double from, to;
};

/* The complete input of a plan. */
struct plan_shape {
    size_t count; /* of arrivals, without repeats */
    size_t stage_count;
    struct plan_stage stages[PLAN_STAGES];
    enum plan_arrival arrival;
    uint64_t seed;
    uint32_t items;  /* products */
    double zipf;     /* exponent of their popularity; item 0 is the most popular; 0: all equal */
    double dup_rate; /* part of the arrivals with a repeat of their key, 0..1 */
};

/* A product for sale. */
struct product {
    char id[UUID_TEXT];
    char since[64]; /* its time of creation, ISO 8601 */
};

struct arrival {
    int64_t due_ns;   /* from the start */
    uint32_t item;    /* its product */
    uint32_t repeats; /* the number of the arrival with the same key, up to 100 ms earlier; its own
                         number if it is no repeat */
};

struct plan {
    size_t count;             /* with repeats */
    int64_t span_ns;          /* of the stages: all arrivals except repeats are in 0 .. span_ns */
    struct arrival *arrivals; /* in order of due_ns */
};

/* Reads "poisson" or "constant". Returns 0, or -1 for another word. */
__attribute__((warn_unused_result)) int plan_parse_arrival(const char *text,
                                                           enum plan_arrival *arrival);
/* Reads "5s:0..800,20s:800", DURATION:RATE or DURATION:FROM..TO, into the stages of `shape`.
 * Returns 0; or -1 with the reason in `why`. */
__attribute__((warn_unused_result)) int plan_parse_stages(const char *text,
                                                          struct plan_shape *shape,
                                                          struct why *why);
/* Reads "uniform" or "zipf:1.1". Returns 0, or -1 for another word. */
__attribute__((warn_unused_result)) int plan_parse_skew(const char *text, double *zipf);

/* The expected number of arrivals in the stages, and the length of the stages. */
double plan_expected(const struct plan_shape *shape);
int64_t plan_span_ns(const struct plan_shape *shape);
/* The part of the arrivals for item 0, the most popular. */
double plan_busiest(uint32_t items, double zipf);

/* Returns 0; or -1 without memory, and then there is nothing to free. */
__attribute__((warn_unused_result)) int plan_make(struct plan *plan,
                                                  const struct plan_shape *shape);
void plan_free(struct plan *plan);

/* Whether `part`, one of `parts`, from 0, sends the arrival `number`. One part sends an arrival and
 * all its repeats. With 0 or 1 parts it sends all. */
bool plan_is_own(const struct plan *plan, size_t number, size_t parts, size_t part);

#endif
