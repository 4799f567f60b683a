/* The options of a small run, as options_read() would set them. */
#ifndef LOADGEN_TEST_OPTIONS_FIXTURE_H
#define LOADGEN_TEST_OPTIONS_FIXTURE_H

#include "options.h"

/* 800 requests at 800 a second for 10 units of one product, with one round of each of `strategies`.
 * `expect` is as in --expect. All other texts are "". Do not free the texts. */
void options_fill(struct options *options, const char *strategies, const char *expect);

#endif
