/* The verdict of a strategy or a shop with its reasons, for people. */
#ifndef LOADGEN_REASONS_H
#define LOADGEN_REASONS_H

#include "options.h"
#include "summary.h"

#include <stdio.h>

void reasons_print(const struct result *result, const struct options *options, FILE *to);

#endif
