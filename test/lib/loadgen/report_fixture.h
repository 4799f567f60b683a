/* A hand-made summary of three strategies, and what the report prints of it. */
#ifndef LOADGEN_TEST_REPORT_FIXTURE_H
#define LOADGEN_TEST_REPORT_FIXTURE_H

#include "report.h"
#include "table.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MS INT64_C(1000000)

/* Of none, redis and atomic, one round each: VIOLATED, INCONCLUSIVE and VALID. */
extern struct options options;
extern struct round rounds[3];
extern struct result *results;
extern struct summary summary;

int report_set_up(void **state);
int report_tear_down(void **state);
#define REPORTED(test) cmocka_unit_test_setup_teardown(test, report_set_up, report_tear_down)

void violate(struct verdict *verdict, enum anomaly anomaly, int64_t count, const char *example);
/* As if 100 replies had told what they cost. */
void cost(struct recorder *total);

/* What `write` prints of the summary; free() it. */
char *printed(int (*write)(const struct summary *, FILE *));
/* No line of the report is wider, but those of commands that are to be pasted. */
void assert_fits(size_t columns);
void assert_says(const char *expected);
/* The same, whatever the widths of the columns and where the lines break. */
void assert_tells(const char *expected);
void assert_silent_on(const char *word);

#endif
