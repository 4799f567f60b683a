/* A hand-made summary of three strategies, and its printed report. */
#ifndef LOADGEN_TEST_REPORT_FIXTURE_H
#define LOADGEN_TEST_REPORT_FIXTURE_H

#include "report.h"
#include "table.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MS INT64_C(1000000)

/* none, redis and atomic, one round each: VIOLATED, INCONCLUSIVE and VALID. */
extern struct options options;
extern struct round rounds[3];
extern struct result *results;
extern struct summary summary;

int report_set_up(void **state);
int report_tear_down(void **state);
#define REPORTED(test) cmocka_unit_test_setup_teardown(test, report_set_up, report_tear_down)

void violate(struct verdict *verdict, enum anomaly anomaly, int64_t count, const char *example);
/* Makes the first result the only one, of a shop with two processes. */
void sell_by_shop(void);
/* As if 100 replies had reported their cost. */
void cost(struct recorder *total);

/* The text that `write` prints of the summary. The caller frees it. */
char *printed(int (*write)(const struct summary *, FILE *));
/* No line of the report is wider, except commands for pasting. */
void assert_fits(size_t columns);
void assert_says(const char *expected);
/* The same, with any widths of columns and any line breaks. */
void assert_tells(const char *expected);
void assert_silent_on(const char *word);

#endif
