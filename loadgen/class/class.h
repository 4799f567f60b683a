/* The page for the class: loadgen serve --class. It runs loadgen and lab, one at a time, in front
 * of a class, for whoever has the token of this start. */
#ifndef LOADGEN_CLASS_H
#define LOADGEN_CLASS_H

#include "options.h"

#include <stdio.h>
#include <uv.h>

/* serve(), and the page; says on `to` where it is. A signal ends the program that runs, too. Once
 * per process. Returns an exit code. */
__attribute__((warn_unused_result)) int class_serve(uv_loop_t *loop, const struct options *options,
                                                    FILE *to);

#endif
