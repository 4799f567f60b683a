/* The lines that only the report of a shop has, for people. */
#ifndef LOADGEN_SHOP_LINES_H
#define LOADGEN_SHOP_LINES_H

#include "options.h"
#include "summary.h"

#include <stdbool.h>
#include <stdio.h>

/* The words for a shop if shop_lines_is_one_round(): it has one round, and that is VIOLATED. */
#define SHOP_LINES_ONE_ROUND "one round proves that it happens, not how often"
bool shop_lines_is_one_round(const struct result *result, const struct options *options);

/* "2 processes: http://127.0.0.1:9701, http://127.0.0.1:9702". The caller frees it. NULL without
 * memory. */
__attribute__((warn_unused_result)) char *shop_lines_bases(const struct shop_about *about);

/* The shop, its version, base URLs and settings. Returns 0, or -1 without memory. */
__attribute__((warn_unused_result)) int shop_lines_head(const struct options *options, FILE *to);
/* A table of the steps of an order, if there are several. Returns 0, or -1 without memory. */
__attribute__((warn_unused_result)) int shop_lines_steps(const struct result *result, FILE *to);
/* The customers without an order, in cases that have no column. */
void shop_lines_others(const struct result *result, FILE *to);

#endif
