/* The report of `loadgen shop check`: a line for each step, and then the anomalies that a run can
 * judge; or the same as JSON. Secrets are masked, and all texts become printable. */
#ifndef LOADGEN_CHECK_REPORT_H
#define LOADGEN_CHECK_REPORT_H

#include "shop.h"
#include "values.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct check_report {
    FILE *to;
    FILE *terminal; /* one line there shows the last step, until the end; or NULL */
    bool is_json, has_failed;
    const struct values *values; /* their secrets are masked; or NULL */
    json_t *steps;               /* NULL: without memory */
};

void check_report_begin(struct check_report *report, FILE *to, bool is_json);
void check_report_ok(struct check_report *report, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Wipes the line on the terminal. */
void check_report_wipe(const struct check_report *report);
/* Frees a report that has no end. */
void check_report_drop(struct check_report *report);
/* The expected result of this step, the result that came, and the place in the file to change. */
void check_report_failed(struct check_report *report, const char *step, const char *expected,
                         const char *came, const char *change);

/* The anomalies of a line can be judged; or `missing` tells why not. */
struct ability {
    const char *anomalies, *missing;
};

/* Times of the orders that were sold, in nanoseconds; they get sorted. */
struct order_times {
    int64_t *ns;
    size_t count;
};

/* Ends the report, and frees its memory. `abilities` end with one without a text. 0; or -1 if it
 * could not be written. */
__attribute__((warn_unused_result)) int check_report_end(struct check_report *report,
                                                         const struct shop *shop,
                                                         const struct ability *abilities,
                                                         const struct order_times *times);

#endif
