/* The arrival schedule: when each request is to be sent and for which product, made from a seed
 * before the run.
 *
 * The same seed and shape give the same schedule, so that every strategy meets the same arrivals;
 * on another machine to the nanosecond, as C libraries may round the last digit of log() otherwise.
 */
#ifndef LOADGEN_PLAN_H
#define LOADGEN_PLAN_H

#include "uuid.h"
#include "why.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum plan_arrival {
    PLAN_POISSON, /* as independent customers come: bursts and gaps */
    PLAN_CONSTANT /* in equal steps of the expected number of arrivals */
};

#define PLAN_STAGES 32

/* The rate goes from `from` to `to` requests a second, linearly, over `span_ns`. */
struct plan_stage {
    int64_t span_ns;
    double from, to;
};

/* All that a plan follows from. */
struct plan_shape {
    size_t count; /* of arrivals, repeats not among them */
    size_t stage_count;
    struct plan_stage stages[PLAN_STAGES];
    enum plan_arrival arrival;
    uint64_t seed;
    uint32_t items;  /* products */
    double zipf;     /* exponent of their popularity, item 0 the most; 0: all alike */
    double dup_rate; /* the part of arrivals whose key is sent once more, 0..1 */
};

/* What a run sells. */
struct product {
    char id[UUID_TEXT];
    char since[64]; /* when it was created, in the form of ISO 8601 */
};

struct arrival {
    int64_t due_ns;   /* from the start */
    uint32_t item;    /* the product that it asks for */
    uint32_t repeats; /* the arrival whose key it sends again, up to 100 ms after it; itself when it
                         is none */
};

struct plan {
    size_t count;             /* repeats among them */
    int64_t span_ns;          /* of the stages: every arrival but repeats is in 0 .. span_ns */
    struct arrival *arrivals; /* in order of due_ns */
};

/* "poisson" or "constant": 0, or -1 when it is neither. */
__attribute__((warn_unused_result)) int plan_parse_arrival(const char *text,
                                                           enum plan_arrival *arrival);
/* "5s:0..800,20s:800", DURATION:RATE or DURATION:FROM..TO, into the stages of `shape`: 0, or -1 and
 * `why` says what is wrong. */
__attribute__((warn_unused_result)) int plan_parse_stages(const char *text,
                                                          struct plan_shape *shape,
                                                          struct why *why);
/* "uniform" or "zipf:1.1". */
__attribute__((warn_unused_result)) int plan_parse_skew(const char *text, double *zipf);

/* Expected arrivals of the stages, and their length. */
double plan_expected(const struct plan_shape *shape);
int64_t plan_span_ns(const struct plan_shape *shape);
/* The part of the arrivals that ask for item 0, the most popular. */
double plan_busiest(uint32_t items, double zipf);

/* 0, or -1 without memory, and then there is nothing to free. */
__attribute__((warn_unused_result)) int plan_make(struct plan *plan,
                                                  const struct plan_shape *shape);
void plan_free(struct plan *plan);

/* Whether `worker` of so many sends the arrival of this number. One worker sends an arrival and all
 * its repeats. 0 or 1 worker sends all. */
bool plan_is_own(const struct plan *plan, size_t number, size_t workers, size_t worker);

#endif
