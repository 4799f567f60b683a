/* Grades a student's files: runs each chapter's checks, and gives points, text and Gradescope's
 * results.json. The output depends on the files alone: it has no times and no paths of this
 * machine. */
#ifndef LAB_GRADING_H
#define LAB_GRADING_H

#include "attempt.h"
#include "student_file.h"

#include <jansson.h>
#include <stdio.h>

enum grading_file {
    GRADING_CHECKED,
    GRADING_MISSING, /* the student handed in no such file: no points */
    GRADING_REFUSED, /* it goes beyond the seam, or does not compile: no points; see `why` */
    GRADING_BROKEN,  /* the grader could not do its work: no grade at all; see `why` */
    GRADING_STOPPED, /* by Ctrl-C */
};

struct grading {
    struct chapter chapter;
    char name[CHAPTER_PATH]; /* of the student's file, for the output */
    enum grading_file file;
    char why[STUDENT_MESSAGE];
    char warnings[STUDENT_MESSAGE]; /* of the compiler, a line each */
    uint64_t seed;                  /* of the checks' numbers (values.h) */
    bool is_first;                  /* end with the first check that fails */
    struct attempt attempts[CHAPTER_CHECKS];
    size_t attempted;
};

/* Run the checks of grading->chapter on the file at `path`. */
void grading_make(struct grading *grading, const char *path, const volatile bool *is_interrupted);
/* Of 100. */
int grading_points(const struct grading *grading);
/* Print for people: a line for each check. The first that failed also gets the reason, the command
 * that shows it again, and its advice. With `has_story` it gets its schedule, too, and a place in the
 * file at which the student's code failed is in the first line, before the compiler's warnings. */
void grading_print(const struct grading *grading, FILE *to, bool has_story);
/* The tests of Gradescope's results.json, one for each check: a new array, or NULL without memory. */
__attribute__((warn_unused_result)) json_t *grading_tests(const struct grading *grading);
/* Write results.json with the tests of one or more gradings. `tests` is stolen; NULL: memory was
 * short. 0, or -1 with errno. */
__attribute__((warn_unused_result)) int grading_write_results(json_t *tests, FILE *to);

#endif
