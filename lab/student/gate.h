/* Looks through a student's file: as a source, and as the object that was compiled from it. */
#ifndef LAB_GATE_H
#define LAB_GATE_H

#include "student_file.h"

#include <stddef.h>

/* A source, and the same with the lines joined that a backslash splits, and comments and texts
 * blanked: all begins on the line on which it began. */
struct gate_source {
    char text[STUDENT_SOURCE + 1], code[STUDENT_SOURCE + 1];
    size_t size;
};

/* Read the file at `path`, and look it through. */
enum student_end gate_read(struct gate_source *source, const char *path, struct student_file *file);
/* The object at `path`, before it is linked. */
enum student_end gate_check_object(const char *path, const struct gate_source *source,
                                   struct student_file *file);

#endif
