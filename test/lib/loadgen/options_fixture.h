/* The options of a small run, as if they had been read. */
#ifndef LOADGEN_TEST_OPTIONS_FIXTURE_H
#define LOADGEN_TEST_OPTIONS_FIXTURE_H

#include "options.h"

/* 800 requests at 800 a second for 10 units of one product, one round of each of `strategies`, of
 * which `expect` is expected; "" for all other text. Texts are not to be freed. */
void options_fill(struct options *options, const char *strategies, const char *expect);

#endif
