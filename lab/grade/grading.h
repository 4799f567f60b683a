/* The grading of a student's files: a chapter's checks each, as points, as text, as Gradescope's
 * results.json. What is told depends on the files alone: no times, no paths of this machine. */
#ifndef LAB_GRADING_H
#define LAB_GRADING_H

#include "attempt.h"
#include "student_file.h"

#include <stdio.h>

enum grading_file {
    GRADING_CHECKED,
    GRADING_MISSING, /* the student handed in no such file: no points */
    GRADING_REFUSED, /* it goes beyond the seam, or does not compile: no points, and `why` */
    GRADING_BROKEN,  /* the grader could not do its work: no grade at all, and `why` */
    GRADING_STOPPED, /* by Ctrl-C */
};

struct grading {
    struct chapter chapter;
    char name[CHAPTER_PATH]; /* of the student's file, as it is told */
    enum grading_file file;
    char why[STUDENT_MESSAGE];
    struct attempt attempts[CHAPTER_CHECKS];
    size_t attempted;
};

/* Check the file at `path` for the chapter that grading->chapter has. */
void grading_make(struct grading *grading, const char *path, const volatile bool *is_interrupted);
/* Of 100. */
int grading_points(const struct grading *grading);
/* For people: a line for each check; for one that fails its advice, what went wrong and how to see
 * it again. With `is_whole` the schedule, too. */
void grading_print(const struct grading *grading, FILE *to, bool is_whole);
/* Gradescope's results.json of several: 0, or -1 with errno. */
__attribute__((warn_unused_result)) int gradings_write_json(const struct grading *gradings,
                                                            size_t count, FILE *to);

#endif
