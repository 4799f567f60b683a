/* The plan of a trial: all that its seed decides. One seed places the same fault at the same
 * operation of the same worker again. */
#ifndef LOCKJUDGE_PLAN_H
#define LOCKJUDGE_PLAN_H

#include <stdbool.h>
#include <stdint.h>

struct plan {
    uint64_t seed;
    unsigned victim; /* the worker that the fault hits */
    unsigned grant;  /* at its grant of this number, or its acquire; from 1 */
    /* The second fault of a pair: when this part of the first one's length has passed, and whether
     * it hits the same worker, if it may. */
    unsigned second_pct;
    bool is_second_on_victim;
    int64_t kill_ms; /* a kill in a release: so long after the release was sent */
};

struct plan plan_make(uint64_t seed, unsigned workers);

/* How long a worker holds, or thinks before it asks again, in its cycle of this number. */
int64_t plan_hold_ms(const struct plan *plan, unsigned worker, unsigned cycle);
int64_t plan_think_ms(const struct plan *plan, unsigned worker, unsigned cycle);

/* The seed of the trial of this number, and of the row of this name. */
uint64_t plan_seed(uint64_t seed, unsigned number);
uint64_t plan_seed_of(uint64_t seed, const char *name);

#endif
