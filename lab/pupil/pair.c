/* Starts, gathers and ends the pupils of a file. */
#include "pair.h"

#include <errno.h>
#include <malloc.h>
#include <string.h>
#include <sys/random.h>

#define SHIFTS 100000 /* pages by which addresses may move */

static enum pupil_end meet(struct pair *pair, struct pupil *pupil, unsigned shift,
                           struct why *why) {
    const enum pupil_end end =
        pupil_start(pupil, pair->path, shift, pair->is_interrupted, &pair->hello, why);

    if (end == PUPIL_OK && pair->hello.loaded != STUDENT_OK)
        pupil_stop(pupil);
    return end;
}

enum pupil_end pair_meet(struct pair *pair, struct why *why) {
    enum pupil_end end;
    unsigned shift;

    if (getrandom(&shift, sizeof shift, 0) != (ssize_t)sizeof shift) {
        (void)why_set(why, "getrandom: %s", strerror(errno));
        return PUPIL_BROKEN;
    }
    (void)malloc_trim(0); /* else each player's fork copies what the last exploration freed */
    end = meet(pair, &pair->pupil, 0, why);
    if (end != PUPIL_OK || pair->hello.loaded != STUDENT_OK)
        return end;
    end = meet(pair, &pair->other, 1 + shift % SHIFTS, why);
    pair->is_met = end == PUPIL_OK && pair->hello.loaded == STUDENT_OK;
    if (!pair->is_met)
        pupil_stop(&pair->pupil);
    return end;
}

void pair_leave(struct pair *pair) {
    if (!pair->is_met)
        return;
    pupil_stop(&pair->other);
    pupil_stop(&pair->pupil);
    pair->is_met = false;
}

void pair_gather(struct pair *pair) {
    const int here = sched_getcpu();
    cpu_set_t one;

    CPU_ZERO(&one);
    CPU_ZERO(&pair->all);
    if (here < 0 || here >= CPU_SETSIZE || sched_getaffinity(0, sizeof pair->all, &pair->all) != 0)
        return;
    CPU_SET((size_t)here, &one);
    (void)sched_setaffinity(0, sizeof one, &one);
    if (pair->is_met) { /* else they begin there */
        (void)sched_setaffinity(pair->pupil.process, sizeof one, &one);
        (void)sched_setaffinity(pair->other.process, sizeof one, &one);
    }
}

void pair_scatter(const struct pair *pair) {
    if (CPU_COUNT(&pair->all) > 0)
        (void)sched_setaffinity(0, sizeof pair->all, &pair->all);
}
