/* The steps from a student's source to a shared object. */
#ifndef LAB_STUDENT_INTERNAL_H
#define LAB_STUDENT_INTERNAL_H

#include "student.h"

#include <stdbool.h>
#include <stddef.h>

/* A source, and the same with the lines joined that a backslash splits, and comments and texts
 * blanked: all begins on the line on which it began. */
struct source {
    char text[STUDENT_SOURCE + 1], code[STUDENT_SOURCE + 1];
    size_t size;
};

__attribute__((format(printf, 2, 3))) enum student_end student_refuse(struct student_file *file,
                                                                      const char *format, ...);

/* source.c */
enum student_end source_read(struct source *source, const char *path, struct student_file *file);
enum student_end source_check(const struct source *source, struct student_file *file);
/* The line on which the code first says this word; 0: nowhere. */
int source_line_of(const struct source *source, const char *word);

/* object.c: of what was compiled, before it is linked. */
enum student_end object_check(const char *path, const struct source *source,
                              struct student_file *file);

/* compiler.c: run it in `folder`, for a few seconds at most; what it says becomes the message. */
enum student_end compiler_run(const char *const *arguments, struct student_file *file);

#endif
