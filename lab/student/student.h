/* A student's file: one strategy, named `exercise`, that acts only through the seam.
 *
 * student_build() reads the source, checks it, also with its macros expanded, compiles it, checks
 * the object, and links it. Then student_load() can load it. A short list says which headers it may include and which functions it
 * may call. It may keep no variable between calls, because sales would share it behind the seam.
 * The check of the object decides, not that of the source: no code in it runs when it is loaded,
 * and it calls only functions on the list. But C code can reach everything in its process, so run
 * it where that does no harm (seal.h). */
#ifndef LAB_STUDENT_H
#define LAB_STUDENT_H

#include "strategy.h"
#include "student_file.h"
#include "why.h"

#include <limits.h>
#include <stdint.h>

/* Build the file at `path`. Its messages and warnings call it `shown`: in each line that names a place in it, so
 * that an editor can jump there. Call student_remove() after it in any case. */
__attribute__((warn_unused_result)) enum student_end student_build(const char *path,
                                                                   const char *shown,
                                                                   struct student_file *file);
/* The line of the source that made the code at `at` in the object; 0: unknown. */
int student_line(struct student_file *file, uintptr_t at);
/* Remove all files that student_build() made. */
void student_remove(struct student_file *file);

/* Write a path for people: a folder may have any name, and a terminal obeys some bytes. */
void student_show_path(char shown[static PATH_MAX], const char *path);

/* Load the strategy of a shared object, which stays loaded. This runs no code of the object. REFUSED
 * or BROKEN, with the reason in `why`. */
__attribute__((warn_unused_result)) enum student_end student_load(const char *object,
                                                                  const struct strategy **strategy,
                                                                  struct why *why);

#endif
