/* The two pupils of a file, for all of its checks. The second one has other addresses. */
#ifndef LAB_PAIR_H
#define LAB_PAIR_H

#include "pupil.h"

#include <sched.h>

/* Begin with the first two members; the others are zero. */
struct pair {
    const char *path; /* of the object */
    const volatile bool *is_interrupted;
    struct pupil pupil, other;
    struct pupil_hello hello;
    bool is_met;
    cpu_set_t all; /* processors of this process; none: unknown */
};

/* Start both. Anything but OK: there is no pair; see `why`. Also OK if the object could not be loaded:
 * then pair->hello says so, and there is no pair. */
__attribute__((warn_unused_result)) enum pupil_end pair_meet(struct pair *pair, struct why *why);
/* End both, if they are met. */
void pair_leave(struct pair *pair);
/* This process and the pupils' wait for each other all the time. On one processor, that on which we
 * run now, this takes a fifth less CPU, and much less time if others use the machine. */
void pair_gather(struct pair *pair);
/* This process may use all of its processors again. */
void pair_scatter(const struct pair *pair);

#endif
