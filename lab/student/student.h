/* A student's file: one strategy, named `exercise`, that acts through the seam alone.
 *
 * It is read, looked through, compiled, looked through again as an object, and linked: then it can
 * be loaded. What it may include and call is a short list; what it keeps for itself between calls
 * is refused, as sales would share it behind the seam's back. The object is the gate, not the
 * source: nothing in it runs when it is loaded, and it calls nothing but the list. Yet C can reach
 * anything in its process: run it where that does no harm (seal.h). */
#ifndef LAB_STUDENT_H
#define LAB_STUDENT_H

#include "strategy.h"
#include "student_file.h"
#include "why.h"

/* Build the file at `path`. student_remove() in any case. */
__attribute__((warn_unused_result)) enum student_end student_build(const char *path,
                                                                   struct student_file *file);
/* Remove what was made. */
void student_remove(struct student_file *file);

/* The strategy of a shared object, which stays loaded; or NULL, and `why`. Runs nothing of it. */
const struct strategy *student_load(const char *object, struct why *why);

#endif
