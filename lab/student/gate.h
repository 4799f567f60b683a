/* Checks a student's file: its source, also with its macros expanded, and its object. */
#ifndef LAB_GATE_H
#define LAB_GATE_H

#include "student_file.h"

#include <stddef.h>

/* A source, and its code: lines that a backslash splits are joined, and comments and texts are
 * blank. Each word of the code stands on the same line as in the source. */
struct gate_source {
    char text[STUDENT_SOURCE + 1], code[STUDENT_SOURCE + 1];
    size_t size;
};

/* Read the file at `path`, and check the source. */
enum student_end gate_read(struct gate_source *source, const char *path, struct student_file *file);
/* Check the output of the compiler's `-E` at `path`: the same words, also where macros make them.
 * `room` is overwritten. */
enum student_end gate_check_expanded(const char *path, struct gate_source *room,
                                     struct student_file *file);
/* Check the object at `path`, before it is linked. */
enum student_end gate_check_object(const char *path, const struct gate_source *source,
                                   struct student_file *file);

#endif
