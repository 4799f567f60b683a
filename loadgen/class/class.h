/* The page for the class: loadgen serve --class. It runs loadgen and lab, one at a time, in front
 * of a class. Only a browser with the token of this start may run them. */
#ifndef LOADGEN_CLASS_H
#define LOADGEN_CLASS_H

#include "options.h"

#include <stdio.h>
#include <uv.h>

/* Does serve() with the page; prints the page's address to `to`. A signal also stops the running
 * program. Once per process. Returns an exit code. */
__attribute__((warn_unused_result)) int class_serve(uv_loop_t *loop, const struct options *options,
                                                    FILE *to);

#endif
