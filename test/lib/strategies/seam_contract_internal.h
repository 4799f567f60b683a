/* What the cases of the contract share, each a few steps. */
#ifndef TEST_SEAM_CONTRACT_INTERNAL_H
#define TEST_SEAM_CONTRACT_INTERNAL_H

#include "seam_contract.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

#define SALES 4

/* The sales of a case. */
extern struct sale *sales[SALES];
void begin_sales(const struct seam_world *world, const char *spec, int stock);
void end_sales(const struct seam_world *world);
struct stock_row read_row(struct sale *sale, int shard);
enum outcome write_row(struct sale *sale, struct stock_row seen, enum guard guard);

#define CASE(function)                                                                             \
    { #function, function }

#endif
