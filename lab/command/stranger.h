/* A student's file as a strategy of this process. Its code runs in a process of its own, in the
 * sandbox of lab check. There is one at a time. */
#ifndef LAB_STRANGER_H
#define LAB_STRANGER_H

#include "strategy.h"

#include <stdbool.h>

/* Build the file and load its strategy. 0; or an exit code, after it has printed the place and the
 * reason. Call stranger_forget() after it in any case. */
__attribute__((warn_unused_result)) int stranger_load(const char *command, const char *path,
                                                      const volatile bool *is_interrupted,
                                                      const struct strategy **strategy);
/* The shared object that was built; it lives until stranger_forget(). */
const char *stranger_object(void);
/* False: its code crashed, did not end, or did something that it may not do. All sales end. */
bool stranger_is_well(void);
/* An exit code. If the strategy is not well, print the place in the file at `path`, and the reason. */
int stranger_end(const char *path);
/* Print the compiler's warnings, end the process, and remove the files. */
void stranger_forget(void);

#endif
