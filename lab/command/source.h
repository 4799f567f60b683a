/* What is explored: a strategy spec, or a student's file. */
#ifndef LAB_SOURCE_H
#define LAB_SOURCE_H

#include "spec.h"
#include "student.h"

#include <stddef.h>

struct source {
    struct strategy_spec spec;
    struct student_file file; /* when it is one */
};

/* `options`, "" for none, are those of a spec: "work=2ms,shards=2". 0; or an exit code, and stderr
 * has been told why. source_close() in any case. */
__attribute__((warn_unused_result)) int source_open(struct source *source, const char *name,
                                                    const char *options);
void source_close(struct source *source);

#endif
