/* One check of a student's strategy: an exploration in a process of its own, shut in (seal.h).
 *
 * What it says comes from the process that runs the student's code: whoever writes over its memory
 * on purpose could make it lie. It decides on nothing but that student's points. */
#ifndef LAB_ATTEMPT_H
#define LAB_ATTEMPT_H

#include "chapter.h"
#include "schedule.h"

#include <stdbool.h>
#include <stdint.h>

#define ATTEMPT_STORY   16384
#define ATTEMPT_SUMMARY 4200

enum attempt_end {
    ATTEMPT_HOLDS,
    ATTEMPT_VIOLATED,
    ATTEMPT_INCOMPLETE, /* too many schedules */
    ATTEMPT_DIED,       /* by a signal: a wild pointer, a system call */
    ATTEMPT_ENDLESS,    /* of CPU: a loop without a step */
    ATTEMPT_STOPPED,    /* by Ctrl-C */
    ATTEMPT_BROKEN,     /* could not be made: see `summary` */
};

struct attempt {
    enum attempt_end end;
    int64_t schedules, violated;
    int steps_alone;
    char id[SCHEDULE_TEXT];        /* when VIOLATED: the shortest schedule */
    char summary[ATTEMPT_SUMMARY]; /* what went wrong, in a sentence or more */
    char story[ATTEMPT_STORY];     /* that schedule, a line for each step */
};

/* Make a check of the shared object at `path`, which was built and looked through. Waits until it
 * has ended, or *is_interrupted is set by a signal's handler. */
void attempt_make(const char *path, const struct check *check, const volatile bool *is_interrupted,
                  struct attempt *attempt);

/* What a student may have written: without what a terminal would obey, and ASCII. */
void attempt_make_plain(char *text);

#endif
