/* A class: the students' folders, and the results of their files.
 *
 * Files with the same bytes for the same chapter are graded once. */
#ifndef LAB_CLASS_H
#define LAB_CLASS_H

#include "grading.h"
#include "kept.h"
#include "roster.h"

#include <jansson.h>

struct class_result {
    enum grading_file file;
    int points;    /* of 100 */
    char *why;     /* if it is not CHECKED: a line */
    json_t *tests; /* grading_tests(); NULL if it is BROKEN or STOPPED */
};

/* Files with the same bytes. */
struct class_unit {
    size_t student, chapter; /* the first of them: an index of chapters[] */
    struct class_result result;
};

struct class {
    struct roster roster;
    struct chapter chapters[CHAPTERS];
    size_t chapter_count;
    struct class_unit *units;
    size_t unit_count;
    size_t *unit_of;  /* of [student * chapter_count + chapter] */
    uint64_t seed;    /* of the checks' numbers */
    struct kept kept; /* results of earlier runs; zeroed: none */
};

/* Read the folders in `folder`, and the chapters in `lab`: one, or 0 for all. 0, or -1 with the
 * reason. Free it in any case. */
__attribute__((warn_unused_result)) int class_read(struct class *class, const char *folder,
                                                   const char *lab, int chapter, struct why *why);
/* Grade all files, `processes` at a time. `tell` is called from time to time. */
void class_grade(struct class *class, size_t processes, const volatile bool *is_interrupted,
                 void (*tell)(size_t ended, size_t files));
void class_free(struct class *class);

const struct class_result *class_result_of(const struct class *class, size_t student,
                                           size_t chapter);
/* The points of a student's graded files. */
int class_points(const struct class *class, size_t student);
/* The files of a student without a grade, because of the machine or Ctrl-C. */
size_t class_ungraded(const struct class *class, size_t student);

#endif
