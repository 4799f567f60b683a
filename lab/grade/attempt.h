/* One check of a student's strategy: an exploration of every schedule within the check's bound.
 *
 * The explorer, the model and the judge run in this process. The student's code runs in sealed
 * processes (seal.h), which only say what a sale does next (plan.h). They cannot say that it holds. */
#ifndef LAB_ATTEMPT_H
#define LAB_ATTEMPT_H

#include "chapter.h"
#include "pair.h"
#include "schedule.h"
#include "values.h"

#include <stdbool.h>
#include <stdint.h>

#define ATTEMPT_STORY   16384
#define ATTEMPT_SUMMARY 4200

enum attempt_end {
    ATTEMPT_HOLDS,
    ATTEMPT_VIOLATED,
    ATTEMPT_INCOMPLETE, /* too many schedules */
    ATTEMPT_DIED,       /* the process ended early: a wild pointer, a system call */
    ATTEMPT_ENDLESS,    /* it used up its CPU time: a loop without a step */
    ATTEMPT_STOPPED,    /* by Ctrl-C */
    ATTEMPT_BROKEN,     /* the check could not be made: see `summary` */
};

struct attempt {
    enum attempt_end end;
    int64_t schedules, violated;
    int steps_alone;
    int stock, version, fence;     /* it began with these */
    char id[SCHEDULE_TEXT];        /* if VIOLATED: the shortest schedule */
    char summary[ATTEMPT_SUMMARY]; /* the failure, in a sentence or more */
    char story[ATTEMPT_STORY];     /* that schedule, a line for each step */
    uintptr_t crashed_at;          /* if DIED or ENDLESS: in the object; 0: unknown */
    int line;                      /* of the source; 0: unknown */
    const char *advice;            /* for this failure; NULL: the check's */
};

/* Run `check` on the object of `pair`. If the file does something else at one of the values, the check
 * also begins there. Blocks until the check has ended, or a signal's handler sets
 * *pair->is_interrupted. It meets the pair if that is not met. The caller leaves it after the last
 * check. */
void attempt_make(struct pair *pair, const struct check *check, const struct values *values,
                  struct attempt *attempt);

/* Replace each byte of a student's text that is not ASCII, or that a terminal would obey, by '?'.
 */
void attempt_make_plain(char *text);

#endif
